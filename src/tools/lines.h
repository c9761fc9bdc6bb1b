// SPDX-License-Identifier: BSD-3-Clause
//
// Lines of text between two processes: launchers forward whole lines, and may keep what is none.
#ifndef VERITY_TOOLS_LINES_H
#define VERITY_TOOLS_LINES_H

#include <optional>
#include <string>

namespace verity::tools {

// Writes `line` and a newline. An error is noticed by who reads.
void write_line(int fd, const std::string& line);

// For a process that answers on its standard output: returns a descriptor of its own for that, and
// makes the standard output that of errors, as UCX logs there.
[[nodiscard]] int take_stdout();

class LineReader {
 public:
  explicit LineReader(int fd) : fd_(fd) {}

  [[nodiscard]] bool has_line() const { return text_.find('\n') != std::string::npos; }
  // Whether read_line() would return at once; reads what is there.
  [[nodiscard]] bool ready();
  // Waits for one. Nothing when the other end is closed, or silent for longer than its descriptor
  // waits.
  [[nodiscard]] std::optional<std::string> read_line();

 private:
  bool fill();

  int fd_;
  bool closed_ = false;
  std::string text_;
};

}  // namespace verity::tools

#endif
