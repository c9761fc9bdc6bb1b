// SPDX-License-Identifier: BSD-3-Clause
//
// What `ucx-verity check` concludes from one host's own counters.
//
// A fault is found by its receiver and known to its sender, which resends: a host that damages what
// it sends or receives has faults with many peers, and each of those with only one. So: faults with
// at least two hosts and with a good part of all those that exchanged data with this one are its
// own (critical); faults with one of several are that host's or the link's (a warning that names
// it); with one host and no other to compare, they may be either's (a warning). Faults within this
// host are always its own.
//
// A host that goes bad has had many peers before, with whom all was well. So it is its own as well
// when nearly all of those have faults with whom it exchanged data in the hours with faults, if
// they are more than three.
//
// The likelihood ratio of suspects.h cannot say this: every way that one host sees has this host at
// an end, so "this host" explains all of them whoever is at fault, and its ratio is 1.
#ifndef VERITY_BLAME_VERDICT_H
#define VERITY_BLAME_VERDICT_H

#include <cstdint>
#include <string>
#include <vector>

#include "blame/evidence.h"

namespace verity::blame {

struct Thresholds {
  std::uint64_t warning = 1;   // faults from which there is anything to say
  std::uint64_t critical = 3;  // faults from which this host can be called bad
  unsigned percent =
      50;  // of the hosts that exchange data with this one, that must have faults with it
};

// Exit codes of `check`, as monitoring plugins have them.
enum class Level { kOk = 0, kWarning = 1, kCritical = 2, kUnknown = 3 };

[[nodiscard]] const char* level_name(Level level) noexcept;

// The evidence of one host by where it happened, in faults.
struct Sums {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
  std::uint64_t within = 0;  // between processes of this host
  std::uint64_t memory = 0;  // in the sender's own copy
  std::uint64_t bytes = 0;
  std::vector<std::string> hosts{};     // others, with traffic
  std::vector<std::string> troubled{};  // of them, with faults
  std::size_t compared = 0;             // of them, with traffic in hours with faults

  [[nodiscard]] std::uint64_t faults() const noexcept { return in + out + within + memory; }
};

struct Verdict {
  Level level = Level::kOk;
  std::string text;     // one line, without the level, under 160 characters where no user is named
  std::string suspect;  // "this host", "device DEVICE", "memory or processor of this host", "host
                        // PEER, or the link to it", ...
  Sums sums{};
  std::vector<std::uint32_t> users{};  // without whose files it would not be critical
};

// Of evidence_of().
[[nodiscard]] Verdict verdict_of(const Evidence& evidence, const Thresholds& thresholds);

}  // namespace verity::blame

#endif
