// SPDX-License-Identifier: BSD-3-Clause
//
// What the processes of a host counted, summed by path: a transport on a device, to a host. The one
// place that says which counters are faults, and where they happened.
#ifndef VERITY_HEALTH_PATHS_H
#define VERITY_HEALTH_PATHS_H

#include <algorithm>
#include <compare>
#include <cstdint>
#include <map>
#include <string>

#include "health/counters.h"

namespace verity::health {

// PathKey::peer of what went between processes of this host.
inline constexpr const char* kThisHost = ".";

struct PathKey {
  std::string transport;  // with its v; empty: what belongs to no interface
  std::string device;
  std::string
      peer;  // host; empty: what belongs to no link, or to one of the hosts that found no room
  bool injected = false;   // its faults are made by a test transport
  std::uint32_t user = 0;  // in whose files, where that is kept

  auto operator<=>(const PathKey&) const = default;
};

using PathSums = std::map<PathKey, Counters>;

// Damage that the bytes of this path suffered on their way here, in faults: a frame, or a part of a
// remote read.
[[nodiscard]] inline std::uint64_t faults_in(const Counters& counters) noexcept {
  return counters.faults_payload + counters.faults_header + counters.faults_length +
         counters.reads_damaged_on_wire + counters.reads_persistent;
}

// Damage on the way to the other side, as far as it requested damaged segments again.
[[nodiscard]] inline std::uint64_t faults_out(const Counters& counters) noexcept {
  return counters.faults_sent;
}

// Bytes that changed in this host's own memory, without any wire: the retransmit copy of a frame.
// (A source that a program changed is that program's fault, and no sign of anything.)
[[nodiscard]] inline std::uint64_t faults_memory(const Counters& counters) noexcept {
  return counters.source_faults;
}

// Checked bytes in either direction: a peer with whom nothing was exchanged is no evidence.
[[nodiscard]] inline std::uint64_t bytes_checked(const Counters& counters) noexcept {
  return counters.bytes_verified + counters.read_bytes_verified + counters.bytes_sent +
         counters.put_bytes_applied;
}

// The above for one path.
struct PathFaults {
  std::uint64_t bytes = 0;
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  std::uint64_t memory = 0;
  std::uint64_t compared = 0;  // of the bytes, those of hours in which this host had faults

  PathFaults& operator+=(const PathFaults& other) noexcept {
    bytes += other.bytes;
    in += other.in;
    out += other.out;
    memory += other.memory;
    compared += other.compared;
    return *this;
  }
  [[nodiscard]] std::uint64_t faults() const noexcept { return in + out + memory; }
  [[nodiscard]] bool any() const noexcept { return bytes + faults() != 0; }
  bool operator==(const PathFaults&) const = default;
};
[[nodiscard]] inline PathFaults path_faults(const Counters& counters) noexcept {
  return {.bytes = bytes_checked(counters),
          .in = faults_in(counters),
          .out = faults_out(counters),
          .memory = faults_memory(counters)};
}

// Each fault is found by the one who receives it, and is counted once among these.
struct FaultBalance {
  std::uint64_t found = 0;      // damaged frames, and damaged parts of remote reads
  std::uint64_t repaired = 0;   // their data arrived right in the end
  std::uint64_t delivered = 0;  // as they were, in mode observe

  [[nodiscard]] std::uint64_t rest() const noexcept {
    return found - (repaired + delivered < found ? repaired + delivered : found);
  }
};
[[nodiscard]] inline FaultBalance balance_of(const Counters& c) noexcept {
  const std::uint64_t reads = c.reads_damaged_on_wire + c.reads_ambiguous + c.reads_persistent;
  const std::uint64_t repaired = c.faults_repaired + reads;
  // Parts of reads that mode observe delivers are of no kind: nothing was compared.
  const std::uint64_t found = std::max(c.faults_payload + c.faults_header + c.faults_length + reads,
                                       repaired + c.faults_observed);
  return {.found = found, .repaired = repaired, .delivered = c.faults_observed};
}

using FaultsByPath = std::map<PathKey, PathFaults>;

// "vtcp/eth0"; the transport alone where no device is known.
[[nodiscard]] inline std::string path_name(const std::string& transport,
                                           const std::string& device) {
  return device.empty() ? transport : transport + "/" + device;
}

// Faults of what one host sent to another, or to itself, by the receiver's transport and device.
struct LinkFaults {
  std::string from;  // empty: not known
  std::string to;
  std::string path;  // "vtcp/eth0"
  std::uint64_t faults = 0;

  bool operator==(const LinkFaults&) const = default;
};

}  // namespace verity::health

#endif
