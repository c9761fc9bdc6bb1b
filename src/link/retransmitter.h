// SPDX-License-Identifier: BSD-3-Clause
// Sends what is stored: frames that the lower transport did not take at first, and, after
// a NACK, the frames that it names, or just their damaged segments.
//
// A NACK marks slots (Slot::repair) and makes a REPAIR pending; send_repairs() answers when the
// ControlQueue comes to it. Our own copy is checked before it is sent: if it is damaged, the link
// fails; if the user changed a zero-copy send's buffer, the frame gets a new root under the same
// psn. One segment, or a whole frame that fits, goes as the frame itself; anything else in REPAIR
// frames, each with one run of damaged segments.
#ifndef VERITY_LINK_RETRANSMITTER_H
#define VERITY_LINK_RETRANSMITTER_H

#include "link/lifecycle.h"
#include "link/port/frame_writer.h"

namespace verity::link {

class Retransmitter {
 public:
  Retransmitter(const Interface& iface, ControlQueue& control, ZeroCopy& zero_copy, Sender& sender,
                Faults& faults, Lifecycle& lifecycle) noexcept
      : iface_(iface),
        control_(control),
        zero_copy_(zero_copy),
        sender_(sender),
        faults_(faults),
        lifecycle_(lifecycle),
        writer_(iface) {}

  // The lower transport may have resources again: sends what waits. False while it is busy still.
  bool resume(Link& link) noexcept;
  // A NACK of the peer.
  void on_nack(Link& link, wire::Class c, const wire::FrameView& view) noexcept;
  // Sends everything unacknowledged once more, though no NACK came: the sender may make no progress
  // when it comes. Not counted as trouble: nearly always the peer is only slow.
  void retransmit_all(Link& link) noexcept;
  // Something is to be retransmitted still.
  [[nodiscard]] static bool is_pending(const Link& link) noexcept {
    return link.control.has(Control::kRepair, wire::Class::kSync) ||
           link.control.has(Control::kRepair, wire::Class::kAsync);
  }
  // Answers the NACKs. False: the lower transport is busy.
  bool send_repairs(Link& link, wire::Class c) noexcept;

 private:
  bool resume(Link& link, wire::Class c) noexcept;
  Sent transmit(Link& link, wire::Class c, Slot& slot) noexcept;
  void request(Link& link, wire::Class c, Slot& slot, const uint8_t* digests,
               uint16_t count) noexcept;
  bool request_whole(Link& link, wire::Class c, Slot& slot) noexcept;
  bool accept_changed(Link& link, const Slot& slot, uint8_t am_id) noexcept;
  bool expand(Link& link, Slot& slot) noexcept;
  bool prepare(Link& link, wire::Class c, Slot& slot) noexcept;
  bool send_repair(Link& link, wire::Class c, Slot& slot) noexcept;
  bool send_frame(Link& link, wire::Class c, Slot& slot) noexcept;
  bool send_pieces(Link& link, wire::Class c, Slot& slot) noexcept;
  void count_piece(health::Counters& counters, bool whole, uint32_t begin, uint32_t bytes,
                   bool last) noexcept;

  const Interface& iface_;
  ControlQueue& control_;
  ZeroCopy& zero_copy_;
  Sender& sender_;
  Faults& faults_;
  Lifecycle& lifecycle_;
  const FrameWriter writer_;
};

}  // namespace verity::link

#endif
