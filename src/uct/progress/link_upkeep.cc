// SPDX-License-Identifier: BSD-3-Clause
#include "uct/progress/link_upkeep.h"

#include "uct/compat/ucp_errors.h"
#include "uct/process/process.h"
#include "uct/process/ucx_log.h"

namespace verity::uct {

namespace {

// To the upper layer. Not UCS_OK: it has no error handler.
ucs_status_t report(uct_iface_h iface, uct_ep_h ep, ucs_status_t status) noexcept {
  if constexpr (kUnhandledMessage == nullptr) return uct_iface_handle_ep_err(iface, ep, status);
  const LogSearch search(kUnhandledMessage);
  const ucs_status_t result = uct_iface_handle_ep_err(iface, ep, status);
  return search.found() ? UCS_ERR_UNSUPPORTED : result;
}

}  // namespace

size_t LinkUpkeep::count_due() noexcept {
  const AsyncGuard guard(core_.threads);
  size_t count = 0;
  util::ListNode& attention = links_.attention();
  for (const util::ListNode* node = attention.next; node != &attention; node = node->next) ++count;
  return count;
}

UctLink* LinkUpkeep::next_due() noexcept {
  const AsyncGuard guard(core_.threads);
  util::ListNode& attention = links_.attention();
  if (!attention.linked()) return nullptr;
  UctLink& l = UctLink::in_attention(attention.next);
  l.attention_node().unlink();
  return &l;
}

// Those that come meanwhile have their turn in the next progress, or in that of a callback, which
// may wait there for any of the others: they stay in the list until they are attended to.
unsigned LinkUpkeep::attend() noexcept {
  unsigned count = 0;
  for (size_t due = count_due(); due != 0; --due) {
    UctLink* l = next_due();
    if (l == nullptr) break;
    count += attend(*l);
  }
  return count;
}

unsigned LinkUpkeep::attend(UctLink& l) noexcept {
  unsigned count = 0;
  bool is_to_report;
  {
    const AsyncGuard guard(core_.threads);
    if (l.no_lower_endpoint && !l.to_ep && !l.failed() && l.eps.linked()) {
      const ucs_status_t status = links_.ensure_lower(l);
      if (status != UCS_OK) links_.give_up(l, status);
    }
    const bool lost = l.is_lost();
    if (sender_.needs_push(l)) sender_.push_stored(l);
    if (lost && core_.onesided != nullptr) {
      core_.onesided->forget(l);
      if (l.open != 0) core_.onesided->abort(l);
      if (l.open != 0) links_.request_attention(l);
    }
    is_to_report = l.failed() && !l.reported;
    if (is_to_report) flusher_.link_failed(l);
    ++l.attended;
  }
  if (is_to_report) report_failure(l);
  if (l.deferred || !l.pending.empty()) count += run_pending(l);
  --l.attended;
  if (!l.eps.linked()) reap(l);
  return count;
}

// Whether something will call for attention once a message can be sent again. False: it can now.
bool LinkUpkeep::awaits_room(UctLink& l) noexcept {
  const bool window = core_.hub->sender.can_send(l, wire::Class::kSync) &&
                      core_.hub->sender.can_send(l, wire::Class::kAsync);
  const bool lower = l.lower_refused && sender_.wait_for_lower(l);
  const bool reads = core_.onesided != nullptr && core_.onesided->must_wait(l);
  return !window || lower || reads || l.deferred;
}

// Until one of them finds no room. Each may make endpoints, destroy others, or purge this queue.
unsigned LinkUpkeep::run_pending(UctLink& l) noexcept {
  unsigned count = 0;
  PendingQueue::Of of;
  const auto next = [&]() -> uct_pending_req_t* {
    const AsyncGuard guard(core_.threads);
    if (fences_.is_behind_fence(l)) return nullptr;
    uct_pending_req_t* request = l.pending.pop(&of);
    l.behind_pending = l.deferred || !l.pending.empty();
    l.begin_turn();
    return request;
  };
  while (uct_pending_req_t* request = next()) {
    const ucs_status_t status = run(l, request, of.epoch);
    if (status == UCS_OK) {
      ++count;
      continue;
    }
    const AsyncGuard guard(core_.threads);
    l.pending.push_front(request, of);
    if (status != UCS_INPROGRESS) break;
    ++count;
  }
  const AsyncGuard guard(core_.threads);
  l.in_turn = false;
  if (l.pending.empty()) l.deferred = fences_.is_behind_fence(l);
  l.behind_pending = l.deferred || !l.pending.empty();
  if (l.deferred || (l.behind_pending && !awaits_room(l))) links_.request_attention(l);
  return count;
}

ucs_status_t LinkUpkeep::run(UctLink& l, uct_pending_req_t* request, uint32_t epoch) noexcept {
  const WorkerGroup::InEpoch then(core_.group, epoch, &l);
  const ucs_status_t status = request->func(request);
  const AsyncGuard guard(core_.threads);
  l.in_turn = false;
  return status;
}

// Reported once to each endpoint. Where it is not handled, the receives that wait on the peer would
// never end: the process then aborts, with one line. Not when the peer had sent its BYE: it closed
// in good order, as ranks do at the end of a job, and stock UCX goes on as well. Nor when nothing
// was left to do, as its BYE may be what was lost; nor when neither side ever used the link: then
// the peer may not know of it, and cannot send a BYE. Mode off passes what is sent, and has no BYE:
// its ends are stock UCX's as well.
void LinkUpkeep::report_failure(UctLink& l) noexcept {
  const ucs_status_t status = l.failure;
  l.reported = true;
  const OnFailure policy = core_.options.on_failure;
  const bool harmless = l.is_off() || l.ended_well();
  bool handled = harmless || policy != OnFailure::kAbort;
  util::ListNode reported;
  while (l.eps.linked() && handled) {
    auto* ep = &LinkEp::in_link(l.eps.next);
    ep->link_node().unlink();
    reported.push_back(ep->link_node());
    const ucs_status_t result = report(core_.wrap.handle(), ep->handle(), status);
    handled = result == UCS_OK || harmless || policy == OnFailure::kError;
  }
  while (reported.linked()) {
    util::ListNode* node = reported.next;
    node->unlink();
    l.eps.push_back(*node);
  }
  if (!handled) process().abort_job(core_.lower_name(), l.peer_uid, status);
}

// A link without endpoints goes when it has nothing left to do; one to an interface stays for as
// long as the peer may still send.
void LinkUpkeep::reap(UctLink& l) noexcept {
  const AsyncGuard guard(core_.threads);
  if (l.attended != 0) return;  // a callback progresses the worker: by the call around it
  // So does the handler of a message, perhaps of this link: Hub::delivered() looks at it
  // afterwards.
  if (core_.upcalls != 0) return links_.request_attention(l);
  if (link::ZeroCopy::has_unbounced(l) || l.open != 0)
    return links_.request_attention(l);  // the lower transport is still at buffers
  if (l.is_lost() || l.is_off()) return drop(l);
  if (!l.to_ep || !l.orphan) return;
  if (l.in_flight() || l.control.any()) return links_.request_attention(l);
  if (l.close_sent) return drop(l);
  l.close_sent = true;
  core_.hub->lifecycle.close(l);
  links_.request_attention(l);
}

// In mode off the lower endpoint ends with the upper one, and the sends that it reads with it.
void LinkUpkeep::unused(UctLink& l) noexcept {
  if (l.is_off()) {
    if (l.attended == 0 && core_.upcalls == 0) return drop(l);
    end_sends(l);
  }
  links_.request_attention(l);
}

// Where a handler, or a callback of the link, is on the stack, which lets the link stay. The
// handler may be of a message that tcp is reading in that very lower endpoint: it stays too, if a
// flush that cancels has nothing to wait for.
void LinkUpkeep::end_sends(UctLink& l) noexcept {
  links_.give_up(l, UCS_ERR_CANCELED);
  ++l.attended;  // a completion may progress the worker
  const ucs_status_t status = uct_ep_flush(l.lower.get(), UCT_FLUSH_FLAG_CANCEL, nullptr);
  --l.attended;
  if (status != UCS_OK) links_.close_lower(l);
}

ucs_status_t LinkUpkeep::add_pending(LinkEp& ep, uct_pending_req_t* request) noexcept {
  UctLink& l = ep.link();
  if (l.is_lost()) return UCS_ERR_BUSY;
  if (l.pending.empty() && !awaits_room(l)) return UCS_ERR_BUSY;
  l.pending.push_back(request, {&ep, core_.group.epoch()});
  l.behind_pending = true;
  return UCS_OK;
}

void LinkUpkeep::push_stored() noexcept {
  util::ListNode& attention = links_.attention();
  for (util::ListNode* node = attention.next; node != &attention; node = node->next) {
    UctLink& l = UctLink::in_attention(node);
    if (sender_.needs_push(l)) sender_.push_stored(l);
  }
}

void LinkUpkeep::drop(UctLink& l) noexcept {
  if (core_.onesided != nullptr) core_.onesided->forget(l);
  if (l.open != 0) core_.onesided->abort(l);
  links_.remove(l);
}

}  // namespace verity::uct
