// SPDX-License-Identifier: BSD-3-Clause
//
// Operations of an endpoint that the lower transport completes, such as flushes. It may do so
// whenever it is called: in the progress of an idle interface, in UCX's asynchronous thread, inside
// another operation. So the upper completions wait for this layer's progress. UCX's transports
// complete what is under way, canceled, when the endpoint is destroyed, and UCP counts on it; the
// lower endpoint may outlive the upper one (links/uct_link.h), so cancel() does it here.
#ifndef VERITY_UCT_PROGRESS_LOWER_COMPLETIONS_H
#define VERITY_UCT_PROGRESS_LOWER_COMPLETIONS_H

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

 private:
  struct Pending;
  static void on_completed(uct_completion_t* comp) noexcept;
  bool complete_next(const void* ep) noexcept;

  const ThreadRules& threads_;
  util::ListNode under_way_;
  util::ListNode completed_;  // below, not above
};

}  // namespace verity::uct

#endif
