// SPDX-License-Identifier: BSD-3-Clause
//
// Fences over several lanes. UCP fences each interface of a worker in turn, and then takes the
// completion of an operation on one lane for that of all before the fence on the others: Open MPI's
// MPI_Rget is a get, a fence, and an atomic operation whose end it waits for. Within a link the
// order is kept (rma/order.h). Between the links to one peer worker each fence begins an epoch: a
// link is deferred, for whatever comes behind the fence, until what came before it on the other
// lanes is done. Requests that waited for room when the fence came are of the epoch in which they
// were queued, and go.
//
// An atomic operation acts as such a fence without one: programs take its end for the end of what
// came before, as with stock transports on shared memory. Open MPI's accumulates get, put, and give
// their lock back with a swap.
//
// Nothing notifies this link of the progress of the others: a deferred one is tried in each
// progress. A fence defers the link itself, too, while reads are open there, which go with no
// message, or fetches wait for room in its window: what the handler of the message that brings room
// sends would overtake them.
#ifndef VERITY_UCT_ONESIDED_FENCES_H
#define VERITY_UCT_ONESIDED_FENCES_H

#include "uct/links/link_set.h"

namespace verity::uct {

class Fences {
 public:
  explicit Fences(LinkSet& links) noexcept : links_(links) {}

  // A fence of the interface, or of one endpoint's link.
  void fence() noexcept;
  void fence(UctLink& l) noexcept;
  // Whether the oldest of what waits there, or what comes next, is behind a fence and others'
  // operations before it.
  [[nodiscard]] bool is_behind_fence(UctLink& l) const noexcept;
  // Whether an atomic operation may go; it begins an epoch if not.
  [[nodiscard]] bool follows_other_lanes(UctLink& l) noexcept;

 private:
  LinkSet& links_;
};

}  // namespace verity::uct

#endif
