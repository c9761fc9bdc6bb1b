// SPDX-License-Identifier: BSD-3-Clause
//
// What progress does for links that want attention: lower endpoints that could not be made before,
// frames that are stored, requests that wait for room, failures to report, and the end of links
// that no endpoint uses. Upper callbacks run in here, without the guard, and may do anything: make
// and destroy endpoints, purge queues, progress the worker again.
#ifndef VERITY_UCT_PROGRESS_LINK_UPKEEP_H
#define VERITY_UCT_PROGRESS_LINK_UPKEEP_H

#include "uct/onesided/fences.h"
#include "uct/onesided/onesided.h"
#include "uct/progress/flusher.h"

namespace verity::uct {

class LinkUpkeep {
 public:
  LinkUpkeep(FrameSender& sender, const Fences& fences, Flusher& flusher) noexcept
      : core_(sender.links().core()),
        links_(sender.links()),
        sender_(sender),
        fences_(fences),
        flusher_(flusher) {}

  // Of all links that want it now; how many callbacks were made.
  unsigned attend() noexcept;
  // Stored frames alone: no upper callbacks.
  void push_stored() noexcept;
  // As uct_ep_pending_add(), for a request of `ep`.
  [[nodiscard]] ucs_status_t add_pending(LinkEp& ep, uct_pending_req_t* request) noexcept;
  // Ends a link with all that is under way on it. Only from progress and closing,
  // and in mode off.
  void drop(UctLink& l) noexcept;
  // The last endpoint of that link was destroyed: it may be freed here.
  void unused(UctLink& l) noexcept;

 private:
  [[nodiscard]] size_t count_due() noexcept;
  [[nodiscard]] UctLink* next_due() noexcept;
  unsigned attend(UctLink& l) noexcept;
  unsigned run_pending(UctLink& l) noexcept;
  [[nodiscard]] ucs_status_t run(UctLink& l, uct_pending_req_t* request, uint32_t epoch) noexcept;
  [[nodiscard]] bool awaits_room(UctLink& l) noexcept;
  void report_failure(UctLink& l) noexcept;
  void reap(UctLink& l) noexcept;
  void end_sends(UctLink& l) noexcept;

  IfaceCore& core_;
  LinkSet& links_;
  FrameSender& sender_;
  const Fences& fences_;
  Flusher& flusher_;
};

}  // namespace verity::uct

#endif
