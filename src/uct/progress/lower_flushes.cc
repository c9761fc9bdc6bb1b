// SPDX-License-Identifier: BSD-3-Clause
#include "uct/progress/lower_flushes.h"

#include <memory>
#include <new>
#include <utility>

namespace verity::uct {

// Freed by its completion, which comes at the latest when the lower endpoint is destroyed.
struct LowerFlushes::Flush {
  uct_completion_t lower;
  uct_completion_t* upper;  // nullptr: canceled
  const void* ep;
  const ThreadRules* threads;
  util::ListNode node;
};

LowerFlushes::~LowerFlushes() {
  while (under_way_.linked()) under_way_.next->unlink();
}

ucs_status_t LowerFlushes::start(const void* ep, uct_ep_h lower, unsigned flags,
                                 uct_completion_t* comp) noexcept {
  if (comp == nullptr) return uct_ep_flush(lower, flags, nullptr);
  std::unique_ptr<Flush> flush(new (std::nothrow) Flush);
  if (flush == nullptr) return UCS_ERR_NO_MEMORY;
  flush->lower = {.func = completed, .count = 1, .status = UCS_OK};
  flush->upper = comp;
  flush->ep = ep;
  flush->threads = &threads_;
  under_way_.push_back(flush->node);
  const ucs_status_t status = uct_ep_flush(lower, flags, &flush->lower);
  if (status == UCS_INPROGRESS) (void)flush.release();
  return status;
}

void LowerFlushes::completed(uct_completion_t* comp) noexcept {
  std::unique_ptr<Flush> flush(reinterpret_cast<Flush*>(comp));
  uct_completion_t* upper;
  {
    const AsyncGuard guard(*flush->threads);
    flush->node.unlink();
    upper = flush->upper;
  }
  if (upper != nullptr) invoke_completion(upper, comp->status);
}

// The upper completion of one of the endpoint's, nullptr: there is none left.
uct_completion_t* LowerFlushes::take_of(const void* ep) noexcept {
  const AsyncGuard guard(threads_);
  for (util::ListNode* node = under_way_.next; node != &under_way_; node = node->next) {
    Flush& flush = *VERITY_CONTAINER_OF(node, Flush, node);
    if (flush.ep != ep) continue;
    node->unlink();
    return std::exchange(flush.upper, nullptr);
  }
  return nullptr;
}

// A completion may do anything with the list, which is looked through anew behind it.
void LowerFlushes::cancel(const void* ep) noexcept {
  while (uct_completion_t* comp = take_of(ep)) invoke_completion(comp, UCS_ERR_CANCELED);
}

}  // namespace verity::uct
