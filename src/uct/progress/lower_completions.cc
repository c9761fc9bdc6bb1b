// SPDX-License-Identifier: BSD-3-Clause
#include "uct/progress/lower_completions.h"

#include <memory>
#include <new>

namespace verity::uct {

LowerCompletions::~LowerCompletions() {
  while (completed_.linked()) {
    const std::unique_ptr<Pending> pending(&Pending::at(completed_.next));
    pending->node.unlink();
  }
  while (under_way_.linked()) {
    Pending& pending = Pending::at(under_way_.next);
    pending.node.unlink();
    pending.list = nullptr;
  }
}

ucs_status_t LowerCompletions::start(Operation operation, const void* ep, uct_ep_h lower,
                                     unsigned flags, uct_completion_t* comp) noexcept {
  if (comp == nullptr) return operation(lower, flags, nullptr);
  std::unique_ptr<Pending> pending(new (std::nothrow) Pending);
  if (pending == nullptr) return UCS_ERR_NO_MEMORY;
  pending->lower = {.func = on_completed, .count = 1, .status = UCS_OK};
  pending->upper = comp;
  pending->operation = operation;
  pending->flags = flags;
  pending->ep = ep;
  pending->list = this;
  under_way_.push_back(pending->node);
  const ucs_status_t status = operation(lower, flags, &pending->lower);
  if (status == UCS_INPROGRESS) (void)pending.release();
  return status;
}

void LowerCompletions::on_completed(uct_completion_t* comp) noexcept {
  std::unique_ptr<Pending> pending(reinterpret_cast<Pending*>(comp));
  if (pending->list == nullptr) return;
  LowerCompletions& list = *pending->list;
  const AsyncGuard guard(list.threads_);
  pending->node.unlink();
  if (pending->upper != nullptr) list.completed_.push_back(pending.release()->node);
}

// The oldest that is completed; with `ep`, the oldest of that endpoint, be it under way. False:
// there is none left.
bool LowerCompletions::complete_next(const void* ep) noexcept {
  uct_completion_t* upper;
  ucs_status_t status;
  {
    const AsyncGuard guard(threads_);
    util::ListNode* node = completed_.next;
    while (node != &completed_ && ep != nullptr && Pending::at(node).ep != ep) node = node->next;
    if (node != &completed_) {
      const std::unique_ptr<Pending> pending(&Pending::at(node));
      node->unlink();
      upper = pending->upper;
      status = pending->lower.status;
    } else {
      if (ep == nullptr) return false;
      node = under_way_.next;
      while (node != &under_way_ && Pending::at(node).ep != ep) node = node->next;
      if (node == &under_way_) return false;
      upper = Pending::at(node).disown();
      status = UCS_ERR_CANCELED;
    }
  }
  invoke_completion(upper, status);
  return true;
}

// A completion may do anything with the lists, which are looked through anew behind it.
unsigned LowerCompletions::run() noexcept {
  unsigned count = 0;
  while (complete_next(nullptr)) ++count;
  return count;
}

void LowerCompletions::cancel(const void* ep) noexcept {
  while (complete_next(ep)) {}
}

}  // namespace verity::uct
