// SPDX-License-Identifier: BSD-3-Clause
//
// What many processes of many hosts saw, added up: faults by sender, receiver and device, and what of it nobody's hardware did.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "health/fault_kind.h"
#include "health/port.h"
#include "health/syndrome.h"

namespace verity::blame {

// A fault as a line tells it. Host names that are not known are empty.
struct SeenFault {
  std::string host = {};       // that tells it
  std::string peer_host = {};
  std::string transport = {};
  std::string device = {};
  std::string interface = {};  // names of both interfaces, to find hosts that the line does not name
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

// From one host to another (or within one) over one device, as the side that tells of it names it.
struct Way {
  std::string sender;    // empty: not known
  std::string receiver;
  std::string device;    // "vtcp/eth0"

  auto operator<=>(const Way&) const = default;
  [[nodiscard]] bool local() const noexcept { return sender == receiver; }
  // Within a host and over no adapter: shared memory, the loopback device, the sender's own copy.
  [[nodiscard]] bool in_memory() const noexcept;
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
  std::uint64_t delivered = 0;  // faults that they handed on as they were, in mode observe
  std::uint64_t source_changed = 0;
  std::uint64_t type_mismatches = 0;  // told where the host is known
};

struct Evidence {
  std::map<Way, Tally> ways;  // faults that a machine can have made
  std::map<std::string, HostData> hosts;
  std::map<std::string, std::uint64_t> jobs;  // faults that a machine can have made, by job, where lines name one
  std::uint64_t faults = 0;   // the sum of `ways`
  std::uint64_t ambiguous = 0;
  std::uint64_t source_changed = 0;
  std::uint64_t type_mismatches = 0;
  std::uint64_t injected = 0;   // records of faults that a test transport made, left out
  std::uint64_t dropped = 0;    // that the processes did not write
  std::uint64_t beyond = 0;     // that were left out here: too many different names
  std::string first;            // times
  std::string last;
  std::map<std::pair<std::string, std::string>, health::Port> ports;  // by host and device ("vrc_mlx5/mlx5_0:1")
  std::map<std::string, std::uint64_t> minutes;                       // faults by "2026-01-31T12:00"
};

// The path of a fault in the sender's own memory.
inline constexpr std::string_view kMemory = "memory";

class EvidenceBuilder {
 public:
  static constexpr std::size_t kMostWays = 100'000;
  static constexpr std::size_t kMostInterfaces = 1'000'000;
  static constexpr std::size_t kMostJobs = 10'000;
  static constexpr std::size_t kMostMinutes = 100'000;

  // `with_injected`: faults that a test transport made are evidence as well.
  EvidenceBuilder() = default;
  explicit EvidenceBuilder(bool with_injected) : with_injected_(with_injected) {}

  void add(const SeenFault& fault);
  // The attestation of one process.
  void add_process(const std::string& host, std::uint64_t bytes_verified, bool trouble, std::uint64_t delivered = 0);
  // A host's own word for one of its interfaces.
  void add_interface(const std::string& interface, const std::string& host);
  void add_type_mismatch() { ++sum_.type_mismatches; }
  void add_dropped(std::uint64_t records) { sum_.dropped += records; }
  // With the names of hosts that other lines gave: a peer may know a host by the first part of its name alone.
  [[nodiscard]] Evidence build() const;

 private:
  struct Raw {
    Way way;
    std::string peer;         // the interface at the side that is not known
    bool peer_sends = false;

    auto operator<=>(const Raw&) const = default;
  };
  void note_time(const std::string& time);
  void note_port(const SeenFault& fault, const std::string& device);

  bool with_injected_ = false;
  Evidence sum_;
  std::map<Raw, Tally> raw_;
  std::map<std::string, std::string> host_of_;  // interface, as its own host names itself
};

}  // namespace verity::blame
