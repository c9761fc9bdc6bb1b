// SPDX-License-Identifier: BSD-3-Clause
// Opens, closes, fails and removes links: whatever moves the state machine of a connection
// (state/connection.h) happens here.
#ifndef VERITY_LINK_LIFECYCLE_H
#define VERITY_LINK_LIFECYCLE_H

#include "link/port/faults.h"
#include "link/sender.h"
#include "link/state/link_table.h"

namespace verity::link {

class Lifecycle {
 public:
  Lifecycle(const Interface& iface, LinkTable& links, ControlQueue& control, Sender& sender,
            Faults& faults) noexcept
      : iface_(iface), links_(links), control_(control), sender_(sender), faults_(faults) {}

  // Enters a link to the interface `peer_uid` into the table. Throws std::bad_alloc, also when the
  // table is full. The object stays the caller's.
  void open(Link& link, uint64_t peer_uid, uint8_t path, Mode peer_mode);
  // For connect-to-endpoint transports, whose addresses contain all that a HELLO does: gives the
  // link its id, before the peer is known, and then the peer's. find(uid, path) does not know such
  // links. enter() may throw std::bad_alloc.
  void enter(Link& link);
  void connect(Link& link, uint64_t peer_uid, uint32_t remote_id, Mode peer_mode) noexcept;
  // The peer used the id that we gave it.
  static void identified(Link& link) noexcept { link.connection.on(Event::kIdentified); }

  // Our interface or endpoint goes: a BYE is sent, on every link or on one.
  void close_all() noexcept;
  void close(Link& link) noexcept;
  // The peer's BYE came.
  void peer_closed(Link& link) noexcept;
  // Gives the link up: drops what it holds and notifies the port, once.
  void fail(Link& link, Failure why) noexcept;
  // The lower transport reported an error: drops what the link holds without notifying the port.
  void lower_failed(Link& link) noexcept;
  // The same, and takes the link out of the table.
  void remove(Link& link) noexcept;

 private:
  void set_peer(Link& link, uint64_t peer_uid, Mode peer_mode) noexcept;

  const Interface& iface_;
  LinkTable& links_;
  ControlQueue& control_;
  Sender& sender_;
  Faults& faults_;
};

}  // namespace verity::link

#endif
