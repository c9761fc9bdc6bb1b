// SPDX-License-Identifier: BSD-3-Clause
#include "health/files/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <utility>

#include "health/files/segment.h"
#include "health/process_id.h"
#include "health/text.h"

namespace verity::health {

namespace {

constexpr std::string_view kSuffix = UCX_VERITY_HEALTH_SUFFIX;
constexpr const char* kSiteDirectory = "/dev/shm/ucx-verity";

// A start, which is to take no time, looks at the owners of so many files, and into so many.
constexpr std::size_t kSomeNames = 4096;
constexpr std::size_t kSomeFiles = 64;

struct Descriptor {
  int fd;
  explicit Descriptor(int opened) noexcept : fd(opened) {}
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
};

constexpr std::uint64_t nanoseconds(const timespec& time) noexcept {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

std::string reason(const char* what) { return std::string(what) + ": " + std::strerror(errno); }

// Somebody, who can only be its process, holds the lock.
bool is_locked(int fd) noexcept {
  struct flock all {};
  all.l_type = F_RDLCK;
  all.l_whence = SEEK_SET;
  return fcntl(fd, F_GETLK, &all) == 0 && all.l_type != F_UNLCK;
}

// A file may name any process, but its own is one of its owner. One that runs another program by
// exec() counts there no more. What another host's process does shows on that host alone, where the
// file system has no locks between them.
bool is_running(int fd, const Snapshot& s, uid_t owner) {
  if (is_locked(fd) || is_of_another_host(s)) return true;
  static const std::string boot = boot_id();
  if (s.boot_id != boot || s.start_ticks == 0 || start_ticks(s.pid) != s.start_ticks ||
      !runs_as(s.pid, owner))
    return false;
  const std::uint32_t mark = stack_mark(s.pid);
  return s.stack_mark == 0 || mark == 0 || mark == s.stack_mark;
}

Life life_of(int fd, const Snapshot& s, uid_t owner) {
  if (s.state == UCX_VERITY_HEALTH_ENDED) return Life::kEnded;
  if (s.state == UCX_VERITY_HEALTH_KILLED || !is_running(fd, s, owner)) return Life::kKilled;
  return Life::kRunning;
}

std::uint64_t born_ns(int fd) noexcept {
  struct statx info {};
  if (statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &info) != 0 || (info.stx_mask & STATX_BTIME) == 0)
    return 0;
  return static_cast<std::uint64_t>(info.stx_btime.tv_sec) * 1'000'000'000U +
         info.stx_btime.tv_nsec;
}

// One that ended, or was noticed, while the clock was ahead would stay until that time: when it was
// last changed counts then, or, where that is to come as well, the file is old.
std::uint64_t ended_ns(const Snapshot& snapshot, const struct stat& info) noexcept {
  constexpr std::uint64_t kHour = 3'600'000'000'000;
  const std::uint64_t latest = realtime_ns() + kHour;  // clocks are also set back by a little
  if (snapshot.state == UCX_VERITY_HEALTH_RUNNING || snapshot.ended_ns <= latest)
    return snapshot.ended_ns;
  const std::uint64_t changed = nanoseconds(info.st_mtim);
  return changed <= latest ? changed : 1;
}

// As much as there is, if it is cut meanwhile. *failed: it could not be read to its end.
std::vector<std::byte> read_whole(int fd, std::size_t size, bool* failed) {
  std::vector<std::byte> bytes(size);
  std::size_t done = 0;
  *failed = false;
  while (done < size) {
    const ssize_t count = ::pread(fd, bytes.data() + done, size - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    *failed = count < 0;
    if (count <= 0) break;
    done += static_cast<std::size_t>(count);
  }
  bytes.resize(done);
  return bytes;
}

std::string kind_problem(mode_t mode) {
  if (S_ISREG(mode)) return {};
  return S_ISLNK(mode)    ? "it is a symbolic link"
         : S_ISFIFO(mode) ? "it is a pipe"
                          : "it is no regular file";
}

std::string file_problem(const struct stat& info) {
  std::string problem = kind_problem(info.st_mode);
  if (problem.empty() && info.st_nlink > 1) problem = "it has several names";
  if (problem.empty() && static_cast<std::uint64_t>(info.st_size) > kMostFileBytes) {
    problem = "it is too long: " + std::to_string(info.st_size) + " bytes";
  }
  return problem;
}

std::unique_ptr<DIR, int (*)(DIR*)> list(int directory) {
  const int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* opened = fd >= 0 ? fdopendir(fd) : nullptr;
  if (opened == nullptr && fd >= 0) ::close(fd);
  return {opened, closedir};
}

}  // namespace

std::uint64_t realtime_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return nanoseconds(now);
}

// By the boot, as a container has a host name of its own; after a restart, by the name, as read.
bool is_of_another_host(const Snapshot& s) {
  static const std::string boot = boot_id();
  static const std::string host = printable(host_name({})).substr(0, sizeof(FileHeader::host) - 1);
  return !boot.empty() && !s.boot_id.empty() && s.boot_id != boot && !s.host.empty() &&
         s.host != host;
}

const char* life_name(Life life) noexcept {
  return life == Life::kRunning ? "running" : life == Life::kEnded ? "ended" : "killed";
}

namespace {

void read_content(int fd, const struct stat& info, HealthFile& file) {
  file.problem = file_problem(info);
  if (!file.problem.empty()) return;
  file.snapshot = {};
  file.problem = parse_health_file(
      read_whole(fd, static_cast<std::size_t>(info.st_size), &file.failed), &file.snapshot);
  if (file.problem.empty()) file.life = life_of(fd, file.snapshot, file.owner);
}

}  // namespace

Directory::~Directory() {
  if (fd_ >= 0) ::close(fd_);
}

Directory::Directory(Directory&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      owner_(other.owner_),
      open_to_all_(other.open_to_all_),
      path_(std::move(other.path_)) {}

std::string Directory::open(const std::string& path) {
  path_ = path;
  // In /dev/shm any user may make a link of that name.
  const int follow = path.starts_with(kSiteDirectory) ? O_NOFOLLOW : 0;
  fd_ = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | follow);
  struct stat info {};
  if (fd_ < 0 || fstat(fd_, &info) != 0) return reason("it cannot be opened");
  owner_ = info.st_uid;
  open_to_all_ = (info.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (info.st_mode & S_ISVTX) == 0;
  return {};
}

std::pair<dev_t, ino_t> Directory::place() const noexcept {
  struct stat info {};
  (void)fstat(fd_, &info);
  return {info.st_dev, info.st_ino};
}

std::vector<std::string> Directory::names(std::size_t most, bool* more) const {
  std::vector<std::string> names;
  const auto entries = list(fd_);
  *more = entries == nullptr;  // out of descriptors, or of memory
  while (entries != nullptr) {
    errno = 0;
    const dirent* entry = readdir(entries.get());
    if (entry == nullptr) {
      *more = errno != 0;
      break;
    }
    const std::string_view name = entry->d_name;
    if (name.starts_with('.') || !name.ends_with(kSuffix)) continue;
    if (names.size() == most) {
      *more = true;
      break;
    }
    names.emplace_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> Directory::some_names(std::size_t most, bool hidden) const {
  constexpr std::size_t kListed = 1U << 18;  // takes some ten milliseconds
  std::minstd_rand random(std::random_device{}());
  std::vector<std::string> names;
  std::size_t listed = 0;
  const auto entries = list(fd_);
  while (const dirent* entry = entries != nullptr ? readdir(entries.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name.starts_with('.') != hidden || !name.ends_with(kSuffix)) continue;
    if (++listed > kListed) break;
    if (names.size() < most) {
      names.emplace_back(name);
    } else if (const std::size_t place = random() % listed; place < most) {
      names[place] = name;  // each name has the same chance
    }
  }
  std::shuffle(names.begin(), names.end(), random);
  return names;
}

bool Directory::has(const std::string& name) const noexcept {
  return faccessat(fd_, name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

HealthFile Directory::read(const std::string& name) const {
  HealthFile file;
  file.name = name;
  struct stat info {};
  if (fstatat(fd_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    file.failed = errno != ENOENT;
    file.problem = reason("it cannot be examined");
    return file;
  }
  file.owner = info.st_uid;
  file.problem = kind_problem(info.st_mode);
  if (!file.problem.empty()) return file;  // others than regular files may act when they are opened
  const Descriptor opened(
      openat(fd_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (opened.fd < 0 || fstat(opened.fd, &info) != 0) {
    file.failed = errno != ENOENT;
    file.problem = reason("it cannot be opened");
    return file;
  }
  file.owner = info.st_uid;
  read_content(opened.fd, info, file);
  // The copy may be older than what became of the file since: it has grown, and looks cut; or its
  // process has ended, and looks killed.
  const bool looks_killed = file.problem.empty() && file.life == Life::kKilled &&
                            file.snapshot.state == UCX_VERITY_HEALTH_RUNNING;
  const off_t size = info.st_size;
  if ((looks_killed || !file.problem.empty()) && fstat(opened.fd, &info) == 0 &&
      (looks_killed || info.st_size > size))
    read_content(opened.fd, info, file);
  if (file.problem.empty()) {
    file.born_ns = born_ns(opened.fd);
    file.ended_ns = ended_ns(file.snapshot, info);
  } else if (S_ISREG(info.st_mode) && !is_locked(opened.fd)) {
    file.life = Life::kKilled;
    file.ended_ns = nanoseconds(info.st_mtim);
  }
  return file;
}

void Directory::mark(HealthFile& file, std::uint64_t now_ns) const {
  if (!file.problem.empty() || file.life != Life::kKilled || file.ended_ns != 0) return;
  const Descriptor opened(
      openat(fd_, file.name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  struct stat info {};
  if (opened.fd < 0 || fstat(opened.fd, &info) != 0 || !file_problem(info).empty() ||
      info.st_uid != file.owner)
    return;
  const std::uint32_t state = UCX_VERITY_HEALTH_KILLED;
  if (pwrite(opened.fd, &now_ns, sizeof(now_ns), offsetof(FileHeader, ended_ns)) != sizeof(now_ns))
    return;
  if (pwrite(opened.fd, &state, sizeof(state), offsetof(FileHeader, state)) != sizeof(state))
    return;
  file.ended_ns = file.snapshot.ended_ns = now_ns;
  file.snapshot.state = state;
}

bool Directory::remove(const HealthFile& file) const noexcept {
  return file.life != Life::kRunning && unlinkat(fd_, file.name.c_str(), 0) == 0;
}

bool Directory::is_of(const std::string& name, std::optional<uid_t> owner) const noexcept {
  struct stat info {};
  return !owner ||
         (fstatat(fd_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && info.st_uid == *owner);
}

// Of processes that ended while they made their file.
void Directory::remove_hidden(std::optional<uid_t> owner, std::uint64_t now_ns,
                              std::uint64_t keep_ns) const {
  std::size_t count = 0;
  for (const std::string& name : some_names(kSomeNames, true)) {
    if (!is_of(name, owner)) continue;
    if (++count > kSomeFiles) return;
    HealthFile file = read(name);
    struct stat info {};
    if (file.life == Life::kRunning || fstatat(fd_, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0)
      continue;
    // One that is being made is not locked yet.
    constexpr std::uint64_t kMakes = 60'000'000'000;
    if (nanoseconds(info.st_mtim) + std::max(keep_ns, kMakes) <= now_ns) (void)remove(file);
  }
}

std::size_t Directory::collect(const std::vector<std::string>& names, std::optional<uid_t> owner,
                               std::uint64_t now_ns, std::uint64_t keep_ns,
                               const std::function<bool(const HealthFile&)>& may_go,
                               std::size_t most) const {
  std::size_t removed = 0;
  for (const std::string& name : names) {
    if (!is_of(name, owner)) continue;
    if (most-- == 0) break;
    HealthFile file = read(name);
    if (file.life == Life::kRunning || (owner && file.owner != *owner)) continue;
    mark(file, now_ns);
    if (file.ended_ns == 0 || file.ended_ns + keep_ns > now_ns) continue;
    if (may_go && !may_go(file)) continue;
    removed += remove(file);
  }
  remove_hidden(owner, now_ns, keep_ns);
  return removed;
}

std::size_t collect(const Directory& directory, const std::vector<std::string>& names,
                    std::uint64_t now_ns, std::uint64_t keep_ns,
                    const std::function<bool(const HealthFile&)>& may_go) {
  const uid_t self = geteuid();
  return directory.collect(names, self == 0 ? std::nullopt : std::optional(self), now_ns, keep_ns,
                           may_go);
}

void collect_some(const std::string& path, const std::string& own, std::uint64_t now_ns,
                  std::uint64_t keep_ns) noexcept {
  try {
    Directory directory;
    if (!directory.open(path).empty()) return;
    // Old files lie anywhere in the listing: tmpfs lists the youngest first.
    std::vector<std::string> names = directory.some_names(kSomeNames);
    // Whoever closes a file loses the locks that its process has on it.
    names.erase(std::remove(names.begin(), names.end(), own), names.end());
    (void)directory.collect(names, geteuid(), now_ns, keep_ns, {}, kSomeFiles);
  } catch (...) {  // another process does it
  }
}

std::vector<std::string> default_directories() {
  std::vector<std::string> paths;
  struct stat named {};  // whichever way it is written
  const char* set = std::getenv("UCX_VERITY_HEALTH_DIR");
  if (set != nullptr && *set != '\0') {
    paths.emplace_back(set);
    if (stat(set, &named) != 0) named = {};
  }
  const auto add = [&](std::string path) {
    struct stat info {};
    const bool is_folder = lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
    const bool is_named = info.st_dev == named.st_dev && info.st_ino == named.st_ino;
    if (is_folder && !is_named) paths.push_back(std::move(path));
  };
  add(kSiteDirectory);
  if (geteuid() != 0) {
    add(default_directory(geteuid()));
    return paths;
  }
  const Descriptor shared(::open("/dev/shm", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto entries = list(shared.fd);
  while (const dirent* entry = entries != nullptr ? readdir(entries.get()) : nullptr) {
    // Anyone may make a folder there, with any name.
    struct stat info {};
    const std::string path = "/dev/shm/" + std::string(entry->d_name);
    if (path.starts_with(kSiteDirectory) && lstat(path.c_str(), &info) == 0 &&
        path == default_directory(info.st_uid))
      add(path);
  }
  return paths;
}

}  // namespace verity::health
