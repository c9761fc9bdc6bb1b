// SPDX-License-Identifier: BSD-3-Clause
// What answers are found by: a request carries an id, which holds a place in the table and a
// generation that changes with every request, and the answer carries it back.
#ifndef VERITY_RMA_TICKETS_H
#define VERITY_RMA_TICKETS_H

#include <cstdint>
#include <vector>

#include "util/list.h"

namespace verity::rma {

struct Ticket {
  util::ListNode node;
  uint32_t id = 0;
  bool is_chunk = false;
  bool unanswered = false;  // the peer has not begun to answer the last request
};

class TicketTable {
 public:
  // As many places as there are tickets at most. Throws std::bad_alloc.
  explicit TicketTable(size_t places) : places_(places) {
    free_.reserve(places);
    for (auto i = static_cast<uint32_t>(places); i != 0; --i) free_.push_back(i - 1);
  }

  void enter(Ticket& ticket) noexcept {
    const uint32_t index = free_.back();
    free_.pop_back();
    places_[index] = &ticket;
    ticket.id = (ticket.id & ~kIndexMask) | index;
    renew(ticket);
  }
  // For another request: answers to the one before do not find it any more.
  void renew(Ticket& ticket) noexcept {
    generation_ += kIndexMask + 1;
    ticket.id = generation_ | (ticket.id & kIndexMask);
  }
  void leave(Ticket& ticket) noexcept {
    const uint32_t index = ticket.id & kIndexMask;
    places_[index] = nullptr;
    free_.push_back(index);
    ticket.node.unlink();
  }
  [[nodiscard]] Ticket* find(uint32_t id) const noexcept {
    const uint32_t index = id & kIndexMask;
    Ticket* ticket = index < places_.size() ? places_[index] : nullptr;
    return ticket != nullptr && ticket->id == id ? ticket : nullptr;
  }

  // nullptr in free places.
  [[nodiscard]] const std::vector<Ticket*>& all() const noexcept { return places_; }

 private:
  static constexpr uint32_t kIndexMask = (1u << 10) - 1;
  std::vector<Ticket*> places_;
  std::vector<uint32_t> free_;
  uint32_t generation_ = 0;
};

}  // namespace verity::rma

#endif
