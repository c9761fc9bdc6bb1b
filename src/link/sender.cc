// SPDX-License-Identifier: BSD-3-Clause
// The sending side beyond the fast path: frames with a HELLO, of several segments, or of zero-copy
// sends; acknowledgements.
#include "link/sender.h"

#include <algorithm>

namespace verity::link {

namespace {

WindowLimits limits_of(const Config& config) noexcept {
  return {config.window_frames, config.window_bytes, std::max(1u, config.window_frames / 4),
          std::max(1u, config.window_bytes / 4)};
}

uint32_t compact_limit(const Config& config) noexcept {
  const uint32_t segment = 1u << config.segment_log2;
  return config.segment_log2 < wire::kMaxSegmentLog2 ? segment + segment / 8 : segment;
}

}  // namespace

Sender::Sender(const Config& config, const Interface& iface, ControlQueue& control,
               ZeroCopy& zero_copy, RetransmitTimer& timer) noexcept
    : iface_(iface),
      control_(control),
      zero_copy_(zero_copy),
      timer_(timer),
      writer_(iface),
      limits_(limits_of(config)),
      segment_size_(1u << config.segment_log2),
      compact_limit_(compact_limit(config)),
      segment_byte_(wire::segment_byte(config.segment_log2)),
      may_compact_(config.compact),
      pool_(config.max_frame, config.pool_limit, config.max_large) {}

Slot* Sender::reserve_slow(Link& link, SendWindow& tx, size_t length) noexcept {
  const size_t size = stored_size(link, length);
  pool_.refill();
  if (Slot* slot = pool_.take(size); slot != nullptr) return slot;
  // The pool is at its limit. A link with nothing in flight has no acknowledgement to wait for: it
  // gets its reserve of one.
  if (!tx.in_flight()) return Pool::take_reserve(size);
  tx.block();
  return nullptr;
}

void Sender::withhold_ack(Link& link) noexcept {
  WithheldAck& withheld = link.withheld;
  (void)link.proven_ack(wire::Class::kSync);  // ends one that is acknowledged
  if (!withheld.on) withheld.ack = link.receive_window(wire::Class::kSync).expected() - 1;
  withheld.on = true;
  withheld.sent = false;
  link.send_window(wire::Class::kSync).block();
}

Slot* Sender::reserve_beyond(Link& link, size_t length) noexcept {
  constexpr uint32_t kBeyond = 64;  // frames
  SendWindow& tx = link.send_window(wire::Class::kSync);
  const uint32_t most = limits_.frames + kBeyond;
  const bool has_room = tx.frames() < (may_compact_ ? std::min(most, wire::kCompactWindow) : most);
  // Without a lower endpoint it waits for one, ahead of the data frames that will acknowledge.
  const bool is_known = !link.no_lower_endpoint || link.remote_id != wire::kLinkUnknown;
  if (!has_room || !link.is_alive() || !is_known) return nullptr;
  const size_t size = stored_size(link, length);
  Slot* slot = pool_.take(size);
  if (slot == nullptr) slot = Pool::take_reserve(size);
  if (slot == nullptr) return nullptr;
  link.withheld.until = tx.next_psn() + 1;
  link.withheld.sent = true;
  unblock(link, tx);
  return slot;
}

void Sender::commit_slow(Link& link, wire::Class c, Slot* slot, uint32_t length) noexcept {
  SendWindow& tx = link.send_window(c);
  wire::FrameHeader* header = slot->header();
  if (link.mode() == Mode::kObserve) header->flags = wire::kObserve;
  if (link.carries_hello()) {
    header->flags |= wire::kHello;
    auto* out = slot->source != nullptr ? reinterpret_cast<uint8_t*>(slot->source + 1)
                                        : slot->payload() + length;
    const size_t size = writer_.write_hello(link, c, out);
    if (slot->source != nullptr) slot->source->hello = {out, size};
    tx.resize(*slot, slot->size + static_cast<uint32_t>(size));
  }
  if (length > segment_size_) header->flags |= wire::kTree;
  seal_stored(*slot, tx.nonce());
  append(link, c, slot, length);
}

void Sender::commit_source(Link& link, wire::Class c, Slot* slot, uint8_t am_id) noexcept {
  const auto length =
      static_cast<uint32_t>(util::total_length({slot->source->pieces, slot->source->count}));
  prepare(link, c, slot, length, am_id);
  commit_slow(link, c, slot, length);
  zero_copy_.committed(link, *slot, control_.polls());
}

size_t Sender::commit_gathered(Link& link, wire::Class c, Slot* slot, uint8_t am_id,
                               void* frame) noexcept {
  const util::Pieces payload(slot->source->pieces, slot->source->count);
  const auto length = static_cast<uint32_t>(util::total_length(payload));
  auto* out = static_cast<uint8_t*>(frame) + sizeof(wire::FrameHeader);
  prepare(link, c, slot, length, am_id);
  if (link.is_fast() && length > segment_size_) [[likely]] {
    slot->header()->flags |= wire::kTree;
    wire::seal_tree(slot->header(), payload, link.send_window(c).nonce());
    append(link, c, slot, length);
  } else {
    commit_slow(link, c, slot, length);
    const util::Piece& hello = slot->source->hello;
    if (hello.length != 0) std::memcpy(out + length, hello.data, hello.length);
  }
  // Two passes: the buffer's lines are in the receiver's cache, and a pass that also hashes stores
  // into them at half the speed of a plain copy, a third where the CPUs share no cache
  // (test/bench/shared_ring).
  (void)util::copy_out(payload, 0, out, length);
  std::memcpy(frame, slot->header(), sizeof(wire::FrameHeader));
  zero_copy_.committed(link, *slot, control_.polls());
  return slot->size;
}

void Sender::uncommit(Link& link, wire::Class c, Slot* slot, Slot* before,
                      uint32_t length) noexcept {
  const bool requested = slot->compact ? (slot->key() >> 56 & wire::kCompactAckRequest) != 0
                                       : (slot->header()->flags & wire::kAckRequest) != 0;
  link.send_window(c).undo(*slot, before, requested, limits_);
  link.counters->frames_sent--;
  link.counters->bytes_sent -= length;
  control_.schedule_ack(link.control, c, false);  // it may have carried one
  pool_.give(slot);
}

void Sender::lower_ready(Link& link) noexcept {
  link.no_lower_endpoint = false;
  for (SendWindow& tx : link.tx) unblock(link, tx);
}

void Sender::unblock(Link& link, SendWindow& tx) noexcept {
  const bool withholds =
      link.withheld.on && !link.withheld.sent && &tx == &link.send_window(wire::Class::kSync);
  if (link.is_alive() && !link.no_lower_endpoint && !withholds && tx.unblock(limits_))
    iface_.port.writable(link);
}

void Sender::request_ack(Link& link) noexcept {
  for (unsigned c = 0; c < wire::kClasses; ++c) {
    if (link.tx[c].request_ack())
      control_.schedule(link.control, Control::kProbe, static_cast<wire::Class>(c));
  }
}

[[gnu::hot]] void Sender::on_ack(Link& link, wire::Class c, uint32_t ack) noexcept {
  SendWindow& tx = link.send_window(c);
  const bool plausible = tx.acknowledge(ack, [&](Slot* slot) {
    slot->source == nullptr ? pool_.give(slot) : zero_copy_.acknowledged(link, slot);
  });
  if (!plausible) return;
  if (tx.in_flight()) timer_.probe_soon(link);
  if (tx.blocked()) unblock(link, tx);
}

void Sender::complete_all(Link& link) noexcept {
  for (SendWindow& tx : link.tx) {
    tx.complete_all([&](Slot* slot) {
      slot->source == nullptr ? pool_.give(slot) : zero_copy_.acknowledged(link, slot);
    });
  }
}

}  // namespace verity::link
