// SPDX-License-Identifier: BSD-3-Clause
// Slots: one frame in flight each, kept until the peer acknowledged it. The memory behind
// retransmission.
#ifndef VERITY_LINK_STATE_SLOT_H
#define VERITY_LINK_STATE_SLOT_H

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "util/bytes.h"
#include "util/list.h"
#include "wire/compact.h"
#include "wire/frame.h"

namespace verity::link {

// Most pieces of a zero-copy payload: the upper header, the upper iov, each entry one piece.
inline constexpr size_t kMaxSourcePieces = 17;

struct Link;
struct Slot;

// What a zero-copy frame was made of. The pieces after the first are the user's memory, until they
// are replaced by a bounce buffer. More than 15 fields: the pieces, and a flag for each of the
// events that come in any order before they may be freed.
struct Source {
  util::ListNode unbounced;  // in the list of ZeroCopy, until bounced or acknowledged; then in the
                             // link's `still_read`, until the lower transport is done with it
  Link* link = nullptr;
  Slot* slot = nullptr;
  util::Piece pieces[kMaxSourcePieces];
  void* handles[kMaxSourcePieces];  // for the port: the memory handle of each piece
  uint32_t count = 0;
  bool sending = false;    // the lower transport still reads the pieces
  bool acked = false;      // not in flight any more
  bool in_slot = false;    // the payload is in the slot: no user's memory to bounce or to complete
  bool bounced = false;    // the pieces were replaced by a copy
  bool compared = false;   // that was while the lower transport read them: it is compared behind it
  bool freed = false;      // Port::source_free() was called
  bool released = false;   // ZeroCopy::release() was called
  void* bounce = nullptr;  // from the bounce buffers, as large as the payload
  uint32_t replaced = 0;   // pieces that a copy, now the first one, stands for: the user's are kept
  util::Piece hello = {};  // follows the payload on the wire; stands in the slot
  alignas(8) unsigned char port[72];  // for the port: the lower and the upper completion

  // The last of the user's pieces, for reports.
  [[nodiscard]] util::Piece user() const noexcept {
    return replaced == 0 ? util::Piece{} : pieces[replaced - 1];
  }
};

// What is to be retransmitted of a slot. Exists only after a NACK.
struct Repair {
  uint8_t bad[wire::kMaxFrameLeaves / 8] = {};  // bitmap of the leaves that the NACK names
  uint32_t offset = 0;                          // how far the answer got, bytes of payload
  uint32_t tries = 0;
  uint16_t after_probe = 0;  // the last probe that left before the answer did
  bool whole = false;        // the frame was lost or its header damaged
  bool pending = false;
  bool prepared = false;  // the stored bytes were checked against the root
  bool speculative =
      false;  // sent again without a request, in case it was lost: counted as no trouble
};

struct Slot {
  Slot* next = nullptr;
  Repair* repair = nullptr;
  Source* source = nullptr;  // nullptr: the frame's bytes follow the header in the slot
  uint32_t psn = 0;
  union {
    struct {
      uint32_t size : 24;  // bytes of the stored frame, header and HELLO included
      uint32_t size_class : 5;
      uint32_t copied_late : 1;  // a compact one: the payload came from the program's memory behind
                                 // the send
      uint32_t on_heap : 1;
      uint32_t compact : 1;  // sealed with the compact header, the 16 bytes before the payload
    };
    uint32_t word = 0;
  };

  // Both in one store: a byte stored here and then read with its neighbours would stall the data
  // path.
  void set_frame(uint32_t bytes, bool is_compact) noexcept {
    constexpr uint32_t kKept = 0x5f000000;  // size_class, on_heap
    word = (word & kKept) | bytes | static_cast<uint32_t>(is_compact) << 31;
  }

  // The frame's bytes are the slot's: what differs from its digest was damaged here.
  [[nodiscard]] bool holds_payload() const noexcept { return source == nullptr || source->in_slot; }
  // What the frame takes of the window in bytes: zero-copy ones stand in the user's memory, not
  // here.
  [[nodiscard]] uint32_t weight() const noexcept { return holds_payload() ? size : size / 4; }

  // Behind the slot's own fields there is room for a full header; the payload then stands on a
  // cache line.
  [[nodiscard]] uint8_t* frame() noexcept {
    return payload() - (compact ? wire::kCompactHeader : sizeof(wire::FrameHeader));
  }
  // wire::compact_key() of a compact frame: stands where the longer header begins.
  [[nodiscard]] uint64_t key() const noexcept {
    uint64_t key;
    std::memcpy(&key, this + 1, sizeof(key));
    return key;
  }
  void set_key(uint64_t key) noexcept {
    std::memcpy(static_cast<void*>(this + 1), &key, sizeof(key));
  }
  // Of one that was copied late: where the last of the program's memory lies. Stands behind the
  // key.
  [[nodiscard]] const void* copied_from() const noexcept {
    const void* from;
    std::memcpy(&from, reinterpret_cast<const uint64_t*>(this + 1) + 1, sizeof(from));
    return from;
  }
  void set_copied_late(const void* from) noexcept {
    word |= 1u << 29;  // copied_late, in one store as well
    std::memcpy(reinterpret_cast<uint64_t*>(this + 1) + 1, &from, sizeof(from));
  }
  // Meaningless in a compact slot, until Retransmitter::expand().
  [[nodiscard]] wire::FrameHeader* header() noexcept {
    return reinterpret_cast<wire::FrameHeader*>(this + 1);
  }
  [[nodiscard]] uint8_t* payload() noexcept {
    return reinterpret_cast<uint8_t*>(this + 1) + sizeof(wire::FrameHeader);
  }
};
static_assert(sizeof(Slot) == 32);

// The payload of a stored frame that has its full header, in pieces.
class StoredPayload {
 public:
  explicit StoredPayload(Slot& slot) noexcept
      : single_{slot.payload(), slot.header()->length}, pieces_(&single_, 1) {
    if (slot.source != nullptr) pieces_ = {slot.source->pieces, slot.source->count};
  }
  StoredPayload(const StoredPayload&) = delete;
  StoredPayload& operator=(const StoredPayload&) = delete;
  [[nodiscard]] util::Pieces pieces() const noexcept { return pieces_; }

 private:
  util::Piece single_;
  util::Pieces pieces_;
};

}  // namespace verity::link

#endif
