// SPDX-License-Identifier: BSD-3-Clause
// The one table of active-message ids. UCT has 32 of them, and they are used twice: the lower
// transport's message has an id, and the frame in it names the message that it carries
// (FrameHeader::am_id).
//
//   id     of a lower message                        of a message in a frame
//   ----   ----------------------------------------
//   ------------------------------------------------------------------ 0-28   unframed, to or from
//   a peer in mode off:  the upper layer's own (UCP uses up to 28)
//          the upper layer's own id
//   29     kCompactId: a compact frame (compact.h)   kLeaderId: zero copy, a trailer in front
//   (uct/extensions/trailers.h) 30     kSyncId: a frame of Class::kSync          kTrailerId: a
//   message with a trailer behind it (the same) 31     kAsyncId: a frame of Class::kAsync kRmaId:
//   remote memory access (rma.h)
//
// The upper layer cannot use the last three, in either place. A new kind of message needs an id
// that UCP does not use in any release that the plugin is built for (uct/compat/ucp_ids.h), so
// there is none left: extend a trailer or an RmaKind instead.
#ifndef VERITY_WIRE_AM_IDS_H
#define VERITY_WIRE_AM_IDS_H

#include <cstdint>

#include "wire/frame.h"

namespace verity::wire {

inline constexpr unsigned kAmIds = 32;
// The first id that the upper layer cannot use.
inline constexpr uint8_t kFirstOwnId = 29;

// Of lower messages.
inline constexpr uint8_t kCompactId = 29;
inline constexpr uint8_t kSyncId = 30;
inline constexpr uint8_t kAsyncId = 31;

// Of messages in frames.
inline constexpr uint8_t kLeaderId = 29;
inline constexpr uint8_t kTrailerId = 30;
inline constexpr uint8_t kRmaId = 31;

[[nodiscard]] constexpr bool is_own_id(uint8_t id) noexcept { return id >= kFirstOwnId; }
[[nodiscard]] constexpr uint8_t lower_id(Class c) noexcept {
  return c == Class::kSync ? kSyncId : kAsyncId;
}

}  // namespace verity::wire

#endif
