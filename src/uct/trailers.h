// SPDX-License-Identifier: BSD-3-Clause
//
// Trailers: what the companion (util/companion.h) adds to the messages that begin a tagged message. They are part of the frame's
// payload, so they are checked, kept and sent again with it; the frame's active message id says that there is one.
//
//   kTrailerId   | message ...                 | trailer | id | n |      copied messages
//   kLeaderId    | id | n | trailer | message ...                         zero copy: the user's pieces come last
//
// id  the upper active message (1 byte)      n  bytes of the trailer (1 byte)
#ifndef VERITY_UCT_TRAILERS_H
#define VERITY_UCT_TRAILERS_H

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "util/companion.h"
#include "wire/rma.h"

namespace verity::uct {

inline constexpr uint8_t kTrailerId = wire::kRmaId - 1;
inline constexpr uint8_t kLeaderId = wire::kRmaId - 2;
inline constexpr size_t kTrailerEnd = 2;  // id and n
inline constexpr size_t kTrailerRoom = VERITY_MAX_TRAILER + kTrailerEnd;

// The companion that was preloaded and wants to be told; nullptr: none. Says so once when its version is another.
[[nodiscard]] const verity_companion* find_companion() noexcept;

// Which message the companion is asked about.
struct Leaving {
  uint64_t serial;     // of the upper endpoint
  uint8_t am_id;
  const void* origin;  // the pack callback's argument, the completion, or nullptr: then ...
  const void* data;    // ... where the upper layer's bytes lie
};

// Lets the companion write the trailer of the message at `message` behind it, where kTrailerRoom bytes are. The bytes added; 0: none,
// the message stays what it is.
[[nodiscard]] inline size_t append_trailer(const verity_companion& companion, const Leaving& leaving, uint8_t* message,
                                           size_t length) noexcept {
  uint8_t* trailer = message + length;
  const size_t size = companion.departs(leaving.serial, leaving.am_id, message, length, leaving.origin, leaving.data, trailer,
                                        VERITY_MAX_TRAILER);
  if (size == 0) return 0;
  trailer[size] = leaving.am_id;
  trailer[size + 1] = static_cast<uint8_t>(size);
  return size + kTrailerEnd;
}
// Lets it write a leader at `out`, at most `room` bytes in all, for a message that begins with the `length` bytes at `message`.
[[nodiscard]] size_t write_leader(const verity_companion& companion, const Leaving& leaving, uint8_t* out, size_t room,
                                  const void* message, size_t length) noexcept;

// A received message without its trailer.
struct Trailed {
  uint8_t am_id;
  uint8_t* message;
  size_t length;
  const uint8_t* trailer;
  size_t trailer_length;
};
// Takes a payload with kTrailerId or kLeaderId apart. False: it is too short, or names no active message.
[[nodiscard]] inline bool take_apart(uint8_t am_id, uint8_t* payload, size_t length, Trailed* out) noexcept {
  if (length < kTrailerEnd) return false;
  const bool leads = am_id == kLeaderId;
  const uint8_t* end = leads ? payload : payload + length - kTrailerEnd;
  const size_t size = end[1];
  const size_t both = size + kTrailerEnd;
  if (end[0] >= kLeaderId || size == 0 || both > length) return false;
  *out = {end[0], leads ? payload + both : payload, length - both, leads ? payload + kTrailerEnd : end - size, size};
  return true;
}

}  // namespace verity::uct

#endif
