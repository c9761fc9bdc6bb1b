// SPDX-License-Identifier: BSD-3-Clause
//
// Which device, link or host explains the faults.
//
// Every host can have sent to every other over each device that is known. An explanation is a set
// of these ways: one link, a pair's both directions, a device sending, receiving or both, a host.
// Of N faults an explanation covers n; were faults spread evenly it would be mu, its share of the
// traffic. Its score is the logarithm of how much likelier the faults are with a rate of its own
// for these ways than with one rate for all: the likelihood ratio of a scan statistic (M.
// Kulldorff, A spatial scan statistic, Communications in Statistics - Theory and Methods 26(6),
// 1997, for Poisson counts),
//
//   n ln(n / mu) + (N - n) ln((N - n) / (N - mu))      if n > mu, else 0
//
// The best explanation is the first suspect; its faults are taken out, and the rest is explained in
// the same way. A small set that covers all scores more than a large one that does, so a single
// link is not taken for its whole host, nor a bad sender for each of its links.
//
// Faults between processes of a host that pass no adapter are the memory's or the processor's,
// which damage what an adapter carries too. So a device of that host that is suspected as well is
// one suspect with it: the host.
//
// The traffic between two hosts is not known; a receiver's, from the attestations, is taken as
// coming evenly from all others.
#ifndef VERITY_BLAME_SUSPECTS_H
#define VERITY_BLAME_SUSPECTS_H

#include <string>
#include <vector>

#include "blame/evidence.h"

namespace verity::blame {

enum class Part : std::uint8_t { kLink, kDevice, kPair, kHost };
enum class Role : std::uint8_t { kSends, kReceives, kBoth };
enum class Confidence : std::uint8_t { kWeak, kFair, kStrong };

// A set of ways.
struct Explanation {
  Part part = Part::kLink;
  Role role = Role::kBoth;
  std::string host;    // a link's sender
  std::string peer;    // of a link or a pair
  std::string device;  // not of a host

  auto operator<=>(const Explanation&) const = default;
  [[nodiscard]] bool covers(const Way& way) const;
};

struct Suspect {
  Explanation what;
  std::vector<Explanation>
      or_else;  // indistinguishable from it: they cover the same faults, with as much traffic
  Confidence confidence = Confidence::kWeak;
  double score = 0;
  Tally tally;                  // that it covers, without those of suspects before it
  std::uint64_t in_memory = 0;  // of its faults, those within a host that passed no adapter
  std::size_t others = 0;       // other hosts with faults with it, for a device or host
};

// Best first. Faults that no explanation covers are left.
[[nodiscard]] std::vector<Suspect> rank(const Evidence& evidence, std::size_t most = 10);

// "device vtcp/eth0 of host n1, sending"
[[nodiscard]] std::string describe(const Explanation& what);
[[nodiscard]] std::string_view name_of(Confidence confidence) noexcept;

}  // namespace verity::blame

#endif
