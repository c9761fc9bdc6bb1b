// SPDX-License-Identifier: BSD-3-Clause
//
// What an interface is opened with, what it cannot have, and a program that ends meanwhile.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "../window.h"

namespace verity::test {

namespace {

Bytes address_of(Iface& iface) {
  Bytes address(iface.attr().iface_addr_len + 1);
  check(uct_iface_get_address(iface.handle(), reinterpret_cast<uct_iface_addr_t*>(address.data())),
        "uct_iface_get_address");
  return address;
}

// Another part of the program opens a memory domain in another mode: that is for what it opens. The
// address names the mode.
void settings_kept(Side& side) {
  if (side.options.transport.front() != 'v') throw Skip("only the wrapper has modes");
  Iface reader(reading_beside(side));
  need(reader, UCT_IFACE_FLAG_GET_ZCOPY, side);
  const Bytes before = address_of(reader);
  setenv("UCX_VERITY_MODE", in_mode_off() ? "observe" : "off", 1);
  { Iface other(side.options); }
  unsetenv("UCX_VERITY_MODE");
  require(address_of(reader) == before, "another interface's mode became this one's");
  { Iface last(side.options); }  // the mode of what is opened hereafter
}

// The lowest limit with which one more descriptor can be had, for the lifetime.
class OneDescriptor {
 public:
  OneDescriptor() {
    const int next = dup(0);
    close(next);
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit low{static_cast<rlim_t>(next) + 1, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &low);
  }
  ~OneDescriptor() { setrlimit(RLIMIT_NOFILE, &before_); }
  OneDescriptor(const OneDescriptor&) = delete;
  OneDescriptor& operator=(const OneDescriptor&) = delete;

 private:
  rlimit before_{};
};

unsigned watched_by(int epoll_fd) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(epoll_fd));
  unsigned count = 0;
  for (std::string line; std::getline(info, line);) count += line.starts_with("tfd:");
  return count;
}

// The event descriptor is a set, for which two descriptors are needed. Without them it is refused,
// and made when there are some.
void no_descriptors(Side& side) {
  if (side.options.transport.front() != 'v' || in_mode_off())
    throw Skip("only the wrapper makes a set, and not in mode off");
  Iface iface(side.options);
  if ((iface.attr().cap.event_flags & UCT_IFACE_FLAG_EVENT_FD) == 0)
    throw Skip("no event descriptor");
  int fd = -1;
  {
    const OneDescriptor low;
    require(uct_iface_event_fd_get(iface.handle(), &fd) != UCS_OK,
            "an event descriptor without descriptors");
  }
  check(uct_iface_event_fd_get(iface.handle(), &fd), "uct_iface_event_fd_get");
  require(watched_by(fd) == 2, "the event descriptor watches " + std::to_string(watched_by(fd)) +
                                   " others, not the transport's and a timer");
}

// A line on stderr waits until the alarm, whose handler ends the process.
[[noreturn]] void end_in_a_line(Side& side) {
  static int usual = -1;
  const std::string& transport = side.options.transport;
  setenv("UCX_TLS", (transport + "," + transport.substr(1)).c_str(), 1);  // a raw lane: warns of it
  int ends[2];
  if ((usual = dup(STDERR_FILENO)) < 0 || pipe(ends) != 0) std::_Exit(2);
  (void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
  while (write(ends[1], "x", 1) == 1) {}
  (void)fcntl(ends[1], F_SETFL, 0);
  (void)dup2(ends[1], STDERR_FILENO);
  signal(SIGALRM, [](int) {
    (void)dup2(usual, STDERR_FILENO);
    std::exit(3);
  });
  alarm(1);
  Iface iface(side.options);
  std::_Exit(2);  // it did not warn
}

// Ends the process while the plugin is at work on what belongs to the process.
void exit_in_a_handler(Side& side) {
  constexpr double kLongest = 20;  // s
  if (side.options.transport.front() != 'v') throw Skip("only the wrapper warns");
  const char* transparent = std::getenv("UCX_VERITY_TRANSPARENT");
  const char* attest = std::getenv("UCX_VERITY_ATTEST");
  if (transparent != nullptr || (attest != nullptr && attest == std::string_view("never")))
    throw Skip("no warning of raw lanes");
  const pid_t child = fork();
  if (child == 0) end_in_a_line(side);
  int status = 0;
  const double until = seconds_now() + kLongest;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (seconds_now() > until) {
      kill(child, SIGKILL);
      (void)::waitpid(child, &status, 0);
      throw Failure("the process did not end");
    }
    usleep(10'000);
  }
  require(WIFEXITED(status) && WEXITSTATUS(status) == 3, "the process did not end in its handler");
}

constexpr Case kCases[] = {
    {"an interface keeps the settings that it was opened with", settings_kept},
    {"sleeping without descriptors", no_descriptors},
    {"exit() in a signal's handler while the plugin writes a line", exit_in_a_handler},
};

}  // namespace

std::span<const Case> setup_cases() { return kCases; }

}  // namespace verity::test
