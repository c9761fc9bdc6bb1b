// SPDX-License-Identifier: BSD-3-Clause
//
// A terminal that is drawn anew again and again, with plain ANSI sequences, and answers to single
// keys. As it was at the end.
#ifndef VERITY_TOOLS_HEALTH_TERMINAL_H
#define VERITY_TOOLS_HEALTH_TERMINAL_H

#include <termios.h>
#include <csignal>
#include <string>
#include <vector>

namespace verity::tools {

class Terminal {
 public:
  // Takes over the terminal at stdin and stdout.
  Terminal();
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  // Both are terminals.
  [[nodiscard]] static bool is_there() noexcept;
  [[nodiscard]] std::size_t lines() const noexcept;
  // Draws the lines from the top, cut to the window.
  void draw(const std::vector<std::string>& lines) const;
  // A key, within `seconds`; 0: none, or the window is another one; -1: the terminal is closed, or
  // a signal wants the end. Who stops the process (^Z) gets the terminal as it was meanwhile.
  [[nodiscard]] int key(double seconds);

 private:
  void enter();
  void leave() const;
  void stop();

  termios before_{};
  sigset_t outside_{};  // signals that are blocked but in key(), where they are waited for
};

}  // namespace verity::tools

#endif
