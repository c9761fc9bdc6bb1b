// SPDX-License-Identifier: BSD-3-Clause
#include "health/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <new>
#include <random>
#include <utility>

namespace verity::health {

namespace {

constexpr std::size_t kFirstRows = 12;
constexpr std::size_t kPage = 4096;

std::string reason(const char* what, int error) { return std::string(what) + ": " + std::strerror(error); }

constexpr std::size_t whole_pages(std::size_t size) noexcept { return (size + kPage - 1) / kPage * kPage; }

void* map_private(void* where) noexcept {
  const int fixed = where != nullptr ? MAP_FIXED : 0;
  return mmap(where, Table::kMostBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
}

// Who may replace files there could make others believe anything.
std::string check_folder(int directory) {
  struct stat info;
  if (fstat(directory, &info) != 0) return reason("cannot be looked at", errno);
  if (info.st_uid != 0 && info.st_uid != geteuid()) return "it belongs to user " + std::to_string(info.st_uid);
  if ((info.st_mode & S_IWOTH) != 0 && (info.st_mode & S_ISVTX) == 0) return "anyone may remove files of others there (chmod +t)";
  return {};
}

// Writing beyond the limit would raise SIGXFSZ.
bool within_limit(std::size_t size) noexcept {
  rlimit limit;
  return getrlimit(RLIMIT_FSIZE, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= size);
}

// The space is taken now: a page that the file system cannot give later would be SIGBUS. Returns an errno.
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
  std::snprintf(name.data(), name.size(), "%" PRIu64 "-%08x%08x" UCX_VERITY_HEALTH_SUFFIX, pid, random(), random());
  return name.data();
}

}  // namespace

std::string default_directory(uid_t uid) { return "/dev/shm/ucx-verity-" + std::to_string(uid); }

Segment::Segment() {
  void* memory = map_private(nullptr);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<std::byte*>(memory);
  usable_ = Table::kMostBytes;
}

Segment::~Segment() {
  munmap(base_, Table::kMostBytes);
  close_directory();
  if (fd_ >= 0 && is_ours()) ::close(fd_);
}

// Programs that close all descriptors they do not know may have opened another file as this one.
bool Segment::is_ours() const noexcept {
  struct stat info;
  return fstat(fd_, &info) == 0 && info.st_dev == device_ && info.st_ino == inode_;
}

void Segment::close_directory() noexcept {
  if (directory_ >= 0) ::close(std::exchange(directory_, -1));
}

bool Segment::grow(std::size_t size) noexcept {
  if (size <= usable_) return true;
  if (size > Table::kMostBytes || !is_ours()) return false;
  // Doubled, so that a job that meets a host after the other does not ask for each.
  const std::size_t wanted = std::min(whole_pages(std::max(size, usable_ * 2)), whole_pages(Table::kMostBytes));
  if (allocate(fd_, wanted) != 0) return false;
  usable_ = wanted;
  return true;
}

std::string Segment::map_file(int directory, mode_t mode) {
  fd_ = openat(directory, hidden_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, 0600);
  if (fd_ < 0) return reason("no file can be made there", errno);
  struct stat info;
  if (fstat(fd_, &info) != 0) return reason("cannot be looked at", errno);
  device_ = info.st_dev;
  inode_ = info.st_ino;
  if (mode != 0600 && fchmod(fd_, mode) != 0) return reason("the mode cannot be set", errno);
  const std::size_t size = whole_pages(size_for_rows(kFirstRows));
  const int error = allocate(fd_, size);
  if (error != 0) return reason("no room", error);
  void* mapped = mmap(nullptr, Table::kMostBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (mapped == MAP_FAILED) return reason("it cannot be mapped", errno);
  munmap(base_, Table::kMostBytes);
  base_ = static_cast<std::byte*>(mapped);
  usable_ = size;
  lock(fd_);
  return {};
}

std::string Segment::move_to_file(const FileSettings& settings, std::uint64_t pid) {
  const bool own = settings.directory.empty();
  const std::string folder = own ? default_directory(geteuid()) : settings.directory;
  if (own) (void)mkdir(folder.c_str(), 0700);  // its error is told when it is opened
  directory_ = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | (own ? O_NOFOLLOW : 0));
  if (directory_ < 0) return folder + ": " + reason("it cannot be opened", errno);
  name_ = file_name(pid);
  hidden_ = "." + name_;
  std::string problem = check_folder(directory_);
  if (problem.empty()) problem = map_file(directory_, settings.mode);
  if (problem.empty()) {
    path_ = folder + "/" + name_;
    return {};
  }
  if (fd_ >= 0) {
    (void)unlinkat(directory_, hidden_.c_str(), 0);
    ::close(std::exchange(fd_, -1));
  }
  close_directory();
  return folder + ": " + problem;
}

std::string Segment::publish() {
  if (directory_ < 0) return {};
  const int error = renameat(directory_, hidden_.c_str(), directory_, name_.c_str()) != 0 ? errno : 0;
  close_directory();
  if (error == 0) return {};
  return reason(path_.c_str(), error);
}

void Segment::leave_file() noexcept {
  if (fd_ < 0 || map_private(base_) == MAP_FAILED) return;
  usable_ = Table::kMostBytes;
}

}  // namespace verity::health
