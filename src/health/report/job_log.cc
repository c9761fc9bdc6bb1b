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
#include <random>

#include "health/process_id.h"
#include "ucx-verity/health.h"

namespace verity::health {

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;
constexpr int kOpenFlags = O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
constexpr off_t kGate = off_t{1} << 62;  // a byte that no record has

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

// Who is between its begin and its end shares the gate's lock, and who removes the file has it
// alone. So none begins in a file that has no name any more. False: another one is in the way.
bool lock_gate(int fd, short type) noexcept {
  struct flock gate {};
  gate.l_type = type;
  gate.l_whence = SEEK_SET;
  gate.l_start = kGate;
  gate.l_len = 1;
  return fcntl(fd, F_SETLK, &gate) == 0 || (errno != EAGAIN && errno != EACCES);
}

// The last process of a launch's program may be removing it: then there is a new one in a moment.
int open_to_begin(const char* path) noexcept {
  constexpr timespec kMoment{0, 100'000};
  for (int i = 0; i < 10000; ++i) {
    const int fd = ::open(path, kOpenFlags | O_CREAT, 0600);
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
  fd_ = ::open(path_.c_str(), kOpenFlags);
  if (fd_ < 0 || is_ours()) return fd_ >= 0;
  ::close(fd_);
  fd_ = -1;
  return false;
}

bool JobLog::join(const std::string& folder, const std::string& key, const std::string& rank,
                  unsigned ranks) {
  path_ = folder + "/" + file_name(key);
  const int fd = open_to_begin(path_.c_str());
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
  if (reserve(ranks) && append(record)) {
    lock(record.size());
    return true;
  }
  ::close(fd_);
  fd_ = -1;
  return false;
}

// The space of all accounts is taken now: in a full file system the last process could not append
// its own, and those of the processes that have ended would never be printed. They share it, so
// that a long account may be as others are short. False: there is none.
bool JobLog::reserve(unsigned ranks) const noexcept {
  constexpr off_t kOfOne = 4096;
  struct stat info;
  if (fstat(fd_, &info) != 0) return false;
  const off_t wanted = kOfOne * static_cast<off_t>(std::max(ranks, 1U));
  if (!within_limit(static_cast<std::uint64_t>(info.st_size + wanted))) return true;  // SIGXFSZ
  int rc;
  do rc = fallocate(fd_, FALLOC_FL_KEEP_SIZE, info.st_size, wanted);
  while (rc != 0 && errno == EINTR);
  return rc == 0 || (errno != ENOSPC && errno != EDQUOT);  // where none can be taken: without
}

// In one write, which other processes' do not divide.
bool JobLog::append(const std::string& record) noexcept {
  struct stat info;
  if (!is_ours() || fstat(fd_, &info) != 0) return false;
  constexpr std::uint64_t kOthers = 1 << 20;  // what they may write meanwhile
  if (!within_limit(static_cast<std::uint64_t>(info.st_size) + record.size() + kOthers))
    return false;
  return ::write(fd_, record.data(), record.size()) == static_cast<ssize_t>(record.size());
}

// The record just written: it says that the process lives, however that ends, and keeps the file
// from being removed as an old one.
void JobLog::lock(std::size_t size) noexcept {
  struct flock mine {};
  mine.l_type = F_WRLCK;
  mine.l_whence = SEEK_SET;
  mine.l_start = lseek(fd_, 0, SEEK_CUR) - static_cast<off_t>(size);
  mine.l_len = static_cast<off_t>(size);
  (void)fcntl(fd_, F_SETLK, &mine);
}

// A process without its lock may have closed the file's descriptor. Or it runs another program by
// exec(): that one has no more to say of this job than a dead one.
bool JobLog::lives(const JobRecord& record) const noexcept {
  struct flock theirs {};
  theirs.l_type = F_RDLCK;
  theirs.l_whence = SEEK_SET;
  theirs.l_start = static_cast<off_t>(record.offset);
  theirs.l_len = static_cast<off_t>(record.size);
  if (fcntl(fd_, F_GETLK, &theirs) == 0 && theirs.l_type != F_UNLCK) return true;
  const Member& m = record.member;
  if (m.start_ticks == 0 || start_ticks(m.pid) != m.start_ticks) return false;
  const std::uint64_t stack = stack_start(m.pid);
  return m.stack_start == 0 || stack == 0 || stack == m.stack_start;
}

JobLog::Outcome JobLog::leave(const Report& report, bool failed, Assembled* all_p) noexcept {
  try {
    return joined() ? leave_or_throw(report, failed, all_p) : Outcome::kNoLog;
  } catch (...) { return Outcome::kNoLog; }
}

// What cannot be appended, beyond the limit of a file's size, this process alone knows: the last
// one prints it all the same.
JobLog::Outcome JobLog::leave_or_throw(const Report& report, bool failed, Assembled* all_p) {
  if (!is_ours() && !reopen()) return Outcome::kNoLog;
  const std::string record = end_record(self_, report, failed);
  (void)lock_gate(fd_, F_UNLCK);
  const bool appended = append(record);
  const auto look = [&]() -> std::optional<Assembled> {
    std::vector<std::byte> bytes = read_all(fd_);
    const auto* own = reinterpret_cast<const std::byte*>(record.data());
    if (!appended) bytes.insert(bytes.end(), own, own + record.size());
    const auto records = read_records(bytes);
    if (!records) return std::nullopt;
    return assemble(*records, self_, [this](const JobRecord& other) { return lives(other); });
  };
  auto all = look();
  // Who does not live may have ended after the records were read, and be the last one.
  if (all && all->complete && all->reports.size() != all->registered) all = look();
  if (!all) return Outcome::kNoLog;
  if (all->deserted) remove();
  const bool reports = all->complete || (failed && all->failed == 0);
  if (reports) *all_p = std::move(*all);
  if (reports) return Outcome::kReports;
  return appended ? Outcome::kOthersLive : Outcome::kNoLog;
}

// Not where a process of the launch's next program has begun since. The name may be another file's
// by now.
void JobLog::remove() const noexcept {
  struct stat info;
  if (!lock_gate(fd_, F_WRLCK)) return;
  if (lstat(path_.c_str(), &info) == 0 && info.st_dev == device_ && info.st_ino == inode_)
    (void)unlink(path_.c_str());
  (void)lock_gate(fd_, F_UNLCK);
}

}  // namespace verity::health
