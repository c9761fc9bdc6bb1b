// SPDX-License-Identifier: BSD-3-Clause
#include "health/files/segment.h"

#include "health/files/folder.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <new>
#include <random>
#include <vector>

#include "health/process_id.h"
#include "util/beyond_streams.h"
#include "util/memory_calls.h"

namespace verity::health {

namespace {

constexpr std::size_t kFirstRows = 12;
constexpr std::size_t kPage = 4096;

std::string reason(const char* what, int error) {
  return std::string(what) + ": " + std::strerror(error);
}

constexpr std::size_t whole_pages(std::size_t size) noexcept {
  return (size + kPage - 1) / kPage * kPage;
}

// Shared, though with no other process, so that map_file() can look at the pages once more when
// others have taken their place.
void* map_unshared(void* where) noexcept {
  const int fixed = where != nullptr ? MAP_FIXED : 0;
  return util::map_memory(where, Table::kMostBytes,
                          MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1);
}

using Words = std::vector<std::uint64_t>;

// Other threads may be counting there: each word is read whole, as Table::sum() does.
__attribute__((no_sanitize("thread"))) std::uint64_t read_live(const void* memory,
                                                               std::size_t word) noexcept {
  return static_cast<const volatile std::uint64_t*>(memory)[word];
}

// Adds what was counted in the `old` pages after they were `copied`. Only counters can have
// changed: the caller holds the table's lock.
void carry_over(const void* old, const Words& copied, std::byte* base) noexcept {
  auto* words = reinterpret_cast<std::uint64_t*>(base);
  for (std::size_t i = kRowsOffset / sizeof(std::uint64_t); i < copied.size(); ++i) {
    const std::uint64_t more = read_live(old, i) - copied[i];
    if (more != 0) std::atomic_ref(words[i]).fetch_add(more, std::memory_order_relaxed);
  }
}

// Who may replace files there could make others believe anything.
std::string check_folder(int directory) {
  struct stat info;
  if (fstat(directory, &info) != 0) return reason("cannot be examined", errno);
  if (info.st_uid != 0 && info.st_uid != geteuid())
    return "it belongs to user " + std::to_string(info.st_uid);
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (info.st_mode & S_ISVTX) == 0)
    return "anyone may remove files of others there (chmod +t)";
  return {};
}

// Writing beyond the limit would raise SIGXFSZ.
bool within_limit(std::size_t size) noexcept {
  rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
         (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= size);
}

// The space is taken now: a page that the file system cannot give later would be SIGBUS. Returns an
// errno.
int allocate(int fd, std::size_t size) noexcept {
  if (!within_limit(size)) return EFBIG;
  int error;
  do error = posix_fallocate(fd, 0, static_cast<off_t>(size));
  while (error == EINTR);
  return error;
}

// Released when the process ends, however it ends; not inherited by children.
void lock(int fd) noexcept {
  struct flock all {};
  all.l_type = F_WRLCK;
  all.l_whence = SEEK_SET;
  (void)fcntl(fd, F_SETLK, &all);
}

std::string file_name(std::uint64_t pid) {
  std::random_device random;
  std::array<char, 64> name;
  std::snprintf(name.data(), name.size(), "%" PRIu64 "-%08x%08x" UCX_VERITY_HEALTH_SUFFIX, pid,
                random(), random());
  return name.data();
}

}  // namespace

std::string default_directory(uid_t uid) {
  return "/dev/shm/ucx-verity-" + std::to_string(user_outside(uid));
}

std::string folder_problem(const std::string& path) {
  const int directory = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return reason("it cannot be opened", errno);
  std::string problem = check_folder(directory);
  if (problem.empty() && faccessat(directory, ".", W_OK | X_OK, AT_EACCESS) != 0)
    problem = reason("no file can be made there", errno);
  ::close(directory);
  return problem;
}

Segment::Segment() {
  void* memory = map_unshared(nullptr);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<std::byte*>(memory);
  usable_ = Table::kMostBytes;
}

