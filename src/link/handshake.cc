// SPDX-License-Identifier: BSD-3-Clause
#include "link/handshake.h"

#include <algorithm>

namespace verity::link {

namespace {

// Closed interfaces whose late answers are recognised.
constexpr size_t kMostClosed = 64;

bool is_older(uint32_t epoch, uint32_t than) noexcept {
  return static_cast<int32_t>(epoch - than) < 0;
}

}  // namespace

// The HELLO names the sender's incarnation (epoch), the header's link id which link of ours it is
// for:
//
//   link id          incarnation     what is done
//   any              known           accepted
//   any              older           dropped: it is over
//   any              newer           our link restarts
//   ours             first received  accepted
//   unknown          first received  accepted, unless we had a link to that peer before
//   another of ours  first received  dropped: meant for a removed link
//
// The last two: a frame of the peer's previous incarnation may still be on its way. An answer with
// our new id makes the peer prove itself, or restart.
Link* Handshake::on_hello(const wire::FrameView& view) noexcept {
  const wire::HelloView hello = wire::read_hello(view);
  const uint32_t epoch = hello.ext.epoch;
  if (hello.ext.mode > static_cast<uint8_t>(Mode::kVerify) || epoch == 0) return nullptr;
  Link* link = links_.find(hello.ext.uid, hello.ext.path);
  const bool restarts = link != nullptr && link->peer_epoch != 0 && link->peer_epoch != epoch;
  if (restarts) {
    if (is_older(epoch, link->peer_epoch)) return nullptr;
    lifecycle_.fail(*link, Failure::kRestarted);
    link = nullptr;
  }
  if (link == nullptr && !links_.has_closed(hello.ext.uid, hello.ext.path))
    link = iface_.port.new_peer(hello);
  if (link == nullptr || link->failed()) return link;
  const bool names_us = view.header.link == link->local_id;
  if (link->peer_epoch != epoch) {
    if (link->hello_epoch != 0 && is_older(epoch, link->hello_epoch)) return nullptr;
    take_hello(*link, hello);
    // In mode observe the peer keeps nothing that it could send again after an answer.
    const bool is_first = view.header.link == wire::kLinkUnknown &&
                          (!link->reconnected || link->mode() == Mode::kObserve);
    if (!names_us && !restarts && !is_first) {
      control_.schedule_ack(link->control, view.header.frame_class(), true);
      return nullptr;
    }
    link->peer_epoch = epoch;
    // The peer has no data of its own: maybe what we sent before was dropped, as it could not know
    // us.
    const bool probes = view.header.frame_kind() == wire::FrameKind::kAck;
    for (unsigned c = 0; probes && c < wire::kClasses; ++c) {
      if (link->tx[c].in_flight())
        control_.schedule(link->control, Control::kProbe, static_cast<wire::Class>(c));
    }
  }
  if (names_us && link->carries_hello()) Lifecycle::identified(*link);
  return link;
}

void Handshake::on_known_id(Link& link) noexcept {
  if (!link.carries_hello()) return;
  if (link.peer_epoch == 0) link.peer_epoch = link.hello_epoch;
  Lifecycle::identified(link);
}

void Handshake::take_hello(Link& link, const wire::HelloView& hello) noexcept {
  link.hello_epoch = hello.ext.epoch;
  link.remote_id = hello.ext.link;
  iface_.port.hello_received(link, hello);
  link.connection.set_mode(std::min(link.mode(), static_cast<Mode>(hello.ext.mode)));
}

bool Handshake::is_for_closed(const wire::FrameView& view, wire::Class c, const void* data,
                              size_t size) const noexcept {
  uint64_t closed[kMostClosed];
  const uint64_t source = wire::read_hello(view).ext.uid;
  const size_t count = iface_.port.closed_interfaces(closed);
  return std::any_of(closed, closed + count, [&](uint64_t target) {
    const wire::Verdict verdict = wire::check(data, size, view, wire::nonce(source, target, c));
    return verdict == wire::Verdict::kGood && view.header.frame_class() == c;
  });
}

}  // namespace verity::link
