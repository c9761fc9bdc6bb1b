// SPDX-License-Identifier: BSD-3-Clause
//
// What the processes of a host counted, summed by path: a transport on a device, to a host.
// This is the one place that says which counters are faults, and where they happened.
#pragma once

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
  std::string peer;  // host; empty: what belongs to no link, or to one of the hosts that found no room
  bool injected = false;  // its faults are made by a test transport
  std::uint32_t user = 0;  // whose files say so, where that is kept

  auto operator<=>(const PathKey&) const = default;
};

using PathSums = std::map<PathKey, Counters>;

// Damage that the bytes of this path suffered on their way here, in faults: a frame, or a part of a remote read.
[[nodiscard]] inline std::uint64_t faults_in(const Counters& counters) noexcept {
  return counters.faults_payload + counters.faults_header + counters.faults_length + counters.reads_damaged_on_wire +
         counters.reads_persistent;
}

// Damage on the way to the other side, as far as it asked for something again.
[[nodiscard]] inline std::uint64_t faults_out(const Counters& counters) noexcept { return counters.segments_resent; }

// Bytes that changed in this host's own memory, without any wire: the retransmit copy of a frame. (A source that a program changed
// is that program's fault, and no sign of anything.)
[[nodiscard]] inline std::uint64_t faults_memory(const Counters& counters) noexcept { return counters.source_faults; }

// Checked bytes in either direction: a peer with whom nothing was exchanged is no evidence.
[[nodiscard]] inline std::uint64_t bytes_checked(const Counters& counters) noexcept {
  return counters.bytes_verified + counters.read_bytes_verified + counters.bytes_sent + counters.put_bytes_applied;
}

// The above for one path.
struct PathFaults {
  std::uint64_t bytes = 0;
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  std::uint64_t memory = 0;

  PathFaults& operator+=(const PathFaults& other) noexcept {
    bytes += other.bytes;
    in += other.in;
    out += other.out;
    memory += other.memory;
    return *this;
  }
  [[nodiscard]] std::uint64_t faults() const noexcept { return in + out + memory; }
  [[nodiscard]] bool any() const noexcept { return bytes + faults() != 0; }
  bool operator==(const PathFaults&) const = default;
};
[[nodiscard]] inline PathFaults path_faults(const Counters& counters) noexcept {
  return {bytes_checked(counters), faults_in(counters), faults_out(counters), faults_memory(counters)};
}

using FaultsByPath = std::map<PathKey, PathFaults>;

// "vtcp/eth0"; the transport alone where no device is known.
[[nodiscard]] inline std::string path_name(const std::string& transport, const std::string& device) {
  return device.empty() ? transport : transport + "/" + device;
}

}  // namespace verity::health
