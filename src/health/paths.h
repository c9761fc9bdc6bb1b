// SPDX-License-Identifier: BSD-3-Clause
//
// What the processes of a host counted, summed by path: a transport on a device, to a host.
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

// Checked bytes in either direction: who sent nothing is no witness.
[[nodiscard]] inline std::uint64_t bytes_checked(const Counters& counters) noexcept {
  return counters.bytes_verified + counters.read_bytes_verified + counters.bytes_sent + counters.put_bytes_applied;
}

}  // namespace verity::health
