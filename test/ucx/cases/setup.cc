// SPDX-License-Identifier: BSD-3-Clause
//
// What an interface is opened with, and what it cannot have.
#include <sys/resource.h>
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

constexpr Case kCases[] = {
    {"an interface keeps the settings that it was opened with", settings_kept},
    {"sleeping without descriptors", no_descriptors},
};

}  // namespace

std::span<const Case> setup_cases() { return kCases; }

}  // namespace verity::test
