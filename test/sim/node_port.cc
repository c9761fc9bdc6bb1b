// SPDX-License-Identifier: BSD-3-Clause
// What the links of a simulated interface call: its port to the wire and to the application.
#include <algorithm>

#include "sim/node.h"
#include "sim/world.h"

namespace verity::sim {

namespace {

std::vector<uint8_t> gather(util::Pieces pieces) {
  std::vector<uint8_t> bytes(util::total_length(pieces));
  util::copy_out(pieces, 0, bytes.data(), bytes.size());
  return bytes;
}

}  // namespace

link::Sent Node::send(link::Link& link, wire::Class c, util::Pieces frame) noexcept {
  const unsigned to = index_of(link);
  if (to == ~0u) {
    world_.error("a frame of a link that does not exist");
    return link::Sent::kFailed;
  }
  if (util::total_length(frame) > hub_->config().max_send) world_.error("a frame above max_send");
  const link::Sent sent = world_.transmit(index_, to, c, gather(frame), nullptr);
  if (sent == link::Sent::kBusy) peer(to).waits_for_lower = true;
  return sent;
}

link::Sent Node::send_compact(link::Link& link, util::Piece frame) noexcept {
  const unsigned to = index_of(link);
  if (to == ~0u) {
    world_.error("a compact frame of a link that does not exist");
    return link::Sent::kFailed;
  }
  const link::Sent sent =
      world_.transmit(index_, to, wire::Class::kSync, gather({&frame, 1}), nullptr, true);
  if (sent == link::Sent::kBusy) peer(to).waits_for_lower = true;
  return sent;
}

// The lower transport reads one half at once, the other when the frame leaves: what lies between
// may change.
link::Sent Node::send_source(link::Link& link, wire::Class c, link::Slot& slot) noexcept {
  const unsigned to = index_of(link);
  if (world_.channel(index_, to).busy(world_.now())) {
    peer(to).waits_for_lower = true;
    return link::Sent::kBusy;
  }
  std::vector<util::Piece> pieces{{slot.header(), sizeof(wire::FrameHeader)}};
  for (uint32_t i = 0; i < slot.source->count; ++i) pieces.push_back(slot.source->pieces[i]);
  const std::vector<uint8_t> hello(
      static_cast<const uint8_t*>(slot.source->hello.data),
      static_cast<const uint8_t*>(slot.source->hello.data) + slot.source->hello.length);
  std::vector<uint8_t> bytes = gather(pieces);
  Buffer* b = buffer_of(slot);
  const size_t length = slot.header()->length;
  bytes.insert(bytes.end(), hello.begin(), hello.end());
  slot.source->sending = true;
  auto finish = [this, b, length, &link, &slot](Packet& packet) {
    const size_t half = length / 2;
    std::copy(b->bytes.begin() + static_cast<ptrdiff_t>(half),
              b->bytes.begin() + static_cast<ptrdiff_t>(length),
              packet.bytes.begin() + static_cast<ptrdiff_t>(sizeof(wire::FrameHeader) + half));
    if (b->completed || b->frees != 0)
      world_.error("a buffer was freed while the lower transport read it");
    hub_->zero_copy.source_sent(link, slot);
  };
  return world_.transmit(index_, to, c, std::move(bytes), finish);
}

void Node::deliver(link::Link& link, wire::Class, uint8_t am_id, const void* payload,
                   size_t length) noexcept {
  on_message(index_of(link), am_id, payload, length);
}

void Node::source_free(link::Link&, link::Slot& slot) noexcept {
  Buffer* b = buffer_of(slot);
  if (++b->frees != 1) return world_.error("source_free called twice");
  freed_.push_back(b);
}

bool Node::wait_for_room(link::Link& link) noexcept {
  const unsigned to = index_of(link);
  if (to == ~0u) return false;
  return peer(to).waits_for_lower = true;
}

void Node::writable(link::Link& link) noexcept {
  const unsigned to = index_of(link);
  if (to == ~0u) return world_.error("writable on a link that does not exist");
  for (Stream& s : peer(to).out) s.writable = true;
}

void Node::failed(link::Link& link, link::Failure why) noexcept {
  const unsigned to = index_of(link);
  if (to == ~0u) return world_.error("failed on a link that does not exist");
  if (++peer(to).failures != 1) world_.error("failed called twice");
  peer(to).why = why;
}

void Node::peer_closed(link::Link& link) noexcept {
  const unsigned to = index_of(link);
  if (to == ~0u) return world_.error("peer_closed on a link that does not exist");
  if (++peer(to).closed != 1) world_.error("peer_closed called twice");
}

link::Link* Node::new_peer(const wire::HelloView& hello) noexcept {
  const unsigned from = world_.node_of_uid(hello.ext.uid);
  if (from == ~0u || peer(from).open) return nullptr;
  connect_to(from);
  return &peer(from).link;
}

void Node::write_addresses(wire::HelloExt& ext, uint8_t* out) noexcept {
  ext.device_length = static_cast<uint8_t>(index_ % 64);
  ext.iface_length = static_cast<uint8_t>(1 + index_ * 7 % 100);
  for (unsigned i = 0; i < unsigned{ext.device_length} + ext.iface_length; ++i)
    out[i] = static_cast<uint8_t>(index_ + i);
}

}  // namespace verity::sim
