// SPDX-License-Identifier: BSD-3-Clause
// This layer's share of progress: owed frames, timers, and every upper callback but the received
// messages: completions, pending requests, errors.
#include <ctime>

#include "uct/process/process.h"
#include "uct/iface/verity_ep.h"

namespace verity::uct {

uint64_t monotonic_ns() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

unsigned VerityIface::progress_cb(void* arg) noexcept {
  return static_cast<VerityIface*>(arg)->progress();
}

unsigned VerityIface::progress() noexcept {
  unsigned count = 0;
  bool timed;
  if (shared_) [[unlikely]] note_thread();
  {
    const AsyncGuard guard(*this);
    if (threaded_) [[unlikely]] count += uct_iface_progress(lower());
    timed = hub_->poll() || check_time_;
    if (timed) [[unlikely]] {
      check_time_ = false;
      hub_->tick(monotonic_ns());
    }
  }
  if (timed) [[unlikely]] serve_neighbours();
  progressing_.store(progressing_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (onesided_ != nullptr && !onesided_->idle()) [[unlikely]] count += onesided_->progress();
  if (has_work()) count += work();
  progressing_.store(progressing_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  return count;
}

// Whether work() has something to do. Another thread adds to it where there is one.
bool VerityIface::has_work() const noexcept {
  const AsyncGuard guard(*this);
  return done_first_ != nullptr || attention_.linked() || !deferred_.empty() || !flushes_.empty();
}

unsigned VerityIface::work() noexcept {
  unsigned count = run_completions();
  count += attend();
  count += run_deferred();
  return count + run_flushes();
}

void VerityIface::want_attention(UctLink& l) noexcept {
  if (!l.attention_node().linked()) attention_.push_back(l.attention_node());
}

unsigned VerityIface::run_completions() noexcept {
  unsigned count = 0;
  for (;;) {
    uct_completion_t* upper;
    ucs_status_t status;
    {
      const AsyncGuard guard(*this);
      link::Slot* slot = done_first_;
      if (slot == nullptr) return count;
      const auto* state = reinterpret_cast<const ZcopyState*>(slot->source->port);
      done_first_ = state->next_done;
      upper = state->upper;
      status = state->status;
      hub_->release(slot);
    }
    uct_invoke_completion(upper, status);
    ++count;
  }
}

// An endpoint goes: what the link owns of its sends is over for the upper layer, as on UCX's own transports.
void VerityIface::end_sends(const UctLink& l) noexcept {
  for (;;) {
    uct_completion_t* upper = nullptr;
    ucs_status_t status = UCS_OK;
    {
      const AsyncGuard guard(*this);
      link::Slot* slot = take_done(l);
      if (slot == nullptr) return;
      const auto* state = reinterpret_cast<const ZcopyState*>(slot->source->port);
      upper = state->upper;
      status = state->status;
      hub_->release(slot);
    }
    uct_invoke_completion(upper, status);
  }
}

// The oldest one of that link that waits for its completion.
link::Slot* VerityIface::take_done(const UctLink& l) noexcept {
  const auto state_of = [](link::Slot* slot) { return reinterpret_cast<ZcopyState*>(slot->source->port); };
  link::Slot* before = nullptr;
  link::Slot* slot = done_first_;
  while (slot != nullptr && state_of(slot)->link != &l) {
    before = slot;
    slot = state_of(slot)->next_done;
  }
  if (slot == nullptr) return nullptr;
  (before == nullptr ? done_first_ : state_of(before)->next_done) = state_of(slot)->next_done;
  if (done_last_ == slot) done_last_ = before;
  return slot;
}

UctLink* VerityIface::next_due(util::ListNode& due) noexcept {
  const AsyncGuard guard(*this);
  if (!due.linked()) return nullptr;
  UctLink& l = UctLink::in_attention(due.next);
  l.attention_node().unlink();
  return &l;
}

unsigned VerityIface::attend() noexcept {
  util::ListNode due;
  {
    const AsyncGuard guard(*this);
    while (attention_.linked()) {
      util::ListNode* node = attention_.next;
      node->unlink();
      due.push_back(*node);
    }
  }
  unsigned count = 0;
  while (UctLink* l = next_due(due)) count += attend(*l);
  return count;
}

unsigned VerityIface::attend(UctLink& l) noexcept {
  unsigned count = 0;
  bool is_to_report;
  {
    const AsyncGuard guard(*this);
    if (l.corked && !l.to_ep && !l.failed && l.eps.linked()) {
      const ucs_status_t status = ensure_lower(l);
      if (status != UCS_OK) give_up(l, status);
    }
    const bool lost = l.failed || l.peer_gone;
    if (needs_push(l)) push_stored(l);
    if (lost && onesided_ != nullptr) {
      onesided_->forget(l);
      if (l.open != 0) onesided_->abort(l);
      if (l.open != 0) want_attention(l);
    }
    is_to_report = l.failed && !l.told;
  }
  if (is_to_report) tell_failure(l);
  if (l.held || !l.pending.empty()) count += run_pending(l);
  if (!l.eps.linked()) reap(l);
  return count;
}

// Whether something will call for attention once a message can be sent again. False: it can now.
bool VerityIface::awaits_room(UctLink& l) noexcept {
  const bool window = hub_->can_send(l, wire::Class::kSync) && hub_->can_send(l, wire::Class::kAsync);
  const bool lower = l.lower_refused && wait_for_lower(l);
  const bool reads = onesided_ != nullptr && onesided_->must_wait(l);
  return !window || lower || reads || l.held;
}

void VerityIface::wake_pending() noexcept {
  for (util::ListNode* node = links_.next; node != &links_; node = node->next) {
    UctLink& l = UctLink::in_all(node);
    if (!l.pending.empty()) want_attention(l);
  }
}

// What was stored while there was no way to the peer: it greeted us, and was to be answered inside its message.
void VerityIface::push_stored(UctLink& l) noexcept {
  const ucs_status_t status = ensure_lower(l);
  if (status != UCS_OK) return give_up(l, status);
  push_unsent(l);
}

// Until one of them finds no room. Each may make endpoints, destroy others, or purge this queue.
unsigned VerityIface::run_pending(UctLink& l) noexcept {
  unsigned count = 0;
  PendingQueue::Of of;
  const auto next = [&]() -> uct_pending_req_t* {
    const AsyncGuard guard(*this);
    if (is_behind_fence(l)) return nullptr;
    l.gated = false;  // these are the oldest
    return l.pending.pop(&of);
  };
  while (uct_pending_req_t* request = next()) {
    const ucs_status_t status = run(l, request, of.epoch);
    if (status == UCS_OK) {
      ++count;
      continue;
    }
    const AsyncGuard guard(*this);
    l.pending.push_front(request, of);
    if (status != UCS_INPROGRESS) break;
    ++count;
  }
  const AsyncGuard guard(*this);
  if (l.pending.empty()) l.held = is_behind_fence(l);
  l.gated = l.held || !l.pending.empty();
  if (l.held || (l.gated && !awaits_room(l))) want_attention(l);
  return count;
}

ucs_status_t VerityIface::run(UctLink& l, uct_pending_req_t* request, uint32_t epoch) noexcept {
  const WorkerGroup::InEpoch then(group_, epoch);
  l.trying = true;
  const ucs_status_t status = request->func(request);
  l.trying = false;
  return status;
}

// Each endpoint hears of it once. Where nobody handles it, the receives that wait on the peer would
// never end: the process then aborts, with one line. Not when the peer had said goodbye: it closed in
// good order, as ranks do at the end of a job, and stock UCX goes on as well. Nor when neither side ever used
// the link: then the peer, which may not know of it, has nobody to say goodbye to. Mode off passes what is sent,
// and says no goodbyes: its ends are stock UCX's as well.
void VerityIface::tell_failure(UctLink& l) noexcept {
  const ucs_status_t status = l.failure;
  l.told = true;
  const OnFailure policy = options().on_failure;
  const bool harmless = l.peer_gone || l.mode == link::Mode::kOff || l.never_used();
  bool handled = harmless || policy != OnFailure::kAbort;
  util::ListNode told;
  while (l.eps.linked() && handled) {
    auto* ep = static_cast<VerityEp*>(static_cast<InLink*>(l.eps.next));
    ep->link_node().unlink();
    told.push_back(ep->link_node());
    const ucs_status_t result = uct_iface_handle_ep_err(handle(), ep->handle(), status);
    handled = result == UCS_OK || harmless || policy == OnFailure::kError;
  }
  while (told.linked()) {
    util::ListNode* node = told.next;
    node->unlink();
    l.eps.push_back(*node);
  }
  if (!handled) process().abort_job(lower_tl_name(), l.peer_uid, status);
}

// A link without endpoints goes when it has nothing left to do; one to an interface stays for as
// long as the peer may still send.
void VerityIface::reap(UctLink& l) noexcept {
  const AsyncGuard guard(*this);
  if (hub_->has_unowned(l) || l.open != 0) return want_attention(l);  // the lower transport is still at buffers
  if (l.failed || l.peer_gone) return drop_link(l);
  if (!l.to_ep || !l.orphan) return;
  if (l.in_flight() || l.owed != 0 || l.owe_bye) return want_attention(l);
  if (l.said_bye) return drop_link(l);
  l.said_bye = true;
  hub_->say_bye(l);
  want_attention(l);
}

// --- enabling and pending, the upper layer's side ---

void VerityIface::enable_progress(unsigned flags) noexcept {
  if (is_off()) WrapIface::sync_am_handlers();
  uct_iface_progress_enable(lower(), flags);
  if (threaded_) take_over_progress(flags);
  lower_enabled_ = true;
  if (progress_id_ != UCS_CALLBACKQ_ID_NULL) return;
  const bool safe = (flags & UCT_PROGRESS_THREAD_SAFE) != 0;
  ucs_callbackq_t* queue = &worker->super.progress_q;
  progress_id_ = safe ? ucs_callbackq_add_safe(queue, progress_cb, this, UCS_CALLBACKQ_FLAG_FAST)
                      : ucs_callbackq_add(queue, progress_cb, this, UCS_CALLBACKQ_FLAG_FAST);
}

// progress() calls the lower transport's, with the thread kept out, so that must not stand in the worker's list. It was enabled all
// the same, as rc posts its first receives then; ud's own disabling would stop its timer too.
void VerityIface::take_over_progress(unsigned flags) noexcept {
  if (has_async_) return uct_base_iface_progress_disable(lower(), flags);
  uct_iface_progress_disable(lower(), flags);
}

// Only when nothing is left to do: acknowledgements and repairs are owed whoever is waiting.
void VerityIface::disable_progress(unsigned flags) noexcept {
  if (links_.linked()) return;
  uct_iface_progress_disable(lower(), flags);
  lower_enabled_ = false;
  if (progress_id_ == UCS_CALLBACKQ_ID_NULL) return;
  ucs_callbackq_t* queue = &worker->super.progress_q;
  if ((flags & UCT_PROGRESS_THREAD_SAFE) != 0) {
    ucs_callbackq_remove_safe(queue, progress_id_);
  } else {
    ucs_callbackq_remove(queue, progress_id_);
  }
  progress_id_ = UCS_CALLBACKQ_ID_NULL;
}

void Ops::progress_enable(uct_iface_h iface, unsigned flags) noexcept {
  VerityIface::of(iface).check_handlers();
  VerityIface::of(iface).enable_progress(flags);
}

void Ops::progress_disable(uct_iface_h iface, unsigned flags) noexcept {
  VerityIface::of(iface).disable_progress(flags);
}

unsigned Ops::iface_progress(uct_iface_h iface) noexcept {
  VerityIface& self = VerityIface::of(iface);
  const unsigned count = self.threaded_ ? 0 : uct_iface_progress(self.lower());
  return count + self.progress();
}

ucs_status_t Ops::pending_add(uct_ep_h ep, uct_pending_req_t* request, unsigned flags) noexcept {
  VerityEp& self = VerityEp::of(ep);
  VerityIface& f = self.verity();
  const AsyncGuard guard(f);
  UctLink& l = self.link();
  if (l.mode == link::Mode::kOff) return uct_ep_pending_add(l.lower.get(), request, flags);
  if (l.failed || l.peer_gone) return UCS_ERR_BUSY;
  if (l.pending.empty() && !f.awaits_room(l)) return UCS_ERR_BUSY;
  l.pending.push_back(request, {&self, f.group_.epoch()});
  l.gated = true;
  return UCS_OK;
}

void Ops::pending_purge(uct_ep_h ep, uct_pending_purge_callback_t callback, void* arg) noexcept {
  VerityEp& self = VerityEp::of(ep);
  const AsyncGuard guard(self.verity());
  UctLink& l = self.link();
  if (l.mode == link::Mode::kOff) return uct_ep_pending_purge(l.lower.get(), callback, arg);
  l.purge_pending(&self, callback, arg);
}

}  // namespace verity::uct
