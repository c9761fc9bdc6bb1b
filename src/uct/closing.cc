// SPDX-License-Identifier: BSD-3-Clause
// Closing an interface: the last frames are seen through for a bounded time, then goodbye.
#include <sched.h>

#include "uct/process.h"
#include "uct/verity_ep.h"

namespace verity::uct {

namespace {

// After our goodbye nothing is waited for but the lower transport taking it.
constexpr uint64_t kByeTime = 20'000'000;  // ns

}  // namespace

ucs_status_t VerityIface::ep_failed(WrapEp& ep, ucs_status_t status) noexcept {
  const AsyncGuard guard(*this);
  give_up(static_cast<VerityEp&>(ep).link(), status);
  return UCS_OK;
}

// The lower endpoints belong to the links.
ucs_status_t VerityIface::unknown_ep_failed(uct_ep_h lower_ep, ucs_status_t status) noexcept {
  const AsyncGuard guard(*this);
  const auto it = by_lower_.find(lower_ep);
  if (it != by_lower_.end()) give_up(*it->second, status);
  return UCS_OK;
}

void VerityIface::closing() noexcept {
  if (hub_ == nullptr) return;
  process().closing();
  leave_neighbours();
  if (process().in_child()) return;  // of a fork: the parent's links are not ours to close
  stop_async_timer(true);
  stop_thread();
  closing_ = unusual_ = true;
  if (links_.linked() && !is_off()) close_links();
  while (links_.linked()) drop_link(UctLink::in_all(links_.next));
  group_.leave();
  if (progress_id_ != UCS_CALLBACKQ_ID_NULL) {
    ucs_callbackq_remove(&worker->super.progress_q, progress_id_);
    progress_id_ = UCS_CALLBACKQ_ID_NULL;
  }
}

void VerityIface::close_links() noexcept {
  const auto turn = [this](uint64_t now) {
    (void)uct_iface_progress(lower());
    const AsyncGuard guard(*this);
    (void)hub_->poll();
    (void)hub_->flush_owed();
    hub_->tick(now);
  };
  uint64_t now = monotonic_ns();
  const uint64_t until = now + options().linger;
  while (!hub_->quiet() && now < until) {
    turn(now);
    sched_yield();
    now = monotonic_ns();
  }
  hub_->say_bye();
  const uint64_t bye_until = now + kByeTime;
  do {
    turn(now);
    now = monotonic_ns();
  } while (hub_->owes() && now < bye_until);
  // tcp sends from its buffers only in progress.
  while (uct_iface_flush(lower(), UCT_FLUSH_FLAG_LOCAL, nullptr) == UCS_INPROGRESS && now < bye_until) {
    (void)uct_iface_progress(lower());
    now = monotonic_ns();
  }
}

}  // namespace verity::uct
