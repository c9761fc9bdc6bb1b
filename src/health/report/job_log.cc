// SPDX-License-Identifier: BSD-3-Clause
#include "health/report/job_log.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <random>

#include "health/process_id.h"
#include "ucx-verity/health.h"
#include "util/beyond_streams.h"
#include "util/memory_calls.h"
#include "util/without_write_signals.h"

namespace verity::health {

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
constexpr int kOpenFlags = O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
constexpr off_t kGate = off_t{1} << 62;  // bytes that no record has
constexpr off_t kTurn = kGate + 1;

std::uint64_t hash(std::string_view text) noexcept {
  std::uint64_t digest = 14695981039346656037U;  // FNV-1a
  for (const char c : text) digest = (digest ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return digest;
}

// Hidden, so that it is taken for no health file, and with their suffix, so that it is removed as
// those are.
std::string file_name(const std::string& key) {
  std::array<char, 96> name;
  std::snprintf(name.data(), name.size(), ".job-%u-%016" PRIx64 UCX_VERITY_HEALTH_SUFFIX,
                static_cast<unsigned>(geteuid()), hash(key));
  return name.data();
}

std::uint64_t random_number() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

bool usable(int fd, struct stat* info) noexcept {
  return fstat(fd, info) == 0 && S_ISREG(info->st_mode) && info->st_uid == geteuid() &&
         info->st_nlink == 1 && static_cast<std::uint64_t>(info->st_size) < kMostBytes;
}

// Writing beyond the limit would raise SIGXFSZ.
bool within_limit(std::uint64_t size) noexcept {
  rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= size);
}

// False: another process is in the way.
bool lock_byte(int fd, off_t byte, short type) noexcept {
  struct flock one {};
  one.l_type = type;
  one.l_whence = SEEK_SET;
  one.l_start = byte;
  one.l_len = 1;
  return fcntl(fd, F_SETLK, &one) == 0 || (errno != EAGAIN && errno != EACCES);
}

// Who is between its begin and its end shares the gate's lock, and who removes the file has it
// alone. So none begins in a file that has no name any more.
bool lock_gate(int fd, short type) noexcept { return lock_byte(fd, kGate, type); }

// Processes that cannot append their last records, by which all others would know who ended before
// whom, look at the file one after the other, and leave their reasons. Who has appended its own
// waits for one that may have looked before. Not for ever, as that one may be stopped.
void await_turn(int fd, bool appended) noexcept {
  constexpr timespec kMoment{0, 1'000'000};
  const short type = appended ? F_RDLCK : F_WRLCK;
  for (int i = 0; i < 1000 && !lock_byte(fd, kTurn, type); ++i) (void)nanosleep(&kMoment, nullptr);
  if (appended) (void)lock_byte(fd, kTurn, F_UNLCK);
}

// By the size of what they have written. That may be more, of programs that ended.
unsigned begun_before(off_t offset, std::size_t record_size) noexcept {
  constexpr std::uint64_t kMost = 1024;
  return static_cast<unsigned>(std::min(static_cast<std::uint64_t>(offset) / record_size, kMost));
}

// Others ended later, and one of these was the last one. Where another process is dead, that may
// have taken it for one that lives, unless it says that it has reported.
bool is_reported(const Assembled& all) noexcept {
  return all.reported || (all.later != 0 && all.reports.size() + all.later == all.registered);
}

// The last process of a launch's program may be removing it: then there is a new one in a moment.
int open_to_begin(const char* path) noexcept {
  constexpr timespec kMoment{0, 100'000};
  for (int i = 0; i < 10000; ++i) {
    const int fd = util::beyond_streams(::open(path, kOpenFlags | O_CREAT, 0600));
    if (fd < 0) return fd;
    const bool passes = lock_gate(fd, F_RDLCK);
    struct stat info;
    if (fstat(fd, &info) != 0 || info.st_uid != geteuid() || (passes && info.st_nlink != 0))
      return fd;
    ::close(fd);
    (void)nanosleep(&kMoment, nullptr);
  }
  return -1;
}

std::vector<std::byte> read_all(int fd) {
  std::vector<std::byte> bytes;
  std::array<std::byte, 65536> part;
  while (bytes.size() < kMostBytes) {
    const ssize_t count = pread(fd, part.data(), part.size(), static_cast<off_t>(bytes.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    bytes.insert(bytes.end(), part.begin(), part.begin() + count);
  }
  return bytes;
}

}  // namespace

JobLog::~JobLog() {
  if (fd_ >= 0 && is_ours()) ::close(fd_);
}

// Programs that close all descriptors they do not know may have opened another file as this one.
bool JobLog::is_ours() const noexcept {
  struct stat info;
  return fstat(fd_, &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

// Its name may be another file's by now.
bool JobLog::reopen() noexcept {
  fd_ = util::beyond_streams(::open(path_.c_str(), kOpenFlags));
  if (fd_ < 0 || is_ours()) return fd_ >= 0;
  ::close(fd_);
  fd_ = -1;
  return false;
}

bool JobLog::join(const std::string& folder, const std::string& key, const std::string& rank,
                  unsigned ranks) {
  path_ = folder + "/" + file_name(key);
  const int fd = open_to_begin(path_.c_str());
  if (fd < 0) error_ = errno;
  if (fd < 0) return false;
  struct stat info;
  if (!usable(fd, &info)) {
    ::close(fd);
    return false;
  }
  fd_ = fd;
  device_ = info.st_dev;
  inode_ = info.st_ino;
  const auto pid = static_cast<std::uint64_t>(getpid());
  self_ = {.pid = pid,
           .start_ticks = start_ticks(pid),
           .stack_start = stack_start(pid),
           .nonce = random_number(),
           .rank = rank};
  const std::string record = begin_record(self_);
  error_ = reserve(ranks);
  if (error_ == 0) error_ = append(record);
  if (error_ == 0) {
    begin_ = lseek(fd_, 0, SEEK_CUR) - static_cast<off_t>(record.size());
    lock(record.size());
    if (ranks == 0) (void)reserve(begun_before(begin_, record.size()) + 1);
    return true;
  }
  (void)lock_gate(fd_, F_UNLCK);
  remove(Which::kEmpty);
  ::close(fd_);
  fd_ = -1;
  return false;
}

// The space of all accounts is taken now: in a full file system the last process could not append
// its own, and those of the processes that have ended would never be printed. They share it, so
// that a long account may be as others are short. Where the launcher does not count ranks, each
// takes that of those that began before it as well. Returns an errno where there is none.
int JobLog::reserve(unsigned ranks) const noexcept {
  constexpr off_t kOfOne = 4096;
  struct stat info;
  if (fstat(fd_, &info) != 0) return errno;
  const off_t wanted = kOfOne * static_cast<off_t>(std::max(ranks, 1U));
  if (!within_limit(static_cast<std::uint64_t>(info.st_size + wanted))) return 0;  // SIGXFSZ
  int rc;
  do rc = fallocate(fd_, FALLOC_FL_KEEP_SIZE, info.st_size, wanted);
  while (rc != 0 && errno == EINTR);
  return rc != 0 && (errno == ENOSPC || errno == EDQUOT) ? errno : 0;  // else it goes without
}

// In one write, which other processes' do not divide. Returns an errno.
int JobLog::append(const std::string& record) noexcept {
  struct stat info;
  if (!is_ours() || fstat(fd_, &info) != 0) return EBADF;
  constexpr std::uint64_t kOthers = 1 << 20;  // what they may write meanwhile
  if (!within_limit(static_cast<std::uint64_t>(info.st_size) + record.size() + kOthers))
    return EFBIG;
  const ssize_t written = ::write(fd_, record.data(), record.size());
  if (written < 0) return errno;
  return static_cast<std::size_t>(written) == record.size() ? 0 : ENOSPC;
}

// In the record of its beginning, which takes no room: why it cannot append its last one, from when
// on it is no process that may report for all; or that it does report for all. The record may be
// beyond the limit as well, which is not in the way of a mapping.
void JobLog::note(std::uint64_t value) const noexcept {
  const util::WithoutWriteSignals guard;
  const int flags = fcntl(fd_, F_GETFL);  // pwrite() would append
  if (flags < 0 || fcntl(fd_, F_SETFL, flags & ~O_APPEND) != 0) return;
  const auto at = static_cast<std::size_t>(begin_) + kNoteAt;
  const std::size_t size = at + sizeof(value);
  struct stat info;
  if (pwrite(fd_, &value, sizeof(value), static_cast<off_t>(at)) >= 0 || errno != EFBIG ||
      fstat(fd_, &info) != 0 || static_cast<std::size_t>(info.st_size) < size)
    return;
  void* memory = util::map_memory(nullptr, size, MAP_SHARED, fd_);
  if (memory == MAP_FAILED) return;
  std::memcpy(static_cast<std::byte*>(memory) + at, &value, sizeof(value));
  util::unmap_memory(memory, size);
}

// The record just written: it says that the process lives, however that ends, and keeps the file
// from being removed as an old one.
void JobLog::lock(std::size_t size) noexcept {
  struct flock mine {};
  mine.l_type = F_WRLCK;
  mine.l_whence = SEEK_SET;
  mine.l_start = begin_;
  mine.l_len = static_cast<off_t>(size);
  (void)fcntl(fd_, F_SETLK, &mine);
}

// A process without its lock may have closed the file's descriptor. Or it runs another program by
// exec(): that one has no more to say of this job than a dead one, or than one that is killed and
// has its lock still.
bool JobLog::lives(const JobRecord& record) const noexcept {
  struct flock theirs {};
  theirs.l_type = F_RDLCK;
  theirs.l_whence = SEEK_SET;
  theirs.l_start = static_cast<off_t>(record.offset);
  theirs.l_len = static_cast<off_t>(record.size);
  if (fcntl(fd_, F_GETLK, &theirs) == 0 && theirs.l_type != F_UNLCK)
    return theirs.l_pid <= 0 || !is_exiting(static_cast<std::uint64_t>(theirs.l_pid));
  const Member& m = record.member;
  if (m.start_ticks == 0 || start_ticks(m.pid) != m.start_ticks) return false;
  const std::uint64_t stack = stack_start(m.pid);
  return m.stack_start == 0 || stack == 0 || stack == m.stack_start;
}

JobLog::Outcome JobLog::leave(const Report& report, Exit exit, Assembled* all_p) noexcept {
  try {
    return joined() ? leave_or_throw(report, exit, all_p) : Outcome::kNoLog;
  } catch (...) { return Outcome::kNoLog; }
}

// What cannot be appended (`unwritten`) this process alone knows: as the last one it prints that
// all the same. There may be a part of it at the end of the file.
std::optional<Assembled> JobLog::look(const std::string& unwritten) const {
  auto records = read_records(read_all(fd_));
  const auto own = read_records(std::as_bytes(std::span(unwritten)));
  records.insert(records.end(), own.begin(), own.end());
  return assemble(records, self_, [this](const JobRecord& other) { return lives(other); });
}

// A second look where the others are about to come; `stays`: for a second.
std::optional<Assembled> JobLog::look_on(bool stays, const std::string& unwritten) const {
  auto all = look(unwritten);
  constexpr long kMillisecond = 1'000'000;
  const auto is_open = [&] { return all->others_live || (all->later != 0 && !is_reported(*all)); };
  for (int i = 0; stays && i < 21 && all && is_open(); ++i) {
    const timespec pause{0, kMillisecond << std::min(i, 6)};
    (void)nanosleep(&pause, nullptr);
    all = look(unwritten);
  }
  // Who does not live may have ended after the records were read, and be the last one.
  if (all && all->complete && all->reports.size() != all->registered) all = look(unwritten);
  return all;
}

JobLog::Outcome JobLog::leave_or_throw(const Report& report, Exit exit, Assembled* all_p) {
  if (!is_ours() && !reopen()) return Outcome::kNoLog;
  const bool stays = exit == Exit::kErrorAtEnd;
  const std::string record = end_record(self_, report, exit);
  (void)lock_gate(fd_, F_UNLCK);
  error_ = append(record);
  const bool appended = error_ == 0;
  await_turn(fd_, appended);
  auto all = look_on(appended && stays, appended ? std::string() : record);
  if (!all) return Outcome::kNoLog;
  if (all->deserted) remove(Which::kAny);
  const bool first_error = exit == Exit::kError ? all->failed == all->stay
                                                : stays && all->failed == 0 && !all->later_fails;
  const bool reports = (all->complete || first_error) && !is_reported(*all);
  if (!appended || (all->complete && all->reports.size() != all->registered))
    note(all->complete ? kReported : static_cast<unsigned>(error_));
  if (!appended) (void)lock_byte(fd_, kTurn, F_UNLCK);
  if (reports) *all_p = std::move(*all);
  if (reports) return Outcome::kReports;
  return appended ? Outcome::kOthersLive : Outcome::kNoLog;
}

// Not where a process of the launch's next program has begun since. The name may be another file's
// by now.
void JobLog::remove(Which which) const noexcept {
  struct stat info;
  if (!lock_gate(fd_, F_WRLCK)) return;
  if (lstat(path_.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_ &&
      (which == Which::kAny || info.st_size == 0))
    (void)unlink(path_.c_str());
  (void)lock_gate(fd_, F_UNLCK);
}

}  // namespace verity::health
