// SPDX-License-Identifier: BSD-3-Clause
//
// The host's counters in Prometheus's text format, for the node exporter's textfile collector.
#ifndef VERITY_TOOLS_EXPORT_EXPOSITION_H
#define VERITY_TOOLS_EXPORT_EXPOSITION_H

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "blame/verdict.h"
#include "tools/export/ledger.h"

namespace verity::tools {

struct Exposition {
  Totals totals{};
  std::set<health::PathKey> shown{};  // paths that have had series of their own
  std::set<health::PathKey> zeros{};  // series that begin: their counters are shown as zero
  blame::Verdict verdict{};
  health::FaultsByPath recent{};  // of the time that the verdict looks at
  std::uint64_t injected = 0;     // faults that were left out: a test transport made them
  bool peers = false;             // name hosts: a series per host with faults
  std::map<std::string, health::Counters> jobs{};  // name jobs: series for those with faults
  std::uint64_t running = 0, ended = 0, killed = 0, unreadable = 0,
                not_believed = 0;  // health files
  std::uint64_t now_seconds = 0;
  std::string version{};
  std::string ucx_version{};
};

// Most paths that get series of their own: their names come from users' files. The others are added
// up as device "other". A host with eight adapters needs 24 for them (rc, dc and ud of each), 8 for
// tcp over them, 3 for tcp over two ports of Ethernet and lo, and 5 for posix, sysv, cma, xpmem and
// self.
inline constexpr std::size_t kMostSeries = 24 + 8 + 3 + 5;
// Adds the busiest paths to `shown` while there is room, and, where the sums are complete, removes
// those that are no more. One that had series keeps them however busy others become: what moved
// between its series and those of the others would look like new faults.
void choose_shown(std::set<health::PathKey>& shown, const health::PathSums& paths,
                  bool complete = true);
// The series' names: of the paths shown, and of the others.
[[nodiscard]] std::set<health::PathKey> series_names(const health::PathSums& paths,
                                                     const std::set<health::PathKey>& shown);
// How long series that begin are zero. Prometheus sees no increase in one that begins with another
// value, so that the first faults of a path would raise no alert. Two runs may follow each other at
// once, as Slurm's epilog starts some: the next one may come before any scrape.
inline constexpr std::uint64_t kZeroSeconds = 60;
// Those that are zero in the textfile of this run. Forgets those that have been for long enough.
[[nodiscard]] std::set<health::PathKey> zeros_of(std::map<health::PathKey, std::uint64_t>& begun,
                                                 std::uint64_t now_seconds);
// So a host has fewer series than this, without --peers, whatever its users' files say: 57 counters
// of each path and of the others, and less than 100 beside them. Honest paths count in 25 or so.
inline constexpr std::size_t kMostSeriesOfHost = 2500;

[[nodiscard]] std::string render_exposition(const Exposition& exposition);

// Most jobs that get series: those with most faults.
inline constexpr std::size_t kMostJobSeries = 32;

// A label's value between its quotes.
[[nodiscard]] std::string label_value(std::string_view text);

}  // namespace verity::tools

#endif
