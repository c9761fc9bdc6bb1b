// SPDX-License-Identifier: BSD-3-Clause
//
// Short messages over shared memory that are kept behind their send: they are written to the lower
// transport's buffer, which the receiver may read then, and only afterwards to the slot. Within
// that call nothing of the link is looked at: over shared memory a send makes no progress. The
// program's memory is read three times, and another of its threads may write to it in between: the
// slot's own state goes then, if the frame has to be sent again (Slot::copied_late).
#ifndef VERITY_UCT_SENDING_LATE_COPY_H
#define VERITY_UCT_SENDING_LATE_COPY_H

#include "uct/sending/frame_sender.h"

namespace verity::uct {

// An am_short of the upper layer.
struct ShortMessage {
  uint8_t id;
  uint64_t serial;  // of the upper endpoint
  uint64_t header;
  const void* payload;
  size_t length;  // of the payload

  [[nodiscard]] size_t size() const noexcept { return sizeof(header) + length; }
  void write(uint8_t* out) const noexcept {
    std::memcpy(out, &header, sizeof(header));
    if (length != 0) std::memcpy(out + sizeof(header), payload, length);
  }
};

// Whether launch_late() may send it, of the synchronous class.
[[nodiscard]] inline bool may_copy_late(const FrameSender& sender, const UctLink& l,
                                        const ShortMessage& message) noexcept {
  return message.size() >= sender.limits().late_from &&
         sender.hub().sender.will_be_compact(l, wire::Class::kSync,
                                             message.size() + l.trailer_room(message.id));
}
// In that slot, which has room for a trailer if it may get one. Gives the slot back when the lower
// transport takes nothing.
[[nodiscard]] ucs_status_t launch_late(FrameSender& sender, UctLink& l, link::Slot* slot,
                                       const ShortMessage& message) noexcept;

}  // namespace verity::uct

#endif
