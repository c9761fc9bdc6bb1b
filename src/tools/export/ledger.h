// SPDX-License-Identifier: BSD-3-Clause
//
// What the exporter keeps from one run to the next: what processes counted whose files were
// removed, so that the host's counters only grow, and in which hour faults were seen, so that
// `check` can look at the last day.
#ifndef VERITY_TOOLS_EXPORT_LEDGER_H
#define VERITY_TOOLS_EXPORT_LEDGER_H

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "health/files/reader.h"
#include "health/paths.h"

namespace verity::tools {

// By path and user.
struct Troubles : health::FaultsByPath {
  // The path's place, or one without its host, where too many are known, of all or of its user.
  [[nodiscard]] health::PathFaults& place(const health::PathKey& key);
  // Which of the user's paths have one depends on which came first.
  [[nodiscard]] bool is_full(std::uint32_t user) const;

 private:
  std::map<std::uint32_t, std::size_t> of_user_;
  std::map<std::uint32_t, std::size_t> bare_of_user_;  // added where there was no room any more
};

// Of files without a user: an entry of an older ledger.
inline constexpr std::uint32_t kNoUser = 0xffffffff;

struct Ledger {
  // Most paths to hosts that are kept apart; the others are added up under the path without a host.
  static constexpr std::size_t kMostPaths = 20000;
  static constexpr std::size_t kMostPathsOfUser = 12000;
  static constexpr std::size_t kMostEnded = 8000;  // of them, of processes that ended
  static constexpr std::size_t kMostEndedOfUser = 4000;
  static constexpr std::size_t kMostSums = 1024;   // paths without hosts
  static constexpr std::uint64_t kHours = 24 * 8;  // how long faults are kept by the hour
  // Most paths that all hours keep together; beyond it the oldest ones are without hosts.
  static constexpr std::size_t kMostHourPaths = 100000;

  health::PathSums ended;       // without hosts
  Troubles ended_trouble;       // with hosts
  health::PathSums counted;     // what Prometheus sees: sums that never shrink, see grow()
  health::PathSums seen_paths;  // what they have grown by
  std::string boot;             // the machine's boot id at the last run
  std::string host;             // its name; empty: unknown, of an older release
  std::uint64_t written = 0;    // when, in seconds since 1970
  std::set<std::string>
      taken;  // files in `ended` that may lie there still: the run was cut before it removed them
  std::set<std::string> folders;    // that the last complete run read, and those since
  Troubles seen;                    // most that a run knew of since the last complete one
  std::set<health::PathKey> shown;  // paths with series of their own, see exposition.h
  std::map<health::PathKey, std::uint64_t>
      begun;  // series that show zeros first: since when; 0: no file has shown them yet
  std::map<std::uint64_t, Troubles> hours;  // by hours since 1970
  std::uint64_t behind_since = 0;           // the clock is behind them since then; 0: it is not
  std::uint64_t ahead_since = 0;            // it may be ahead since then; 0: it is not
};

// The one on which this runs.
struct Machine {
  std::string boot, host;
  std::uint64_t now = 0;  // in seconds since 1970
};
// Whose a ledger is: folders may be shared between machines, and copied with their images. A
// container's host name is its own, so boot ids come first; after a restart they say nothing.
enum class Owner : std::uint8_t {
  kThisHost,
  kOtherHost,   // which has used it within the last hour
  kFormerHost,  // which has not
};
[[nodiscard]] Owner owner_of(const Ledger& ledger, const Machine& machine);

// All processes, ended or not.
struct Totals {
  health::PathSums paths;  // without hosts
  Troubles trouble;        // with hosts
};

// Adds the rows of a file of that user. Rows to more than kMostPaths hosts lose their host.
void add(Totals& totals, const health::Snapshot& snapshot, std::uint32_t user = 0);
// Of what the ledger holds. Files are added to it.
[[nodiscard]] Totals totals_of(const Ledger& ledger);

// The process of the file `name` is over, and its file will be removed.
void take(Ledger& ledger, const std::string& name, const health::Snapshot& snapshot,
          std::uint32_t user = 0);

// A run of the exporter at that time saw these totals: what is new belongs to this hour. Forgets
// hours that are too old. `complete`: all files are in the totals, but for those that are not
// believed: what was seen of the `doubtful` stays seen, as they may be believed again.
void observe(Ledger& ledger, const Totals& totals, std::uint64_t now_seconds, bool complete = true,
             const Totals& doubtful = {});

// When the machine has started again, most files of before are lost with it: what was seen of them
// is no measure of new ones. `still_there`: what was in the ledger, and in files of before.
void notice_boot(Ledger& ledger, const std::string& boot, const Totals& still_there);

// Adds to ledger.counted what is new in the totals. A sum that is smaller than in the last run adds
// nothing, as files are missing. Prometheus takes a counter that shrinks for one that began with
// zero, and all of it for new.
void grow(Ledger& ledger, const Totals& totals, bool complete = true, const Totals& doubtful = {});

// What was seen in the last `hours` hours (0: ever), and is new since the last run: of sums that
// are smaller than then, nothing is.
[[nodiscard]] health::FaultsByPath recent(const Ledger& ledger, const Totals& totals,
                                          std::uint64_t now_seconds, std::uint64_t hours);

// Removes what a test transport did on purpose. Returns how many faults that were.
[[nodiscard]] std::uint64_t leave_out_injected(health::FaultsByPath& paths);
// The same with sums.
void leave_out_injected(health::PathSums& paths);

// The file's text, and back: returns what is wrong with it, or an empty text.
[[nodiscard]] std::string to_json(const Ledger& ledger);
[[nodiscard]] std::string from_json(std::string_view text, Ledger* ledger_p);

}  // namespace verity::tools

#endif
