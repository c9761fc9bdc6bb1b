// SPDX-License-Identifier: BSD-3-Clause
#include "tools/health/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>

namespace verity::tools {

namespace {

volatile std::sig_atomic_t ended = 0;
volatile std::sig_atomic_t stopped = 0;

void on_signal(int signal) {
  if (signal == SIGTSTP) {
    stopped = 1;
  } else if (signal != SIGWINCH) {
    ended = 1;
  }
}

winsize window() noexcept {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
    size = {24, 80, 0, 0};
  return size;
}

void put(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace

bool Terminal::is_there() noexcept {
  return isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
}

Terminal::Terminal() {
  tcgetattr(STDIN_FILENO, &before_);
  sigset_t ours;
  sigemptyset(&ours);
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP}) {
    sigaddset(&ours, signal);
    sigaction(signal, &action, nullptr);
  }
  pthread_sigmask(SIG_BLOCK, &ours, &outside_);
  enter();
}

Terminal::~Terminal() {
  leave();
  pthread_sigmask(SIG_SETMASK, &outside_, nullptr);
}

void Terminal::enter() {
  termios raw = before_;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  put("\x1b[?1049h\x1b[?25l");  // the alternate screen, no cursor
}

void Terminal::leave() const {
  put("\x1b[?25h\x1b[?1049l");
  tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void Terminal::stop() {
  stopped = 0;
  leave();
  raise(SIGSTOP);
  enter();
}

std::size_t Terminal::lines() const noexcept { return window().ws_row; }

void Terminal::draw(const std::vector<std::string>& lines) const {
  const winsize size = window();
  std::string text = "\x1b[H";
  const std::size_t count = std::min<std::size_t>(lines.size(), size.ws_row);
  for (std::size_t i = 0; i < count; ++i)
    text += (i == 0 ? "" : "\r\n") + lines[i].substr(0, size.ws_col) + "\x1b[K";
  put(text + "\x1b[J");
}

int Terminal::key(double seconds) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  const auto whole = static_cast<time_t>(seconds);
  const timespec limit{whole, static_cast<long>((seconds - static_cast<double>(whole)) * 1e9)};
  const int ready = ppoll(&input, 1, &limit, &outside_);
  if (ended != 0) return -1;
  if (stopped != 0) stop();
  if (ready <= 0) return 0;
  char c = 0;
  return read(STDIN_FILENO, &c, 1) == 1 ? static_cast<unsigned char>(c) : -1;
}

}  // namespace verity::tools
