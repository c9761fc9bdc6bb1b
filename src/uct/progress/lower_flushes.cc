// SPDX-License-Identifier: BSD-3-Clause
#include "uct/progress/lower_flushes.h"

#include <memory>
#include <new>
#include <utility>

namespace verity::uct {

// Freed when both the lower transport and the upper endpoint are done with it. The lower transport
// completes it at the latest when the lower endpoint is destroyed.
struct LowerFlushes::Flush {
  uct_completion_t lower;
  uct_completion_t* upper;  // nullptr: canceled
  const void* ep;
  LowerFlushes* list;  // nullptr: it is gone
  util::ListNode node;

  static Flush& at(util::ListNode* node) noexcept {
    return *VERITY_CONTAINER_OF(node, Flush, node);
  }
};

LowerFlushes::~LowerFlushes() {
  while (completed_.linked()) {
    const std::unique_ptr<Flush> flush(&Flush::at(completed_.next));
    flush->node.unlink();
  }
  while (under_way_.linked()) {
    Flush& flush = Flush::at(under_way_.next);
    flush.node.unlink();
    flush.list = nullptr;
  }
}

ucs_status_t LowerFlushes::start(const void* ep, uct_ep_h lower, unsigned flags,
                                 uct_completion_t* comp) noexcept {
  if (comp == nullptr) return uct_ep_flush(lower, flags, nullptr);
  std::unique_ptr<Flush> flush(new (std::nothrow) Flush);
  if (flush == nullptr) return UCS_ERR_NO_MEMORY;
  flush->lower = {.func = on_completed, .count = 1, .status = UCS_OK};
  flush->upper = comp;
  flush->ep = ep;
  flush->list = this;
  under_way_.push_back(flush->node);
  const ucs_status_t status = uct_ep_flush(lower, flags, &flush->lower);
  if (status == UCS_INPROGRESS) (void)flush.release();
  return status;
}

void LowerFlushes::on_completed(uct_completion_t* comp) noexcept {
  std::unique_ptr<Flush> flush(reinterpret_cast<Flush*>(comp));
  if (flush->list == nullptr) return;
  LowerFlushes& list = *flush->list;
  const AsyncGuard guard(list.threads_);
  flush->node.unlink();
  if (flush->upper != nullptr) list.completed_.push_back(flush.release()->node);
}

// The oldest that is completed; with `ep`, the oldest of that endpoint, be it under way. False:
// there is none left.
bool LowerFlushes::complete_next(const void* ep) noexcept {
  uct_completion_t* upper;
  ucs_status_t status;
  {
    const AsyncGuard guard(threads_);
    util::ListNode* node = completed_.next;
    while (node != &completed_ && ep != nullptr && Flush::at(node).ep != ep) node = node->next;
    if (node != &completed_) {
      const std::unique_ptr<Flush> flush(&Flush::at(node));
      node->unlink();
      upper = flush->upper;
      status = flush->lower.status;
    } else {
      if (ep == nullptr) return false;
      node = under_way_.next;
      while (node != &under_way_ && Flush::at(node).ep != ep) node = node->next;
      if (node == &under_way_) return false;
      Flush::at(node).ep = nullptr;
      upper = std::exchange(Flush::at(node).upper, nullptr);
      status = UCS_ERR_CANCELED;
    }
  }
  invoke_completion(upper, status);
  return true;
}

// A completion may do anything with the lists, which are looked through anew behind it.
unsigned LowerFlushes::run() noexcept {
  unsigned count = 0;
  while (complete_next(nullptr)) ++count;
  return count;
}

void LowerFlushes::cancel(const void* ep) noexcept {
  while (complete_next(ep)) {}
}

}  // namespace verity::uct
