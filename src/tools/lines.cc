// SPDX-License-Identifier: BSD-3-Clause
#include "tools/lines.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace verity::tools {

void write_line(int fd, const std::string& line) {
  const std::string text = line + "\n";
  for (std::size_t done = 0; done < text.size();) {
    // Without a signal where that can be.
    ssize_t count = ::send(fd, text.data() + done, text.size() - done, MSG_NOSIGNAL);
    if (count < 0 && errno == ENOTSOCK) count = ::write(fd, text.data() + done, text.size() - done);
    if (count <= 0) return;
    done += static_cast<std::size_t>(count);
  }
}

int take_stdout() {
  const int own = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  (void)dup2(STDERR_FILENO, STDOUT_FILENO);
  return own;
}

bool LineReader::fill() {
  std::array<char, 4096> chunk;
  const ssize_t count = ::read(fd_, chunk.data(), chunk.size());
  closed_ = count <= 0;
  if (!closed_) text_.append(chunk.data(), static_cast<std::size_t>(count));
  return !closed_;
}

bool LineReader::ready() {
  pollfd input = {fd_, POLLIN, 0};
  while (!has_line() && !closed_ && poll(&input, 1, 0) > 0) (void)fill();
  return has_line() || closed_;
}

std::optional<std::string> LineReader::read_line() {
  while (!has_line()) {
    if (!fill()) return std::nullopt;
  }
  const std::size_t end = text_.find('\n');
  std::string line = text_.substr(0, end);
  text_.erase(0, end + 1);
  return line;
}

}  // namespace verity::tools
