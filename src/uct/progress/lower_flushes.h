// SPDX-License-Identifier: BSD-3-Clause
//
// Endpoint flushes that the lower transport completes. UCX's transports complete them, canceled,
// when their endpoint is destroyed, and UCP counts on it; the lower endpoint may outlive the upper
// one (links/uct_link.h), so the upper completion is called here.
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
  // The upper endpoint goes.
  void cancel(const void* ep) noexcept;

 private:
  struct Flush;
  static void completed(uct_completion_t* comp) noexcept;
  [[nodiscard]] uct_completion_t* take_of(const void* ep) noexcept;

  const ThreadRules& threads_;
  util::ListNode under_way_;
};

}  // namespace verity::uct

#endif
