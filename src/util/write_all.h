// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_UTIL_WRITE_ALL_H
#define VERITY_UTIL_WRITE_ALL_H

#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <string_view>

#include "util/without_write_signals.h"

namespace verity::util {

inline constexpr int kPatience = 2000;  // ms

// Whether there is room within so many milliseconds, whatever signals are handled meanwhile.
inline bool has_room(int fd, int patience) noexcept {
  const auto now = [] {  // ms
    timespec time{};
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1'000'000;
  };
  const std::int64_t end = now() + patience;
  for (std::int64_t left = patience; left > 0; left = end - now()) {
    pollfd room{fd, POLLOUT, 0};
    const int found = ::poll(&room, 1, static_cast<int>(left));
    if (found >= 0 || errno != EINTR) return found > 0;
  }
  return false;
}

// Writes all of `text`. False, with errno set: a part of it at most. One write(2) for anything but
// a full disk, a pipe or a signal. EPIPE for a pipe without a reader, EFBIG
// beyond the limit of a file's size: no signal. EAGAIN for a non-blocking pipe, terminal or socket
// whose reader has made no room for `patience` milliseconds.
inline bool write_all(int fd, std::string_view text, int patience = kPatience) noexcept {
  const WithoutWriteSignals guard;
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN) {
      if (has_room(fd, patience)) continue;
      errno = EAGAIN;
    }
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace verity::util

#endif
