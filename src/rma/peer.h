// SPDX-License-Identifier: BSD-3-Clause
// What remote memory access keeps for each peer: a part of the link's object.
#ifndef VERITY_RMA_PEER_H
#define VERITY_RMA_PEER_H

#include <cstdint>

#include "health/counters.h"
#include "rma/order.h"
#include "util/list.h"
#include "wire/rma.h"

namespace verity::rma {

// A refusal of writes that waits for room at the owner (in Server::refusals_); one stands for all.
struct Refusal : util::ListNode {
  wire::RmaStatus why = wire::RmaStatus::kOk;
};

// More than 15 fields: what this side reads and writes there, and what the peer requests here.
struct Peer : InOrder, Refusal {
  [[nodiscard]] Refusal& refusal() noexcept { return *this; }

  Order* order = nullptr;              // with other links to the same worker; nullptr: it has none
  health::Counters* counts = nullptr;  // where what concerns it is counted; nullptr: with the rest
  uint32_t open = 0;                   // reads and fetches from this peer that are not over
  uint32_t put_mark = 0;               // Port::mark() after the newest put
  uint32_t fence_mark = 0;             // meaningful when `fenced`
  uint32_t stuck = 0;                  // the poll in which there was no room for a fetch
  uint16_t waiting = 0;   // fetches that found no room: later ones and puts must not overtake them
  uint16_t requests = 0;  // of the peer's, which wait here
  uint16_t answers =
      0;  // of them, gets and atomic operations: answered in the order in which they came
  uint32_t copied = 0;    // bytes of ours that are kept for such answers
  uint32_t no_room = 0;   // the server's poll in which an answer found none
  uint32_t fetching = 0;  // bytes that fetches from this peer have requested and not received
  uint32_t unclaimed_bytes = 0;  // of fetches among `unclaimed`; at most
  uint16_t unclaimed = 0;        // requests to this peer that ended here before it answered
  uint16_t chunks = 0;           // of reads from this peer
  uint16_t fetches = 0;          // from this peer, not over
  bool has_put = false;          // a put was sent that is not known to be applied
  bool fenced = false;           // reads wait until the puts before fence_mark are applied
  uint32_t epoch = 0;            // fences so far
  uint32_t before =
      0;  // reads and fetches still open that began before the last fence: puts wait for them
  Range written;  // around what puts and atomic operations write that are not known to be applied;
                  // meaningful when `has_put`
};

}  // namespace verity::rma

#endif
