// SPDX-License-Identifier: BSD-3-Clause
#include "uct/process/spent_numbers.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>

#include "uct/process/per_process.h"

namespace verity::uct {

namespace {

// In the names of UCX's files, as /proc/self/fd shows them.
constexpr char kName[] = "ucx_shm_posix_";

// The last ones that were taken, in all of the process: that many descriptors a program can spare,
// and a peer that comes later finds what it finds.
struct Taken {
  static constexpr size_t kMost = 64;
  std::mutex mutex;
  std::array<int, kMost> numbers;  // the oldest one is replaced
  size_t count = 0;
};

Taken& all_taken() noexcept { return PerProcess<Taken>::get(); }

bool is_shared_memory(int folder, const char* number) noexcept {
  char name[512];
  const ssize_t length = readlinkat(folder, number, name, sizeof(name) - 1);
  if (length <= 0) return false;
  name[length] = '\0';
  return std::strstr(name, kName) != nullptr;
}

bool is_open(int number) noexcept { return fcntl(number, F_GETFD) != -1; }

// At that number, unless another thread was faster.
bool open_null(int number) noexcept {
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null == number) return true;
  if (null == -1) return false;
  const int copy = fcntl(null, F_DUPFD_CLOEXEC, number);
  (void)close(null);
  if (copy != number && copy != -1) (void)close(copy);
  return copy == number;
}

// The program may have closed it, and have opened something else there.
bool is_null(int number) noexcept {
  struct stat of = {};
  return fstat(number, &of) == 0 && S_ISCHR(of.st_mode) && of.st_rdev == makedev(1, 3);
}

void keep(int number) noexcept {
  Taken& taken = all_taken();
  const std::lock_guard lock(taken.mutex);
  int& place = taken.numbers[taken.count % Taken::kMost];
  if (taken.count++ >= Taken::kMost && is_null(place)) (void)close(place);
  place = number;
}

}  // namespace

void SpentNumbers::note() noexcept {
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(opendir("/proc/self/fd"), closedir);
  if (folder == nullptr) return;
  while (const dirent* entry = readdir(folder.get())) {
    if (count_ == kMost) return;
    if (is_shared_memory(dirfd(folder.get()), entry->d_name))
      noted_[count_++] = std::atoi(entry->d_name);
  }
}

void SpentNumbers::take() noexcept {
  for (size_t i = 0; i < count_; ++i) {
    if (!is_open(noted_[i]) && open_null(noted_[i])) keep(noted_[i]);
  }
  count_ = 0;
}

}  // namespace verity::uct
