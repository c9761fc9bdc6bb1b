// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_UTIL_BEYOND_STREAMS_H
#define VERITY_UTIL_BEYOND_STREAMS_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

namespace verity::util {

// Programs may run without the standard streams (cmd >&- 2>&-): what they print all the same goes
// to whatever file has such a number. Returns another descriptor of the file in place of one of
// those, or -1 and errno. Before the process has locks on the file: it loses them here.
[[nodiscard]] inline int beyond_streams(int fd) noexcept {
  if (fd < 0 || fd > STDERR_FILENO) return fd;
  const int other = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  ::close(fd);
  errno = error;
  return other;
}

}  // namespace verity::util

#endif
