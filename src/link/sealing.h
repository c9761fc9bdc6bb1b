// SPDX-License-Identifier: BSD-3-Clause
// Sealing: a committed frame gets its hash last, where possible in the pass that copies it to where
// the lower transport wants it. The first three are for frames that Sender::commit_open() left
// open.
#ifndef VERITY_LINK_SEALING_H
#define VERITY_LINK_SEALING_H

#include <cstring>

#include "link/state/link.h"
#include "wire/codec.h"
#include "wire/compact.h"

namespace verity::link {

// In its slot.
inline void seal(Link& link, wire::Class c, Slot* slot) noexcept {
  const uint64_t nonce = link.send_window(c).nonce();
  if (slot->compact) [[likely]] {
    wire::seal_compact(slot->payload(), slot->size - wire::kCompactHeader, nonce, slot->key());
  } else {
    wire::seal_single(slot->header(), slot->size, nonce);
  }
}

// The same while copying it to `dest`, in one pass.
inline void seal_copy(Link& link, wire::Class c, Slot* slot, void* dest) noexcept {
  const uint64_t nonce = link.send_window(c).nonce();
  if (slot->compact) [[likely]] {
    wire::seal_compact_copy(slot->payload(), dest, slot->size - wire::kCompactHeader, nonce,
                            slot->key());
  } else {
    wire::seal_copy(slot->header(), dest, slot->size, nonce);
  }
}

// The same for a compact frame whose payload is not in the slot yet, but in `frame`, behind room
// for the header: the slot gets its copy in the same pass, and `frame` its header.
inline void seal_in_place(Link& link, Slot* slot, void* frame) noexcept {
  constexpr size_t kWord = sizeof(uint64_t);
  auto* payload = static_cast<uint8_t*>(frame) + wire::kCompactHeader;
  std::memcpy(payload - kWord, slot->payload() - kWord, kWord);
  wire::seal_compact_copy(payload, slot->frame(), slot->size - wire::kCompactHeader,
                          link.send_window(wire::Class::kSync).nonce(), slot->key());
}

// The same where the payload is still in these pieces, too, and the slot gets its copy of them
// later. They are what is hashed: the lines of `frame` may still be on their way from the peer's
// cache. The first piece begins a word ahead of the payload, in `frame`; the second one is the
// program's memory, which is read once more then.
inline void seal_pieces(Link& link, Slot* slot, void* frame, util::Pieces pieces) noexcept {
  constexpr size_t kWord = sizeof(uint64_t);
  auto* payload = static_cast<uint8_t*>(frame) + wire::kCompactHeader;
  std::memcpy(payload - kWord, slot->payload() - kWord, kWord);
  const uint64_t root = wire::compact_root(
      merkle::hash(pieces), link.send_window(wire::Class::kSync).nonce(), slot->key());
  std::memcpy(frame, &root, kWord);
  std::memcpy(slot->frame(), &root, kWord);
  slot->set_copied_late(pieces[1].data);
}

// Seals a stored frame that has its full header, in whatever pieces it is.
void seal_stored(Slot& slot, uint64_t nonce) noexcept;

}  // namespace verity::link

#endif
