// SPDX-License-Identifier: BSD-3-Clause
//
// The last frames of a closing interface: they are seen through for a bounded time
// (UCX_VERITY_LINGER), then the links are closed.
#ifndef VERITY_UCT_PROGRESS_LINGERING_CLOSE_H
#define VERITY_UCT_PROGRESS_LINGERING_CLOSE_H

#include "uct/idle/idle_progress.h"
#include "uct/links/link_set.h"

namespace verity::uct {

class LingeringClose {
 public:
  LingeringClose(LinkSet& links, IdleProgress& idle) noexcept
      : core_(links.core()), links_(links), idle_(idle) {}
  // False: some peer was given up, or did not get our BYE, and may send something later.
  [[nodiscard]] bool run() noexcept;

 private:
  void wait_for_acknowledgements() noexcept;
  void close_links() noexcept;
  void turn(uint64_t now) noexcept;
  [[nodiscard]] bool is_idle() noexcept {
    return query_hub([](const link::Hub& hub) { return hub.is_idle(); });
  }
  [[nodiscard]] uint32_t acknowledged() noexcept;
  void retransmit_all() noexcept;
  template <typename Question>
  [[nodiscard]] bool query_hub(Question&& question) noexcept {
    const AsyncGuard guard(core_.threads);
    return question(*core_.hub);
  }

  IfaceCore& core_;
  LinkSet& links_;
  IdleProgress& idle_;
};

}  // namespace verity::uct

#endif
