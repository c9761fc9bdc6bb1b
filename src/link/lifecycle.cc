// SPDX-License-Identifier: BSD-3-Clause
#include "link/lifecycle.h"

#include <algorithm>

namespace verity::link {

void Lifecycle::open(Link& link, uint64_t peer_uid, uint8_t path, Mode peer_mode) {
  if (link.counters == nullptr) link.counters = &iface_.counters;
  links_.enter(link, peer_uid, path);
  link.counters->links_opened++;
  set_peer(link, peer_uid, peer_mode);
}

void Lifecycle::enter(Link& link) {
  if (link.counters == nullptr) link.counters = &iface_.counters;
  links_.enter(link);
  link.counters->links_opened++;
}

void Lifecycle::connect(Link& link, uint64_t peer_uid, uint32_t remote_id,
                        Mode peer_mode) noexcept {
  set_peer(link, peer_uid, peer_mode);
  link.remote_id = remote_id;
  identified(link);
}

void Lifecycle::set_peer(Link& link, uint64_t peer_uid, Mode peer_mode) noexcept {
  link.peer_uid = peer_uid;
  link.connection.set_mode(std::min(iface_.config.mode, peer_mode));
  for (unsigned c = 0; c < wire::kClasses; ++c) {
    link.tx[c].set_nonce(wire::nonce(iface_.uid, peer_uid, static_cast<wire::Class>(c)));
    link.rx[c].set_nonce(wire::nonce(peer_uid, iface_.uid, static_cast<wire::Class>(c)));
  }
}

void Lifecycle::close_all() noexcept {
  for (Link* link : links_.all()) {
    if (link != nullptr) close(*link);
  }
}

void Lifecycle::close(Link& link) noexcept {
  if (!link.is_alive() || link.mode() == Mode::kOff || link.never_connected()) return;
  link.connection.on(Event::kClose);
  control_.schedule_close(link.control);
}

void Lifecycle::peer_closed(Link& link) noexcept {
  if (link.peer_closed()) return;
  link.connection.on(Event::kPeerClosed);
  links_.remember_closed(link);
  iface_.port.peer_closed(link);
  sender_.complete_all(link);
  ControlQueue::cancel_frames(link.control);
}

void Lifecycle::fail(Link& link, Failure why) noexcept {
  if (link.failed()) return;
  lower_failed(link);
  link.counters->links_failed++;
  iface_.port.failed(link, why);
}

void Lifecycle::lower_failed(Link& link) noexcept {
  if (!link.peer_closed())
    links_.remember_peer(link);  // an interface that closed does not come back
  faults_.link_ends(link);
  link.connection.on(Event::kFail);
  ControlQueue::cancel(link.control);
  RetransmitTimer::stop(link);
  for (ReceiveWindow& rx : link.rx) {
    while (QueuedFrame* frame = rx.queue().remove_first()) faults_.discard(frame);
  }
  sender_.complete_all(link);
}

void Lifecycle::remove(Link& link) noexcept {
  lower_failed(link);
  links_.remove(link);
}

}  // namespace verity::link
