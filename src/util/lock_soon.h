// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_UTIL_LOCK_SOON_H
#define VERITY_UTIL_LOCK_SOON_H

#include <time.h>

#include <mutex>

namespace verity::util {

// For the end of the process, which may come in a signal's handler: the thread that it interrupted
// may have the lock, and never goes on. Other threads have it for moments. Returns a lock that owns
// nothing after a second.
[[nodiscard]] inline std::unique_lock<std::mutex> lock_soon(std::mutex& mutex) noexcept {
  std::unique_lock lock(mutex, std::try_to_lock);
  for (int i = 0; i < 1000 && !lock.owns_lock(); ++i) {
    const timespec moment{0, 1'000'000};
    (void)nanosleep(&moment, nullptr);
    (void)lock.try_lock();
  }
  return lock;
}

}  // namespace verity::util

#endif
