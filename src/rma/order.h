// SPDX-License-Identifier: BSD-3-Clause
// The order among the operations of this worker on the memory of one peer worker, which may travel
// over several links, in this client and in those of other interfaces.
//
// Over one link they are done in the order in which they were started: puts and atomic operations
// as they come, gets in frames likewise. Two things do not go with that order by themselves. A Read
// is the lower transport's, and its bytes count only once they are verified; and links know nothing
// of each other. Stock transports keep the order of operations on the same bytes even so: shared
// memory and the CPU do at once what is requested of them. So it is kept here where ranges overlap:
//
//   writing    waits for open Reads, and for fetches and writing of other links
//   a fetch    waits for writing of other links
//   a Read     waits for writing of all links
//
// What is not applied yet is known of each link as one range around all of it.
#ifndef VERITY_RMA_ORDER_H
#define VERITY_RMA_ORDER_H

#include <cstdint>

#include "util/list.h"

namespace verity::rma {

struct Peer;

struct Order {
  util::ListNode peers;    // InOrder, the links
  util::ListNode reads;    // Read::in_order, open ones
  util::ListNode fetches;  // FetchInOrder, the same
  unsigned fetches_open = 0;
};

// A link's place in its Order.
struct InOrder : util::ListNode {};

// Bytes of the peer's memory.
struct Range {
  uint64_t begin = 0;
  uint64_t length = 0;

  [[nodiscard]] bool overlaps(const Range& other) const noexcept {
    return begin < other.begin + other.length && other.begin < begin + length;
  }
  // The smallest that holds both.
  [[nodiscard]] Range with(const Range& other) const noexcept {
    const uint64_t first = begin < other.begin ? begin : other.begin;
    const uint64_t end =
        begin + length > other.begin + other.length ? begin + length : other.begin + other.length;
    return {first, end - first};
  }
};

}  // namespace verity::rma

#endif
