// SPDX-License-Identifier: BSD-3-Clause
//
// How long messages may be, so that their frames fit the lower transport.
#ifndef VERITY_UCT_SENDING_FRAME_LIMITS_H
#define VERITY_UCT_SENDING_FRAME_LIMITS_H

#include <algorithm>

#include "link/hub.h"
#include "rma/client.h"
#include "uct/compat/ucx.h"

namespace verity::uct {

// UCP cuts long messages at our limits. A library that unpacks pieces of a non-contiguous type
// (MPICH) fails where a cut goes through an element; the lower transports' own limits are multiples
// of this.
inline constexpr size_t kElement = 64;

struct FrameLimits {
  size_t max_short =
      0;  // bytes of the longest frame in the lower transport's short send; 0: it has none
  size_t max_bcopy = 0;  // bytes of the longest copied message
  size_t max_zcopy = 0;  // of the longest zero-copy message; 0: there are none
  bool gathers = false;  // zero-copy messages are copied from the user's memory to the lower
                         // transport's buffers, as it has no zero-copy of its own
  // From this length on a kept frame is hashed in the pass that copies it to the lower transport's
  // buffer. Where the receiver has the buffer in its cache that pass is slower than two.
  size_t fuse_from = 512;
  // Of short messages from this length on the slot gets its copy behind the send: see late_copy.h.
  size_t late_from = SIZE_MAX;
  size_t copy_up_to = 0;  // zero-copy sends up to this length are copied
  size_t max_header = 0;  // of a zero-copy message's upper header
  size_t max_iov = 0;
  size_t header_room = 0;   // of the lower transport's zero-copy header, behind the frame's
  size_t trailer_room = 0;  // 0: messages get no trailers
  size_t max_frame = 0;     // bytes of the longest frame that is kept, but for those of max_large
  // Of messages of remote memory access: at least max_bcopy. Longer ones leave from their slots,
  // where the lower transport reads any memory.
  size_t max_rma = 0;
  size_t max_large = 0;  // bytes that the longest of their frames takes in its slot; 0: none is

  [[nodiscard]] size_t max_put() const noexcept { return max_rma - sizeof(wire::RmaPut); }
  [[nodiscard]] size_t max_put_short() const noexcept { return max_bcopy - sizeof(wire::RmaPut); }
  [[nodiscard]] size_t max_get_bcopy() const noexcept {
    return std::min<size_t>(max_rma - sizeof(wire::RmaHeader), rma::Client::kMaxFetchBytes);
  }
};

// What the lower transport's attributes do not say.
struct LowerTraits {
  bool is_self = false;  // it delivers inside the send: nothing need wait in the user's memory
  bool reads_any_memory = false;  // its zero-copy sends need no registration
};

// `hello`: bytes that frames may be longer for a HELLO.
[[nodiscard]] FrameLimits limits_of(const uct_iface_attr_t& lower, const link::Config& config,
                                    size_t hello, LowerTraits traits) noexcept;

}  // namespace verity::uct

#endif
