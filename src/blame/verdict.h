// SPDX-License-Identifier: BSD-3-Clause
//
// What `ucx-verity check` concludes from what this host alone saw.
//
// A fault is seen at its receiver, and heard of at its sender, which is asked to repair: a host that damages what it sends or what
// it gets has trouble with many peers, and each of those with only one. So: trouble with at least two hosts and with a good part of
// all those that one talks to is one's own (critical); trouble with one of several is that host's or the link's (a warning that
// names it); with one host and no other to compare, it may be either (a warning). Damage between processes of this host, and in
// memory that no wire touched, is always one's own; and as no adapter carries that, memory or processor are named in place of a device.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace verity::blame {

// One path in the time that is looked at. In faults, as paths.h counts them.
struct PathTrouble {
  std::string transport;
  std::string device;
  std::string peer;  // host; empty: unknown
  std::uint64_t bytes = 0;
  std::uint64_t faults_in = 0;
  std::uint64_t faults_out = 0;
  std::uint64_t faults_memory = 0;
  bool injected = false;  // by a test transport: for the caller to leave out
  std::uint32_t user = 0;  // whose files say so
};

struct Thresholds {
  std::uint64_t warning = 1;   // faults from which there is anything to say
  std::uint64_t critical = 3;  // faults from which this host can be called bad
  unsigned percent = 50;       // of the hosts that one talks to, that must see trouble with it
};

// Exit codes of `check`, as monitoring plugins have them.
enum class Level { kOk = 0, kWarning = 1, kCritical = 2, kUnknown = 3 };

[[nodiscard]] const char* level_name(Level level) noexcept;

// What a verdict is made of, in faults.
struct Sums {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  std::uint64_t within = 0;  // this host: its sender and its receiver are both here, and count it once
  std::uint64_t memory = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> hosts;     // others, with traffic
  std::vector<std::string> troubled;  // of them, with faults

  [[nodiscard]] std::uint64_t faults() const noexcept { return in + out + within + memory; }
};

struct Verdict {
  Level level = Level::kOk;
  std::string text;     // one line, without the level, under 160 characters where no user is named
  std::string suspect;  // "this host", "device DEVICE", "memory or processor of this host", "host PEER, or the link to it", ...
  Sums sums{};
  std::vector<std::uint32_t> users{};  // on whose word alone it would be critical
};

// `own`: this host's name as peers know it.
[[nodiscard]] Verdict judge(const std::vector<PathTrouble>& paths, std::string_view own, const Thresholds& thresholds);

}  // namespace verity::blame
