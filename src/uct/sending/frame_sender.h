// SPDX-License-Identifier: BSD-3-Clause
//
// The path of a message to the lower transport: a slot is reserved, the payload written into it,
// the frame committed (it has a psn and is kept from then on) and given to the lower endpoint.
// Copied messages here, zero-copy ones in zero_copy.h.
//
//   am_short, am_bcopy (iface/am_ops.cc)   reserve() -> launch_copied() or launch_bcopy()
//   messages of this layer's own           reserve() -> send_own()
//   what the links send (iface/link_port)  send_frame(), send_compact()
//   when the lower transport is busy       refused: the upper layer queues; kept frames wait in
//   wait_for_lower()
#ifndef VERITY_UCT_SENDING_FRAME_SENDER_H
#define VERITY_UCT_SENDING_FRAME_SENDER_H

#include <algorithm>

#include "uct/links/link_set.h"
#include "uct/sending/frame_limits.h"

namespace verity::uct {

class FrameSender {
 public:
  FrameSender(LinkSet& links, const Extensions& extensions) noexcept
      : core_(links.core()), links_(links), extensions_(extensions) {}

  // The links' hub is there.
  void open(const FrameLimits& limits) noexcept {
    hub_ = core_.hub.get();
    limits_ = limits;
    const size_t lower = std::max(limits.max_short, wire::kCompactHeader) - wire::kCompactHeader;
    max_small_ = std::min(hub_->sender.small_payload(), lower);
  }

  [[nodiscard]] const FrameLimits& limits() const noexcept { return limits_; }
  [[nodiscard]] const Extensions& extensions() const noexcept { return extensions_; }
  [[nodiscard]] LinkSet& links() const noexcept { return links_; }
  [[nodiscard]] link::Hub& hub() const noexcept { return *hub_; }

  // --- messages ---
  // A slot for a message of `length` bytes with `id`, and for a trailer if it may get one. nullptr:
  // see refusal().
  [[nodiscard]] link::Slot* reserve(UctLink& l, wire::Class c, size_t length, uint8_t id) noexcept {
    return hub_->sender.reserve(l, c, length + l.trailer_room(id));
  }
  // Whether a message of `length` bytes with `id` goes in a small compact frame, by the lower
  // transport's short send: nearly all short messages do. reserve_small() and launch_small() then
  // send it, in fewer instructions.
  [[nodiscard, gnu::always_inline]] bool is_small(const UctLink& l, size_t length,
                                                  uint8_t id) const noexcept {
    return length <= max_small_ && !wire::is_own_id(id) && l.is_fast() && !l.may_trail(id);
  }
  // nullptr: reserve() may have one.
  [[nodiscard]] link::Slot* reserve_small(UctLink& l) const noexcept {
    return hub_->sender.reserve_small(l);
  }
  [[nodiscard, gnu::always_inline]] ucs_status_t launch_small(UctLink& l, link::Slot* slot,
                                                              uint32_t length,
                                                              uint8_t id) noexcept {
    link::Slot* before = link::Sender::newest(l, wire::Class::kSync);
    hub_->sender.commit_small(l, slot, length, id);
    return send_committed(l, slot, before, length);
  }
  // Why there is no slot: no room in the window, no link any more, or a link in mode off.
  [[nodiscard]] static ucs_status_t refusal(const UctLink& l) noexcept {
    return l.failed() ? l.failure : UCS_ERR_NO_RESOURCE;
  }
  // The payload is in the slot. Gives the slot back when the lower transport takes nothing.
  [[nodiscard]] ucs_status_t launch(UctLink& l, wire::Class c, link::Slot* slot, size_t length,
                                    uint8_t id) noexcept;
  // The same for a message that may get a trailer, for which there is room in the slot then.
  [[nodiscard, gnu::always_inline]] ucs_status_t launch_copied(
      UctLink& l, wire::Class c, link::Slot* slot, size_t length,
      const verity_outgoing& outgoing) noexcept {
    if (l.may_trail(outgoing.am_id)) [[unlikely]]
      return launch_trailed(l, c, slot, length, outgoing);
    if (!hub_->sender.will_be_compact(l, c, length) ||
        wire::kCompactHeader + length > limits_.max_short) [[unlikely]]
      return launch(l, c, slot, length, outgoing.am_id);
    return launch_short(l, slot, static_cast<uint32_t>(length), outgoing.am_id);
  }
  [[nodiscard]] ucs_status_t launch_trailed(UctLink& l, wire::Class c, link::Slot* slot,
                                            size_t length,
                                            const verity_outgoing& outgoing) noexcept;
  // The same with a payload that pack(arg) writes, once the lower transport has room. Returns its
  // length, or an error. `serial`: of the upper endpoint.
  [[nodiscard]] ssize_t launch_bcopy(UctLink& l, wire::Class c, link::Slot* slot, size_t length,
                                     uint8_t id, uct_pack_callback_t pack, void* arg,
                                     uint64_t serial = 0) noexcept;
  // What a message of remote memory access takes in its slot.
  [[nodiscard]] size_t rma_space(size_t length) const noexcept {
    return length <= limits_.max_bcopy ? length : length + link::ZeroCopy::source_space(0);
  }
  // A message of this layer's own, whose payload is in the slot. It is kept like all others, and
  // waits when the lower transport has no room.
  void send_own(UctLink& l, link::Slot* slot, size_t length, uint8_t id) noexcept;
  // Calls `pack` for a message that goes nowhere: the upper layer counts on its callback, and on
  // the length.
  [[nodiscard]] ssize_t pack_and_drop(uct_pack_callback_t pack, void* arg) noexcept;

