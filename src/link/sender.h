// SPDX-License-Identifier: BSD-3-Clause
// Sending: a slot is reserved, filled, committed (it gets its psn, and is kept from now on) and
// sealed; its frame then goes to the lower transport. The fault-free path is inline and neither
// allocates, locks nor calls the system.
#ifndef VERITY_LINK_SENDER_H
#define VERITY_LINK_SENDER_H

#include <algorithm>

#include "link/port/frame_writer.h"
#include "link/retransmit_timer.h"
#include "link/sealing.h"
#include "link/zero_copy.h"
#include "wire/codec.h"
#include "wire/compact.h"

namespace verity::link {

class Sender {
 public:
  // `config` is that of `iface`, which need not be constructed yet.
  Sender(const Config& config, const Interface& iface, ControlQueue& control, ZeroCopy& zero_copy,
         RetransmitTimer& timer) noexcept;

  [[nodiscard]] Pool& pool() noexcept { return pool_; }

  // --- reserve and commit ---
  // A slot for a frame whose upper payload is at most `length` bytes, or nullptr: no room now (see
  // Port::writable()).
  [[nodiscard]] Slot* reserve(Link& link, wire::Class c, size_t length) noexcept {
    if (link.must_wait()) [[unlikely]]
      return nullptr;
    return reserve_ahead(link, c, length);
  }
  // The same for a message of the layer above the link itself, ahead of those that are pending:
  // they may be waiting for it.
  [[nodiscard]] Slot* reserve_ahead(Link& link, wire::Class c, size_t length) noexcept {
    SendWindow& tx = link.send_window(c);
    if (tx.blocked()) [[unlikely]]
      return nullptr;
    Slot* slot = pool_.take(stored_size(link, length));
    return slot != nullptr ? slot : reserve_slow(link, tx, length);
  }
  // The same where the window is full, for the few frames of the synchronous class that must be
  // there before the frame just received is acknowledged: see withhold_ack(). Where has_unsent() it
  // goes with those that wait. nullptr: there are too many already, no memory, or no link.
  [[nodiscard]] Slot* reserve_beyond(Link& link, size_t length) noexcept;
  // Control frames do not acknowledge the frame just received, until what is reserved with
  // reserve_beyond(), now or later, is acknowledged. Data frames may once it has its psn, as behind
  // them the peer knows what is missing; none is taken before.
  static void withhold_ack(Link& link) noexcept;
  // A slot for a frame of at most small_payload() bytes on a link that is fast, in the synchronous
  // class; commit_small() then. nullptr: reserve() may have one.
  [[nodiscard]] Slot* reserve_small(Link& link) noexcept {
    SendWindow& tx = link.send_window(wire::Class::kSync);
    if (link.behind_pending || !tx.may_append_small(limits_)) [[unlikely]]
      return nullptr;
    return pool_.take_small();
  }
  // 0: there are no compact frames.
  [[nodiscard]] size_t small_payload() const noexcept {
    constexpr size_t kMost = Pool::kSmallFrame - sizeof(wire::FrameHeader);
    static_assert(wire::kCompactHeader + kMost <= SendWindow::kSmall);
    return may_compact_ ? std::min<size_t>(kMost, compact_limit_) : 0;
  }
  // A slot that was reserved and is not used after all.
  void cancel(Slot* slot) noexcept { pool_.give(slot); }

  // Seals the frame with `length` payload bytes already in the slot, gives it the next psn and
  // keeps it until acknowledged. The caller then hands slot->size bytes at slot->frame() to the
  // lower transport, or calls stalled().
  void commit(Link& link, wire::Class c, Slot* slot, uint32_t length, uint8_t am_id) noexcept {
    if (commit_open(link, c, slot, length, am_id)) seal(link, c, slot);
  }
  // The format that commit() will choose for a payload of this length.
  [[nodiscard]] bool will_be_compact(const Link& link, wire::Class c,
                                     size_t length) const noexcept {
    return link.is_fast() && length <= compact_limit_ && may_compact_ && c == wire::Class::kSync;
  }
  // As commit(), but leaves the sealing to seal(), or to the caller's copy of the frame with
  // seal_copy(), so that the bytes are passed over once. False: sealed already. `compact`: whether
  // the compact format may be used, for a caller that had to choose before it knew the length.
  [[nodiscard, gnu::hot]] bool commit_open(Link& link, wire::Class c, Slot* slot, uint32_t length,
                                           uint8_t am_id, bool compact = true) noexcept {
    const bool may_be_compact = compact && may_compact_ && c == wire::Class::kSync;
    if (!link.is_fast() || length > (may_be_compact ? compact_limit_ : segment_size_))
        [[unlikely]] {
      prepare(link, c, slot, length, am_id);
      commit_slow(link, c, slot, length);
      return false;
    }
    if (may_be_compact) [[likely]] {
      prepare_compact(link, slot, length, am_id);
    } else {
      prepare(link, c, slot, length, am_id);
    }
    append(link, c, slot, length);
    return true;
  }
  // commit() of a frame in a slot of reserve_small().
  [[gnu::always_inline]] void commit_small(Link& link, Slot* slot, uint32_t length,
                                           uint8_t am_id) noexcept {
    SendWindow& tx = link.send_window(wire::Class::kSync);
    tx.append_small(slot, static_cast<uint32_t>(wire::kCompactHeader) + length);
    carry_ack(link, wire::Class::kSync);
    const uint64_t key = write_compact(link, slot, am_id, wire::kCompactKind);
    count(link, length);
    wire::seal_compact_short(slot->payload(), length, tx.nonce(), key);
  }
  // The same for a frame whose payload is slot->source's pieces. It is sealed.
  void commit_source(Link& link, wire::Class c, Slot* slot, uint8_t am_id) noexcept;
  // The same while writing the frame to `frame`: in one pass over the pieces where it needs no
  // HELLO. Returns its size.
  size_t commit_gathered(Link& link, wire::Class c, Slot* slot, uint8_t am_id,
                         void* frame) noexcept;

