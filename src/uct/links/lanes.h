// SPDX-License-Identifier: BSD-3-Clause
//
// What leads from this worker to one peer worker: links, of several interfaces, and endpoints of
// transports that only read. UCP sends what belongs together over several of them, and a fence
// orders it all the same (onesided/fences.h).
#ifndef VERITY_UCT_LINKS_LANES_H
#define VERITY_UCT_LINKS_LANES_H

#include "rma/order.h"
#include "uct/links/uct_link.h"

namespace verity::uct {

// An endpoint that reads over no link of its own, with the requests that wait there; in
// Lanes::readers.
struct ReaderLane : util::ListNode {
  PendingQueue pending;
};

struct Lanes : rma::Order {
  uint64_t worker = 0;
  util::ListNode readers;

  [[nodiscard]] static Lanes& of(const UctLink& l) noexcept {
    return static_cast<Lanes&>(*l.order);
  }
  [[nodiscard]] bool in_use() const noexcept {
    return peers.linked() || reads.linked() || readers.linked();
  }
  // Whether something of an earlier epoch is not done yet on other lanes than that link, or that
  // reader.
  [[nodiscard]] bool has_older(const UctLink* link, const ReaderLane* reader,
                               uint32_t epoch) noexcept;
  // Whether anything is under way, or waits, there.
  [[nodiscard]] bool is_busy_elsewhere(const UctLink& link) noexcept;
};

}  // namespace verity::uct

#endif
