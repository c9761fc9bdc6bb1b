// SPDX-License-Identifier: BSD-3-Clause
#include "uct/sending/late_copy.h"

namespace verity::uct {

namespace {

struct LateFrame {
  FrameSender& sender;
  UctLink& link;
  link::Slot* slot;
  const ShortMessage& message;
  bool committed = false;  // the link has the slot
};

[[gnu::hot]] size_t pack_late(void* dest, void* arg) noexcept {
  auto& frame = *static_cast<LateFrame*>(arg);
  const ShortMessage& message = frame.message;
  auto* out = static_cast<uint8_t*>(dest) + wire::kCompactHeader;
  message.write(out);
  size_t length = message.size();
  uint8_t id = message.id;
  constexpr size_t kWord = sizeof(uint64_t);
  util::Piece pieces[3] = {{out - kWord, kWord + sizeof(message.header)},
                           {message.payload, message.length}};
  size_t count = 2;
  if (frame.link.may_trail(id)) {
    const size_t trailer =
        append_trailer(frame.sender.extensions().mpi(),
                       {message.serial, nullptr, message.payload, id}, out, length);
    if (trailer != 0) {
      pieces[count++] = {out + length, trailer};
      std::memcpy(frame.slot->payload() + length, out + length, trailer);
      length += trailer;
      id = kTrailerId;
    }
  }
  frame.committed = true;
  (void)frame.sender.hub().sender.commit_open(frame.link, wire::Class::kSync, frame.slot,
                                              static_cast<uint32_t>(length), id);
  link::seal_pieces(frame.link, frame.slot, dest, {pieces, count});
  return frame.slot->size;
}

}  // namespace

[[gnu::hot]] ucs_status_t launch_late(FrameSender& sender, UctLink& l, link::Slot* slot,
                                      const ShortMessage& message) noexcept {
  LateFrame frame{sender, l, slot, message};
  const ssize_t sent = uct_ep_am_bcopy(l.lower.get(), wire::kCompactId, pack_late, &frame, 0);
  if (frame.committed && !l.is_lost()) [[likely]]
    message.write(slot->payload());
  if (sent >= 0) [[likely]]
    return UCS_OK;
  if (sent == UCS_ERR_NO_RESOURCE) return sender.lower_is_busy(l, slot);
  // Once it called for the bytes the frame is the link's, as one that was lost.
  if (!frame.committed) sender.hub().sender.cancel(slot);
  return static_cast<ucs_status_t>(sent);
}

}  // namespace verity::uct
