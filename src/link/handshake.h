// SPDX-License-Identifier: BSD-3-Clause
// The handshake: a HELLO identifies us to the peer, and names the id that we gave the link. Frames
// carry one until the peer used that id.
#ifndef VERITY_LINK_HANDSHAKE_H
#define VERITY_LINK_HANDSHAKE_H

#include "link/lifecycle.h"

namespace verity::link {

class Handshake {
 public:
  Handshake(const Interface& iface, LinkTable& links, ControlQueue& control,
            Lifecycle& lifecycle) noexcept
      : iface_(iface), links_(links), control_(control), lifecycle_(lifecycle) {}

  // An undamaged frame with a HELLO came: returns its link, which may be new; nullptr: the frame is
  // to be dropped.
  Link* on_hello(const wire::FrameView& view) noexcept;
  // An undamaged frame without one came: the peer has our id, so it is the one that was answered
  // last.
  static void on_known_id(Link& link) noexcept;
  // Whether an undamaged frame with a HELLO is an answer to an interface of this process that has
  // closed. Its address may be this one's now: a peer that computed meanwhile connects to it only
  // when it answers, and posix, for instance, addresses a file descriptor of the process.
  [[nodiscard]] bool is_for_closed(const wire::FrameView& view, wire::Class c, const void* data,
                                   size_t size) const noexcept;

 private:
  void take_hello(Link& link, const wire::HelloView& hello) noexcept;

  const Interface& iface_;
  LinkTable& links_;
  ControlQueue& control_;
  Lifecycle& lifecycle_;
};

}  // namespace verity::link

#endif
