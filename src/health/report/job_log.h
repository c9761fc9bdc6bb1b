// SPDX-License-Identifier: BSD-3-Clause
//
// The file in which the processes of one job on one host leave their reports for the one that ends
// last.
//
// Each process appends a record when it begins and one when it ends; appended records have one
// order for all. A process that ends reads the records before its own last one: if all other
// processes there have ended, or are dead, it is the last one, and it alone. No process waits for
// another one but as below, and what killed jobs leave behind is removed with old health files.
//
// A launcher that sees a process fail kills the others. So the first process that fails reports the
// records so far, as no other process may get to do so later. Where all of them end about now, as
// after MPI_Finalize, those that fail stay until the last one has come, but for a second at most.
// One that fails meanwhile and does not stay reports in their place.
//
// A process that cannot append its last record, as there is no room, prints its own report, and
// leaves the reason in the record of its beginning. Such processes look at the file one after the
// other, and the others wait for one that does so, as such an end has no place in the order.
//
// One that reports for all where another process is dead, or has not appended its record, leaves
// that there as well: those that stay could not tell whether it saw that process dead.
//
//   +----------------+---------------+---------------+-------------+----
//   | begin, rank 0  | begin, rank 1 | end, rank 1   | end, rank 0 | ...
//   +----------------+---------------+---------------+-------------+----
//                                                  the last one: ^
//
// One launch may start programs one after the other: the second record of a rank's beginning
// belongs to the second program. The file stays as long as any of them has a process that lives.
#ifndef VERITY_HEALTH_REPORT_JOB_LOG_H
#define VERITY_HEALTH_REPORT_JOB_LOG_H

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "health/report/attestation.h"

namespace verity::health {

// What identifies a process within its job.
struct Member {
  std::uint64_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::uint64_t stack_start = 0;  // of the program that it runs
  std::uint64_t nonce = 0;
  std::string rank;

  bool operator==(const Member&) const = default;
};

// How a process ends.
enum class Exit : std::uint8_t {
  kSuccess,
  kError,
  kErrorAtEnd,  // with an error, after its communication was closed: it waits for the others
};

struct JobRecord {
  Member member;
  std::uint64_t offset = 0;  // in the file
  std::uint64_t size = 0;
  std::optional<Report> report;  // of one that ended
  Exit exit = Exit::kSuccess;    // ... and how
  int unwritten = 0;             // of a beginning: why it has no record of its end, an errno
  bool reported = false;         // of a beginning: it has reported for all
};

// A job's processes on this host when one of them ends.
struct Assembled {
  std::vector<Report> reports;  // of those that have ended, its own too
  unsigned registered = 0;      // more, if some did not report
  unsigned failed = 0;          // of the reports before its own
  unsigned stay = 0;            // of those, that wait for the others, or did
  unsigned later = 0;           // that have ended after it
  bool later_fails = false;     // one of them with an error, and did not wait
  unsigned unwritten = 0;       // that could not write theirs, for `error`
  int error = 0;                // an errno
  bool reported = false;        // one that did not end before it has reported for all
  bool others_live = false;     // and have not ended
  bool complete = true;         // the others are dead, and none has ended after it
  bool deserted = true;         // so are those of the launch's other programs
};

// Records as bytes, and back. read_records() leaves out what are no records, or another version's,
// and parts of records: a last one that another process is still appending, and those that a full
// disk has cut off, or the death of their process, wherever they are.
[[nodiscard]] std::string begin_record(const Member& member);
[[nodiscard]] std::string end_record(const Member& member, const Report& report, Exit exit);
[[nodiscard]] std::vector<JobRecord> read_records(std::span<const std::byte> bytes);

// Where a record of a beginning has JobRecord::unwritten, 8 bytes, or that its process has reported
// for all.
inline constexpr std::size_t kNoteAt = 24;
inline constexpr std::uint64_t kReported = 4096;  // beyond the kernel's errors

// What there was when `self` ended, whose records are among these; `lives` says of processes that
// did not end whether they live. Nothing: they are not there.
[[nodiscard]] std::optional<Assembled> assemble(const std::vector<JobRecord>& records,
                                                const Member& self,
                                                const std::function<bool(const JobRecord&)>& lives);

class JobLog {
 public:
  JobLog() = default;
  ~JobLog();
  JobLog(const JobLog&) = delete;
  JobLog& operator=(const JobLog&) = delete;

  // This process begins. `key` names the job on this host, `folder` is one of health files,
  // `ranks` says how many of its processes this host has; 0: unknown. False: there will be no
  // summary.
  [[nodiscard]] bool join(const std::string& folder, const std::string& key,
                          const std::string& rank, unsigned ranks);
  [[nodiscard]] bool joined() const noexcept { return fd_ >= 0; }

  enum class Outcome {
    kNoLog,  // the process has to print its own report
    kOthersLive,
    kReports,  // it is the last one, or the first one that fails: *all_p is filled
  };
  // This process ends.
  [[nodiscard]] Outcome leave(const Report& report, Exit exit, Assembled* all_p) noexcept;
  // Why it could not join, or leave a record: an errno; 0: it could, or for no reason of the
  // system's.
  [[nodiscard]] int error() const noexcept { return error_; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  [[nodiscard]] int reserve(unsigned ranks) const noexcept;
  [[nodiscard]] int append(const std::string& record) noexcept;
  void lock(std::size_t size) noexcept;
  [[nodiscard]] bool is_ours() const noexcept;
  [[nodiscard]] bool reopen() noexcept;
  [[nodiscard]] bool lives(const JobRecord& record) const noexcept;
  [[nodiscard]] std::optional<Assembled> look(const std::string& unwritten) const;
  [[nodiscard]] std::optional<Assembled> look_on(bool stays, const std::string& unwritten) const;
  [[nodiscard]] Outcome leave_or_throw(const Report& report, Exit exit, Assembled* all_p);
  void note(std::uint64_t value) const noexcept;
  enum class Which { kAny, kEmpty };
  void remove(Which which) const noexcept;

  int fd_ = -1;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::string path_;
  Member self_;
  off_t begin_ = 0;  // where its first record is
  int error_ = 0;
};

}  // namespace verity::health

#endif
