// SPDX-License-Identifier: BSD-3-Clause
//
// Zero-copy sends: the frame's header and the upper one are kept in a slot, the payload stays in
// the user's buffers until it is acknowledged, or copied. Short ones are copied at once
// (FrameLimits::copy_up_to). Long messages of remote memory access are the slot's own bytes, and go
// in the same way.
#ifndef VERITY_UCT_SENDING_ZERO_COPY_H
#define VERITY_UCT_SENDING_ZERO_COPY_H

#include "uct/sending/completions.h"
#include "uct/sending/frame_sender.h"

namespace verity::uct {

struct ZcopyRequest {
  UctLink& link;
  wire::Class c;
  uint8_t id;
  uint64_t serial;  // of the upper endpoint
  const void* header;
  unsigned header_length;
  const uct_iov_t* iov;
  size_t iovcnt;
  uct_completion_t* comp;
};

// Where it has none, frames are gathered from the user's buffers when they are sent.
[[nodiscard]] bool has_lower_zcopy(const UctLink& l) noexcept;

[[nodiscard]] size_t iov_total(const uct_iov_t* iov, size_t count) noexcept;
void copy_iov(uint8_t* out, const uct_iov_t* iov, size_t count) noexcept;

// As uct_ep_am_zcopy(). The lengths are within the sender's limits, and the link is not in mode
// off.
[[nodiscard]] ucs_status_t send_zcopy(FrameSender& sender, const ZcopyRequest& request) noexcept;

// A message of this layer's own that is longer than what is copied: it leaves from its slot, which
// was reserved for it with FrameSender::rma_space(). It waits when the lower transport has no room.
void send_from_slot(FrameSender& sender, UctLink& l, wire::Class c, link::Slot* slot, size_t length,
                    uint8_t id) noexcept;

// Of an upper endpoint, by its serial number: whether the lower transport still reads the buffers
// of one of its sends; and ends those that were copied or acknowledged, whose completions are made
// as others are. Should the program change such a buffer, the peer finds the frame damaged and gets
// the copy. False: there is none.
[[nodiscard]] bool is_sending(UctLink& l, uint64_t serial) noexcept;
bool let_go(UctLink& l, uint64_t serial) noexcept;

// First transmission of a kept frame whose lower transport was busy before.
[[nodiscard]] link::Sent send_source(UctLink& l, wire::Class c, link::Slot& slot) noexcept;

}  // namespace verity::uct

#endif