  // --- what the lower transport made of it ---
  // The frame just committed was handed down. Needed in mode observe only, where nothing is kept.
  void sent(Link& link, wire::Class c) noexcept {
    if (link.mode() == Mode::kObserve) [[unlikely]]
      on_ack(link, c, link.send_window(c).unsent_psn());
  }
  // The frame just committed could not be handed down: it waits for Retransmitter::resume().
  static void stalled(Link& link, wire::Class c, Slot* slot) noexcept {
    link.send_window(c).stall(slot);
  }
  // The newest frame, which the lower transport did not take, was never committed. `before` is what
  // newest() was before.
  void uncommit(Link& link, wire::Class c, Slot* slot, Slot* before, uint32_t length) noexcept;
  [[nodiscard]] static Slot* newest(Link& link, wire::Class c) noexcept {
    return link.send_window(c).newest();
  }

  // --- flow control ---
  // Whether a new frame would be taken.
  [[nodiscard]] static bool can_send(const Link& link, wire::Class c) noexcept {
    return !link.send_window(c).blocked();
  }
  // No new frames are taken until there is a lower endpoint.
  static void lower_missing(Link& link) noexcept {
    link.no_lower_endpoint = true;
    for (SendWindow& tx : link.tx) tx.block();
  }
  // There is one; writable() is called when there is room.
  void lower_ready(Link& link) noexcept;
  // Takes new frames again, if there is room.
  void unblock(Link& link, SendWindow& tx) noexcept;

  // --- acknowledgements ---
  // A probe, sent by the next poll, makes the peer acknowledge at once instead of with traffic of
  // its own. One request at a time: a waiting caller repeats the call. If it is lost, the timer
  // repeats it.
  void request_ack(Link& link) noexcept;
  // A frame came from the peer, be it damaged.
  void received_from(Link& link) noexcept {
    link.timer.received = true;
    timer_.probe_soon(link);
  }
  // The peer has all frames of the class before `ack`.
  void on_ack(Link& link, wire::Class c, uint32_t ack) noexcept;
  // Nothing is kept for the peer any more, and no new frame is taken.
  void complete_all(Link& link) noexcept;

 private:
  [[nodiscard]] size_t stored_size(const Link& link, size_t length) const noexcept {
    return sizeof(wire::FrameHeader) + length + (link.is_fast() ? 0 : iface_.config.hello_size);
  }
  Slot* reserve_slow(Link& link, SendWindow& tx, size_t length) noexcept;
  void commit_slow(Link& link, wire::Class c, Slot* slot, uint32_t length) noexcept;

  // Numbers the frame; returns the flags it is to carry. It carries the pending acknowledgement.
  [[nodiscard]] uint8_t enter(Link& link, wire::Class c, Slot* slot, size_t size,
                              bool compact) noexcept {
    link.send_window(c).enter(slot, static_cast<uint32_t>(size), compact);
    carry_ack(link, c);
    return link.send_window(c).flags(limits_);
  }
  static void carry_ack(Link& link, wire::Class c) noexcept {
    if (link.control.bits != 0) ControlQueue::ack_carried(link.control, c);
  }
  void prepare(Link& link, wire::Class c, Slot* slot, uint32_t length, uint8_t am_id) noexcept {
    const uint8_t flags = enter(link, c, slot, sizeof(wire::FrameHeader) + length, false);
    wire::FrameHeader* header = slot->header();
    header->link = link.remote_id;
    header->psn = slot->psn;
    header->ack = link.receive_window(c).expected();
    header->length = length;
    header->kind = wire::kind_byte(wire::FrameKind::kData);
    header->flags = flags;
    header->am_id = wire::am_byte(am_id, c);
    header->segment = segment_byte_;
  }
  void prepare_compact(Link& link, Slot* slot, uint32_t length, uint8_t am_id) noexcept {
    constexpr wire::Class c = wire::Class::kSync;
    const uint8_t flags = enter(link, c, slot, wire::kCompactHeader + length, true);
    const auto kind =
        static_cast<uint8_t>(wire::kCompactKind | (flags != 0 ? wire::kCompactAckRequest : 0));
    (void)write_compact(link, slot, am_id, kind);
  }
  // Of a slot that has its psn. Returns its key.
  static uint64_t write_compact(Link& link, Slot* slot, uint8_t am_id, uint8_t kind) noexcept {
    const wire::CompactFields fields{
        link.remote_id, slot->psn, link.receive_window(wire::Class::kSync).expected(), am_id, kind};
    wire::write_compact(slot->payload(), fields);
    const uint64_t key = wire::compact_key(fields);
    slot->set_key(key);
    return key;
  }
  void append(Link& link, wire::Class c, Slot* slot, uint32_t length) noexcept {
    link.send_window(c).append(slot, limits_);
    count(link, length);
  }
  void count(Link& link, uint32_t length) noexcept {
    link.counters->count_sent(length);
    if (!link.timer.deadline.armed()) timer_.arm(link);
  }

  const Interface& iface_;
  ControlQueue& control_;
  ZeroCopy& zero_copy_;
  RetransmitTimer& timer_;
  const FrameWriter writer_;
  const WindowLimits limits_;
  const uint32_t segment_size_;
  // A compact frame may be a little longer than a segment, so that a lower transport's usual
  // message, with what is added to it, is still one: 8 KiB and some.
  const uint32_t compact_limit_;
  const uint8_t segment_byte_;
  const bool may_compact_;
  Pool pool_;
};

}  // namespace verity::link

#endif
