// SPDX-License-Identifier: BSD-3-Clause
//
// Operations of an endpoint that the lower transport completes, such as flushes. It may do so
// whenever it is called: in the progress of an idle interface, in UCX's asynchronous thread, inside
// another operation. So the upper completions wait for this layer's progress. UCX's transports
// complete what is under way, canceled, when the endpoint is destroyed, and UCP counts on it; the
// lower endpoint may outlive the upper one (links/uct_link.h), so cancel() does it here.
#ifndef VERITY_UCT_PROGRESS_LOWER_COMPLETIONS_H
#define VERITY_UCT_PROGRESS_LOWER_COMPLETIONS_H

#include <utility>

#include "uct/idle/thread_rules.h"
#include "util/list.h"

namespace verity::uct {

class LowerCompletions {
 public:
  explicit LowerCompletions(const ThreadRules& threads) noexcept : threads_(threads) {}
  ~LowerCompletions();
  LowerCompletions(const LowerCompletions&) = delete;
  LowerCompletions& operator=(const LowerCompletions&) = delete;

  using Operation = ucs_status_t (*)(uct_ep_h lower, unsigned flags, uct_completion_t* comp);
  // Starts the operation on the lower endpoint, for the upper one `ep`.
  [[nodiscard]] ucs_status_t start(Operation operation, const void* ep, uct_ep_h lower,
                                   unsigned flags, uct_completion_t* comp) noexcept;
  // run() has nothing to do.
  [[nodiscard]] bool empty() const noexcept { return !completed_.linked(); }
  // Makes the upper completions of what the lower transport has completed; how many.
  unsigned run() noexcept;
  // The upper endpoint goes: so do its operations, each with its completion.
  void cancel(const void* ep) noexcept;
  // Calls accept(flags, comp) for each such operation of `ep` that the lower transport has not
  // completed. Where it returns true the caller makes the upper completion, and the lower one is
  // ignored.
  template <typename Accept>
  void take_back(Operation operation, const void* ep, Accept&& accept) noexcept;

 private:
  // Freed when both the lower transport and the upper endpoint are done with it. The lower
  // transport completes it at the latest when the lower endpoint is destroyed.
  struct Pending {
    uct_completion_t lower;
    uct_completion_t* upper;  // nullptr: canceled, or taken back
    Operation operation;
    unsigned flags;
    const void* ep;
    LowerCompletions* list;  // nullptr: destroyed
    util::ListNode node;

    static Pending& at(util::ListNode* node) noexcept {
      return *VERITY_CONTAINER_OF(node, Pending, node);
    }
    uct_completion_t* disown() noexcept {
      ep = nullptr;
      return std::exchange(upper, nullptr);
    }
  };
  static void on_completed(uct_completion_t* comp) noexcept;
  bool complete_next(const void* ep) noexcept;

  const ThreadRules& threads_;
  util::ListNode under_way_;
  util::ListNode completed_;  // below, not above
};

template <typename Accept>
void LowerCompletions::take_back(Operation operation, const void* ep, Accept&& accept) noexcept {
  for (util::ListNode* node = under_way_.next; node != &under_way_; node = node->next) {
    Pending& pending = Pending::at(node);
    if (pending.ep == ep && pending.operation == operation &&
        accept(pending.flags, pending.upper)) {
      (void)pending.disown();
    }
  }
}

}  // namespace verity::uct

#endif
