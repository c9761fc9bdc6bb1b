// SPDX-License-Identifier: BSD-3-Clause
//
// Flush and check. A flush of an endpoint covers what was started before it, and ends although more
// is started all the time. Active messages are flushed when they are acknowledged, or when the link
// owns a copy of what is not and the peer has been silent for a while: waiting on would hang a rank
// whose peer left first (links/patience.h). Puts are flushed when they are applied. A flush that
// cancels, or of a link that failed, waits half a second at most for a send that the lower
// transport is in the middle of.
#ifndef VERITY_UCT_PROGRESS_FLUSHER_H
#define VERITY_UCT_PROGRESS_FLUSHER_H

#include "uct/links/flush_queue.h"
#include "uct/progress/lower_completions.h"
#include "uct/receiving/delivery.h"

namespace verity::uct {

class Flusher {
 public:
  Flusher(LinkSet& links, Delivery& delivery) noexcept
      : core_(links.core()), links_(links), delivery_(delivery), lower_(links.core().threads) {}

  // As uct_ep_flush() of `ep`, or uct_iface_flush() with nullptr.
  [[nodiscard]] ucs_status_t flush(LinkEp* ep, unsigned flags, uct_completion_t* comp) noexcept;
  // As uct_ep_check() of `ep`. With a completion, from UCX 1.22 on, the lower transport may answer
  // later; the completion is then made as those of flushes are.
  [[nodiscard]] ucs_status_t check(LinkEp& ep, unsigned flags, uct_completion_t* comp) noexcept;
  // Tries those that wait, and makes the upper completions of those that are over; how many.
  unsigned run() noexcept;
  [[nodiscard]] bool empty() const noexcept { return waiting_.empty() && lower_.empty(); }
  // Upper completions wait for run().
  [[nodiscard]] bool must_run() const noexcept { return !lower_.empty(); }
  // The link has failed: the flushes of its endpoints end in run(). They do not wait for the lower
  // transport, which does not know of it when it cannot invalidate endpoints. With the guard held.
  void link_failed(UctLink& l) noexcept;
  // The endpoint goes. Calls its completions: not with the guard held.
  void cancel(LinkEp& ep) noexcept;
  // The same with its reads, without a flush before.
  void abandon_reads(LinkEp& ep) noexcept;

 private:
  using Queue = FlushQueue<LinkEp>;
  [[nodiscard]] ucs_status_t try_flush(const Queue::Request& request) noexcept;
  [[nodiscard]] bool may_flush_all() noexcept;
  [[nodiscard]] static Covered covered_now(LinkEp& ep) noexcept;
  [[nodiscard]] bool has_let_go(LinkEp& ep) noexcept;
  [[nodiscard]] bool applied(UctLink& l, uint32_t put_mark) noexcept;

  IfaceCore& core_;
  LinkSet& links_;
  Delivery& delivery_;
  Queue waiting_;
  LowerCompletions lower_;
};

}  // namespace verity::uct

#endif
