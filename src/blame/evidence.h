// SPDX-License-Identifier: BSD-3-Clause
//
// Faults that hardware can have made, added up by way: from which host to which, over which device.
// Evidence comes from the counters of one host (evidence_of), or from fault records and
// attestations of many (EvidenceBuilder). Each fault is in it once.
#ifndef VERITY_BLAME_EVIDENCE_H
#define VERITY_BLAME_EVIDENCE_H

#include <array>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "health/faults/fault_kind.h"
#include "health/faults/port.h"
#include "health/faults/syndrome.h"
#include "health/paths.h"

namespace verity::blame {

// The device of a way that no transport has: the sender's own copy changed.
inline constexpr std::string_view kMemory = "memory";

// From one host to another, or within one, over one device.
struct Way {
  std::string sender;  // empty: unknown
  std::string receiver;
  std::string
      device;  // with its transport: "vtcp/eth0"; the transport alone where no device is known

  auto operator<=>(const Way&) const = default;
  [[nodiscard]] bool local() const noexcept { return sender == receiver; }
  [[nodiscard]] const std::string& other_than(const std::string& host) const noexcept {
    return sender == host ? receiver : sender;
  }
  // The device without its transport: "eth0".
  [[nodiscard]] std::string_view adapter() const noexcept {
    const std::size_t slash = device.rfind('/');
    return slash == std::string::npos ? std::string_view()
                                      : std::string_view(device).substr(slash + 1);
  }
  // Within a host and over no adapter: shared memory, the loopback device, the sender's own copy.
  // No adapter explains such a fault, and memory or processor explain those of adapters too. An
  // unknown device may be an adapter.
  [[nodiscard]] bool in_memory() const noexcept {
    return local() && (device == kMemory || adapter() == "lo" || adapter().starts_with("memory"));
  }
};

struct Tally {
  std::uint64_t faults = 0;
  std::uint64_t again = 0;  // the same bits as before
  std::array<std::uint64_t, health::kFaultKinds.size()> kinds{};
  std::array<std::uint64_t, health::kPatternNames.size()> patterns{};

  Tally& operator+=(const Tally& other) noexcept;
};

struct HostData {
  std::uint64_t processes = 0;  // that left an attestation
  std::uint64_t clean = 0;      // of them without any trouble
  std::uint64_t bytes = 0;      // that they verified
  std::uint64_t compared = 0;   // exchanged with it in hours with faults (evidence_of() alone)
  std::uint64_t delivered = 0;  // faults that they handed on as they were, in mode observe
  std::uint64_t source_changed = 0;
};

struct Evidence {
  std::map<Way, Tally> ways;
  std::map<std::string, HostData> hosts;
  std::map<std::string, std::uint64_t> jobs;  // faults by job, where records name one
  std::uint64_t faults = 0;                   // the sum of `ways`
  std::uint64_t ambiguous = 0;
  std::uint64_t source_changed = 0;
  std::uint64_t type_mismatches = 0;
  std::uint64_t injected = 0;  // records of faults that a test transport made, left out
  std::uint64_t dropped = 0;   // that the processes did not write
  std::uint64_t beyond = 0;    // that were left out here: too many different names
  std::string first;           // times
  std::string last;
  std::map<std::pair<std::string, std::string>, health::Port>
      ports;                                     // by host and device ("vrc_mlx5/mlx5_0:1")
  std::map<std::string, std::uint64_t> minutes;  // faults by "2026-01-31T12:00"

  void add(const Way& way, const Tally& tally);
};

using UserFilter = std::function<bool(std::uint32_t user)>;

// The counters of one host, which is kThisHost. A fault between two processes of the host is
// counted by its receiver, and by its sender, which resends: one damaged frame may be many segments
// there. So what a user's processes have found counts, and what they have resent where they have
// found nothing, as the receivers' files may be missing. `wanted`: whose files count; empty:
// everyone's.
[[nodiscard]] Evidence evidence_of(const health::FaultsByPath& paths,
                                   const UserFilter& wanted = {});

// A fault record: the one process that found the fault wrote it. Unknown host names are empty.
struct RecordedFault {
  std::string host = {};  // that found it
  std::string peer_host = {};
  std::string transport = {};
  std::string device = {};
  std::string interface =
      {};  // names of both interfaces, to find hosts that the record does not name
  std::string peer = {};
  std::string time = {};
  std::string job = {};  // of the batch system, with its step
  bool sent = false;
  health::FaultKind kind = health::FaultKind::kFrame;
  bool has_syndrome = false;
  health::Pattern pattern = health::Pattern::kNone;
  bool again = false;
  bool injected = false;  // by a test transport
  health::Port port{};    // of the device of `host`
};

class EvidenceBuilder {
 public:
  static constexpr std::size_t kMostWays = 100'000;
  static constexpr std::size_t kMostInterfaces = 1'000'000;
  static constexpr std::size_t kMostJobs = 10'000;
  static constexpr std::size_t kMostMinutes = 100'000;

  // `with_injected`: faults that a test transport made are evidence as well.
  EvidenceBuilder() = default;
  explicit EvidenceBuilder(bool with_injected) : with_injected_(with_injected) {}

  void add(const RecordedFault& fault);
  // The attestation of one process.
  void add_process(const std::string& host, std::uint64_t bytes_verified, bool trouble,
                   std::uint64_t delivered = 0);
  // A host names one of its own interfaces.
  void add_interface(const std::string& interface, const std::string& host);
  void add_type_mismatch() { ++sum_.type_mismatches; }
  void add_dropped(std::uint64_t records) { sum_.dropped += records; }
  // Resolves hosts by what other records named: a peer may know a host by the first part of its
  // name alone.
  [[nodiscard]] Evidence build() const;

 private:
  struct Raw {
    Way way;
    std::string peer;  // the interface at the unknown side
    bool peer_sends = false;

    auto operator<=>(const Raw&) const = default;
  };
  void note_time(const std::string& time);
  void note_port(const RecordedFault& fault, const std::string& device);

  bool with_injected_ = false;
  Evidence sum_;
  std::map<Raw, Tally> raw_;
  std::map<std::string, std::string> host_of_;  // interface, as its own host names itself
};

}  // namespace verity::blame

#endif
