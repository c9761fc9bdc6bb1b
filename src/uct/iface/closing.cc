// SPDX-License-Identifier: BSD-3-Clause
// Closing an interface: the last frames are seen through for a bounded time, then goodbye.
#include <sched.h>

#include "uct/process/process.h"
#include "uct/process/quiet_lower.h"
#include "uct/iface/verity_ep.h"

namespace verity::uct {

namespace {

// The part of the time to linger after which nobody is waited for who has acknowledged nothing meanwhile: a peer that computes comes
// back long after it or not at all. Halfway through it all is sent once more, since the last frame may be what was lost.
constexpr uint64_t kSilentPart = 8;

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
  process().closing(uid_);
  leave_neighbours();
  if (process().in_child()) return;  // of a fork: the parent's links are not ours to close
  stop_async_timer(true);
  stop_thread();
  {
    const AsyncGuard guard(*this);  // the asynchronous thread receives until the lower transport is closed; from here on it makes no links
    closing_ = unusual_ = true;
  }
  const QuietLower quiet;
  if (links_.linked() && !is_off()) close_links();
  {
    const AsyncGuard guard(*this);
    while (links_.linked()) drop_link(UctLink::in_all(links_.next));
  }
  group_.leave();
  if (progress_id_ != UCS_CALLBACKQ_ID_NULL) {
    ucs_callbackq_remove(&worker->super.progress_q, progress_id_);
    progress_id_ = UCS_CALLBACKQ_ID_NULL;
  }
}

uint32_t VerityIface::acknowledged() noexcept {
  const AsyncGuard guard(*this);
  uint32_t sum = 0;
  for (util::ListNode* node = links_.next; node != &links_; node = node->next) {
    const UctLink& l = UctLink::in_all(node);
    sum += l.tx[0].una + l.tx[1].una;
  }
  return sum;
}

void VerityIface::repeat_all() noexcept {
  const AsyncGuard guard(*this);
  for (util::ListNode* node = links_.next; node != &links_; node = node->next) {
    UctLink& l = UctLink::in_all(node);
    if (l.in_flight() && !l.failed && !l.peer_gone) hub_->repeat(l);
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
  const auto ask_hub = [this](auto&& question) {
    const AsyncGuard guard(*this);
    return question(*hub_);
  };
  const auto is_quiet = [](const link::Hub& hub) { return hub.quiet(); };
  const auto owes = [](const link::Hub& hub) { return hub.owes(); };
  uint64_t now = monotonic_ns();
  const uint64_t until = now + options().linger;
  const uint64_t silence = options().linger / kSilentPart;
  uint64_t since = now;
  uint32_t mark = acknowledged();
  bool repeated = false;
  while (!ask_hub(is_quiet) && now < until && now - since < silence) {
    turn(now);
    // The peer may be another worker of this thread, which cannot make progress itself while this call lasts.
    serve_siblings(now, 0);
    sched_yield();
    now = monotonic_ns();
    if (const uint32_t seen = acknowledged(); seen != mark) {
      mark = seen;
      since = now;
      repeated = false;
    } else if (!repeated && now - since > silence / 2) {
      repeated = true;
      repeat_all();
    }
  }
  ask_hub([](link::Hub& hub) { hub.say_bye(); });
  const uint64_t bye_until = now + kByeTime;
  do {
    turn(now);
    now = monotonic_ns();
  } while (ask_hub(owes) && now < bye_until);
  // tcp sends from its buffers only in progress.
  while (uct_iface_flush(lower(), UCT_FLUSH_FLAG_LOCAL, nullptr) == UCS_INPROGRESS && now < bye_until) {
    (void)uct_iface_progress(lower());
    now = monotonic_ns();
  }
}

}  // namespace verity::uct
