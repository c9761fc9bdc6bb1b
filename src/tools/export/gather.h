// SPDX-License-Identifier: BSD-3-Clause
//
// The health files of this host and the exporter's ledger, read together: what `export` publishes
// and `check` concludes from.
#ifndef VERITY_TOOLS_EXPORT_GATHER_H
#define VERITY_TOOLS_EXPORT_GATHER_H

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "health/files/directory.h"
#include "tools/export/ledger.h"

namespace verity::tools {

// The default ledger: of the system's exporter, which runs as root.
[[nodiscard]] std::string default_ledger();

[[nodiscard]] Machine this_machine();

enum class LedgerState {
  kUsable,      // or there is none yet
  kUnreadable,  // now; what it holds is not known
  kInUse,       // by another machine
  kUseless,     // no ledger, or that of a former machine
};
struct LoadedLedger {
  LedgerState state = LedgerState::kUsable;
  std::string problem;  // empty if usable
};
// Reads a ledger of this machine. Where it is not usable *ledger_p is empty.
[[nodiscard]] LoadedLedger load_ledger(const std::string& path, Ledger* ledger_p);
// Replaces a file in one step: readers find the old text or the new one, whole. The caller has the
// lock of `ledger`. Returns why not, or an empty text.
[[nodiscard]] std::string replace_file(const std::string& path, const std::string& text,
                                       unsigned mode, const std::string& ledger);

// A file that is not believed: see health/files/belief.h.
struct Doubted {
  std::string path;
  std::uint32_t user = 0;
  std::string why;
  bool faults = false;  // it counts some
};

struct Gathered {
  Totals totals;
  Totals doubtful;  // of files that are not believed: perhaps at the next run
  std::map<std::string, health::Counters>
      jobs;  // of the batch system's jobs whose files are there still, by id
  std::uint64_t running = 0, ended = 0, killed = 0, unreadable = 0, not_believed = 0;
  std::uint64_t read = 0;  // files
  std::uint64_t delivered =
      0;  // faults that processes in mode observe handed on, while their files are there
  std::vector<std::string> problems;  // "FILE: what is wrong", the first few
  std::vector<std::string> blind;     // "FOLDER: why it could not be read"
  std::vector<std::string> partial;   // "FOLDER: 100 of 2000 files", where there was no time or no
                                      // room for all, or the system let us read no more
  std::vector<Doubted> doubted;       // the first few, those with faults before others
  // Files that went into the ledger, to be removed when that is safe on the disk; through the open
  // folder, whatever its name leads to by then.
  std::vector<std::pair<std::shared_ptr<health::Directory>, health::HealthFile>> to_remove;
  bool complete = true;  // false: `blind` or `partial` has something
};

struct GatherLimits {
  std::size_t files = 200000;  // of a folder
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  bool anywhere = false;  // begin with any file of a folder: who has no time for all, and runs
                          // again and again, sees them all in time
};

// Adds up the ledger and all files that it does not hold, of these folders and of the ledger's.
// With `take_before_ns` > 0, files of processes that ended before that time go into the ledger.
[[nodiscard]] Gathered gather(const std::vector<std::string>& directories, Ledger& ledger,
                              const GatherLimits& limits, std::uint64_t take_before_ns);

// Removes what gather() took; they are forgotten by the next gather() that does not find them any
// more.
void remove_taken(const Gathered& gathered) noexcept;

}  // namespace verity::tools

#endif
