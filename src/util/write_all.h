// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_UTIL_WRITE_ALL_H
#define VERITY_UTIL_WRITE_ALL_H

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include <string_view>

#include "util/without_write_signals.h"

namespace verity::util {

// Writes all of `text`. False, with errno set: a part of it at most. One write(2) for anything but
// a full disk, a pipe or a signal. EPIPE for a pipe without a reader, EFBIG
// beyond the limit of a file's size: no signal. EAGAIN for a non-blocking pipe, terminal or socket
// whose reader has made no room for two seconds.
inline bool write_all(int fd, std::string_view text) noexcept {
  constexpr int kPatience = 2000;  // ms
  const WithoutWriteSignals guard;
  const auto has_room = [fd] {
    pollfd room{fd, POLLOUT, 0};
    return ::poll(&room, 1, kPatience) > 0;
  };
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EAGAIN && has_room()) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace verity::util

#endif
