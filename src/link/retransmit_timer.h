// SPDX-License-Identifier: BSD-3-Clause
// The retransmission timeout: one deadline per link with frames in flight. A peer that computes
// sends nothing either: it is probed with exponential backoff, and never given up here.
#ifndef VERITY_LINK_RETRANSMIT_TIMER_H
#define VERITY_LINK_RETRANSMIT_TIMER_H

#include "link/port/interface.h"
#include "link/zero_copy.h"

namespace verity::link {

class RetransmitTimer {
 public:
  RetransmitTimer(const Interface& iface, ControlQueue& control, ZeroCopy& zero_copy) noexcept
      : iface_(iface), control_(control), zero_copy_(zero_copy) {}

  // A frame is in flight where none was.
  void arm(Link& link) noexcept;
  static void stop(Link& link) noexcept { link.timer.deadline.node.unlink(); }
  // A frame came from the peer. After a long pause of its frames the next probe is due soon, not
  // when the backed-off interval ends.
  void probe_soon(Link& link) noexcept;

  // Runs what has expired. False: `now`, in ns, is so near the last call's that nothing can have.
  bool advance(uint64_t now) noexcept;
  // ns; UINT64_MAX when no timer runs.
  [[nodiscard]] uint64_t next_deadline() const noexcept { return wheel_.next(); }
  // Of the last advance(), ns.
  [[nodiscard]] uint64_t now() const noexcept { return now_; }

 private:
  void expire(Link& link) noexcept;
  void on_timeout(Link& link) noexcept;

  const Interface& iface_;
  ControlQueue& control_;
  ZeroCopy& zero_copy_;
  TimerWheel wheel_;
  uint64_t now_ = 0;
};

}  // namespace verity::link

#endif
