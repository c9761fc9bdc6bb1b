// SPDX-License-Identifier: BSD-3-Clause
//
// Endpoint flushes that the lower transport completes. It may do so whenever it is called: in the
// progress of an idle interface, in UCX's asynchronous thread, inside another flush. So the upper
// completions wait for this layer's progress. UCX's transports complete flushes, canceled, when
// their endpoint is destroyed, and UCP counts on it; the lower endpoint may outlive the upper one
// (links/uct_link.h), so cancel() does it here.
#ifndef VERITY_UCT_PROGRESS_LOWER_FLUSHES_H
#define VERITY_UCT_PROGRESS_LOWER_FLUSHES_H

#include "uct/idle/thread_rules.h"
#include "util/list.h"

namespace verity::uct {

class LowerFlushes {
 public:
  explicit LowerFlushes(const ThreadRules& threads) noexcept : threads_(threads) {}
  ~LowerFlushes();
  LowerFlushes(const LowerFlushes&) = delete;
  LowerFlushes& operator=(const LowerFlushes&) = delete;

  // uct_ep_flush(lower) for an upper endpoint.
  [[nodiscard]] ucs_status_t start(const void* ep, uct_ep_h lower, unsigned flags,
                                   uct_completion_t* comp) noexcept;
  // run() has nothing to do.
  [[nodiscard]] bool empty() const noexcept { return !completed_.linked(); }
  // Makes the upper completions of what the lower transport has completed; how many.
  unsigned run() noexcept;
  // The upper endpoint goes: so do its flushes, each with its completion.
  void cancel(const void* ep) noexcept;

 private:
  struct Flush;
  static void on_completed(uct_completion_t* comp) noexcept;
  bool complete_next(const void* ep) noexcept;

  const ThreadRules& threads_;
  util::ListNode under_way_;
  util::ListNode completed_;  // below, not above
};

}  // namespace verity::uct

#endif
