// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_UTIL_WRITE_ALL_H
#define VERITY_UTIL_WRITE_ALL_H

#include <errno.h>
#include <unistd.h>

#include <string_view>

#include "util/without_write_signals.h"

namespace verity::util {

// Writes all of `text`. False, with errno set: a part of it at most. One write(2) for anything but
// a full disk, a pipe or a signal. EPIPE for a pipe without a reader, EFBIG
// beyond the limit of a file's size: no signal.
inline bool write_all(int fd, std::string_view text) noexcept {
  const WithoutWriteSignals guard;
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace verity::util

#endif