Segment::~Segment() {
  util::unmap_memory(base_, Table::kMostBytes);
  if (fd_ >= 0 && is_ours()) ::close(fd_);
}

// Programs that close all descriptors they do not know may have opened another file as this one.
bool Segment::is_ours() const noexcept {
  struct stat info;
  return fstat(fd_, &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

bool Segment::grow(std::size_t size) noexcept {
  if (size <= usable_) return true;
  if (size > Table::kMostBytes || fd_ < 0 || !is_ours()) return false;
  // Doubled, so that a job that reaches one host after the other does not grow it for each.
  const std::size_t wanted =
      std::min(whole_pages(std::max(size, usable_ * 2)), whole_pages(Table::kMostBytes));
  if (allocate(fd_, wanted) != 0) return false;
  usable_ = wanted;
  return true;
}

// The file's pages replace the private ones at once: there is no moment without memory.
std::string Segment::map_file(std::size_t used) {
  const std::size_t size = whole_pages(std::max(used, size_for_rows(kFirstRows)));
  const int error = allocate(fd_, size);
  if (error != 0) return reason("no room", error);
  Words copied(used / sizeof(std::uint64_t));
  for (std::size_t i = 0; i < copied.size(); ++i) copied[i] = read_live(base_, i);
  if (pwrite(fd_, copied.data(), used, 0) != static_cast<ssize_t>(used))
    return reason("it cannot be written", errno);
  void* old = util::map_again(base_, Table::kMostBytes);
  if (util::map_memory(base_, Table::kMostBytes, MAP_SHARED | MAP_FIXED, fd_) != base_) {
    const std::string problem = reason("it cannot be mapped", errno);
    if (old != MAP_FAILED)
      util::move_memory(old, Table::kMostBytes,
                        base_);  // a kernel without memory may have unmapped them
    return problem;
  }
  if (old != MAP_FAILED) {
    carry_over(old, copied, base_);
    util::unmap_memory(old, Table::kMostBytes);
  }
  usable_ = size;
  return {};
}

// Under a hidden name until it is complete.
std::string Segment::make_file(int directory, const std::string& name, mode_t mode,
                               std::size_t used) {
  const std::string hidden = "." + name;
  fd_ = util::beyond_streams(openat(directory, hidden.c_str(),
                                    O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY,
                                    0600));
  if (fd_ < 0) return reason("no file can be made there", errno);
  lock(fd_);
  struct stat info;
  std::string problem;
  if (fstat(fd_, &info) != 0 || (mode != 0600 && fchmod(fd_, mode) != 0))
    problem = reason("its mode cannot be set", errno);
  device_ = info.st_dev;
  inode_ = info.st_ino;
  if (problem.empty()) problem = map_file(used);
  if (problem.empty() && renameat(directory, hidden.c_str(), directory, name.c_str()) == 0)
    return {};
  if (problem.empty()) problem = reason("it cannot be renamed", errno);  // it is in use, unseen
  (void)unlinkat(directory, hidden.c_str(), 0);
  return problem;
}

std::string Segment::move_to_file(const FileSettings& settings, std::uint64_t pid,
                                  std::size_t used) {
  const bool own = settings.directory.empty();
  folder_ = own ? default_directory(geteuid()) : settings.directory;
  if (own) (void)mkdir(folder_.c_str(), 0700);  // the error is reported when it is opened
  const int directory =
      ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | (own ? O_NOFOLLOW : 0));
  if (directory < 0) return folder_ + ": " + reason("it cannot be opened", errno);
  const std::string name = file_name(pid);
  std::string problem = check_folder(directory);
  if (problem.empty()) problem = make_file(directory, name, settings.mode, used);
  ::close(directory);
  if (!problem.empty()) return folder_ + ": " + problem;
  path_ = folder_ + "/" + name;
  return {};
}

bool Segment::unshare() noexcept {
  if (map_unshared(base_) == MAP_FAILED) return false;
  usable_ = Table::kMostBytes;
  return true;
}

}  // namespace verity::health