  // --- frames ---
  // A peer that only its HELLO introduced is answered when nothing more comes from it: it may have
  // closed, which its BYE behind the other frames says. Its address may lead to another interface
  // then, or to one that is being made, and UCX's shared memory does not survive that.
  [[nodiscard]] bool must_read_on(UctLink& l) const noexcept;
  // Makes the lower endpoint, if there is none. Not kOk: not now, or the link failed.
  [[nodiscard]] link::Sent connect(UctLink& l) noexcept;
  // What the link sends of itself: control frames, and what is sent again.
  [[nodiscard]] link::Sent send_frame(UctLink& l, wire::Class c, util::Pieces frame) noexcept;
  // The lower message `id`, of these bytes; the link has a lower endpoint.
  [[nodiscard]] static link::Sent send_pieces(UctLink& l, uint8_t id, util::Pieces frame) noexcept;
  // As send_frame(). Only on established links, which have a lower endpoint.
  [[nodiscard]] link::Sent send_compact(UctLink& l, util::Piece frame) noexcept;

  // send_pieces(), by a short send where the frame fits one, as most control frames do. Over shared
  // memory that needs no buffer of the peer's, which may have ended by the time of the last frame:
  // UCX prints an error when it cannot map one, and is kept quiet where a longer one goes.
  [[nodiscard]] link::Sent send_short_or_pieces(UctLink& l, uint8_t id,
                                                util::Pieces frame) noexcept;

  // --- waiting for the lower transport ---
  // It has no room for the slot's frame, which is given back.
  [[nodiscard]] ucs_status_t lower_is_busy(UctLink& l, link::Slot* slot) noexcept;
  // Waits in its pending queue. False: it has room already.
  [[nodiscard]] bool wait_for_lower(UctLink& l) noexcept;
  // The frame just committed waits.
  void stall(UctLink& l, wire::Class c, link::Slot* slot) noexcept;
  // For frames that are kept here: returns when they are sent, or wait.
  void push_unsent(UctLink& l) noexcept;
  // The same, for a link that may not have had a lower endpoint.
  void push_stored(UctLink& l) noexcept;
  [[nodiscard]] bool needs_push(const UctLink& l) const noexcept {
    return !l.is_lost() && !l.no_lower_endpoint && !l.lower_waiting && l.has_unsent();
  }

 private:
  [[nodiscard, gnu::always_inline]] static ucs_status_t send_compact_short(
      const UctLink& l, link::Slot& slot, uint32_t length) noexcept {
    const uint8_t* frame = slot.payload() - wire::kCompactHeader;
    uint64_t first;
    std::memcpy(&first, frame, sizeof(first));
    return uct_ep_am_short(l.lower.get(), wire::kCompactId, first, frame + sizeof(first),
                           length + static_cast<unsigned>(wire::kCompactHeader - sizeof(first)));
  }
  // The compact frame that was just committed behind `before`.
  [[nodiscard, gnu::always_inline]] ucs_status_t send_committed(UctLink& l, link::Slot* slot,
                                                                link::Slot* before,
                                                                uint32_t length) noexcept {
    const ucs_status_t status = send_compact_short(l, *slot, length);
    if (status != UCS_OK) [[unlikely]]
      return not_launched(l, wire::Class::kSync, slot, before, length, status);
    return UCS_OK;
  }
  [[nodiscard]] ucs_status_t launch_short(UctLink& l, link::Slot* slot, uint32_t length,
                                          uint8_t id) noexcept;
  [[nodiscard]] ucs_status_t not_launched(UctLink& l, wire::Class c, link::Slot* slot,
                                          link::Slot* before, uint32_t length,
                                          ucs_status_t status) noexcept;
  [[nodiscard]] link::Sent send_open(UctLink& l, link::Slot* slot) const noexcept;

  IfaceCore& core_;
  LinkSet& links_;
  const Extensions& extensions_;
  link::Hub* hub_ = nullptr;
  FrameLimits limits_;
  size_t max_small_ = 0;  // bytes of the longest message that is_small(); 0: none is
};

}  // namespace verity::uct

#endif
