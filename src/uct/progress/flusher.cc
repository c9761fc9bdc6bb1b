// SPDX-License-Identifier: BSD-3-Clause
#include "uct/progress/flusher.h"

#include <utility>

#include "uct/links/patience.h"
#include "uct/process/clock.h"
#include "uct/sending/zero_copy.h"

namespace verity::uct {

// Whether the puts up to that mark are applied. Others may wait for that without progress of ours,
// so no time limits it, but for a peer that left and whose last word may be what was lost.
bool Flusher::applied(UctLink& l, uint32_t put_mark) noexcept {
  if (core_.onesided == nullptr || core_.onesided->client().puts_done(l, put_mark)) return true;
  core_.hub->sender.request_ack(l);
  return is_detached_for_good(l);
}

Covered Flusher::covered_now(LinkEp& ep) noexcept {
  const UctLink& l = ep.link();
  return {.psn = l.next_psns(), .put_mark = l.put_mark, .reads = ep.open_until_now()};
}

// Whether the lower transport may be flushed for all endpoints.
bool Flusher::may_flush_all() noexcept {
  if (core_.onesided != nullptr && !core_.onesided->has_completed_all()) return false;
  return !links_.any_of([this](UctLink& l) {
    if (l.has_unsent() || link::ZeroCopy::has_unbounced(l) || l.open != 0 ||
        !applied(l, l.put_mark))
      return true;
    return !l.pending.empty() && !l.is_lost();
  });
}

// Whether nothing reads the buffers of the endpoint's sends, all of which were copied where there
// was memory. A peer that reads nothing keeps the lower transport in the middle of a send: so long,
// and then the sends end, before the flush.
bool Flusher::has_let_go(LinkEp& ep) noexcept {
  UctLink& l = ep.link();
  if (link::ZeroCopy::has_unbounced(l)) {
    const uint64_t now = monotonic_ns();
    if (ep.let_go_at == 0) ep.let_go_at = now + kLetGo;
    if (now < ep.let_go_at || let_go(l, ep.serial()) || link::ZeroCopy::has_uncopied(l))
      return false;
  }
  ep.let_go_at = 0;
  return true;
}

// UCS_OK: done; UCS_INPROGRESS: the lower transport completes request.comp; UCS_ERR_NO_RESOURCE:
// to be tried again.
ucs_status_t Flusher::try_flush(const Queue::Request& request) noexcept {
  if (request.ep == nullptr) {
    if (!may_flush_all()) return UCS_ERR_NO_RESOURCE;
    return uct_iface_flush(core_.lower(), request.flags, request.comp);
  }
  UctLink& l = request.ep->link();
  const bool cancel = (request.flags & UCT_FLUSH_FLAG_CANCEL) != 0;
  if (cancel || l.is_lost()) core_.hub->zero_copy.bounce_all(l);
  if ((cancel || l.failed()) && request.ep->open != 0) core_.onesided->abort(l, request.ep);
  // A cancel below, where it is that endpoint's alone, ends what the lower transport is sending.
  const bool shared = l.eps.next != l.eps.prev;
  const bool ends_below = cancel && l.lower != nullptr && !shared && (l.to_ep || l.failed());
  const bool ends = cancel || l.failed();
  const Covered& covered = request.covered;
  // What the lower transport reads must have landed, whatever becomes of it.
  if (ends ? request.ep->open != 0 : !request.ep->has_ended(covered.reads))
    return UCS_ERR_NO_RESOURCE;
  const bool ready =
      ends_below || (ends ? has_let_go(*request.ep)
                          : !l.has_unsent_before(covered.psn) &&
                                !link::ZeroCopy::has_unbounced_before(l, covered.psn));
  if (!ready) return UCS_ERR_NO_RESOURCE;
  // What was in flight is lost. Mode off knows nothing of that.
  if (l.failed() && !cancel) {
    const bool well = !l.is_off() && l.ended_well();
    return well && !request.ep->take_loss() ? UCS_OK : l.failure;
  }
  if (l.lower == nullptr) return UCS_OK;
  // The link sees its frames through whatever becomes of the endpoint: no need of tcp's flush,
  // which waits for the peer's progress without end.
  if (!cancel && !l.failed() && l.mode() == link::Mode::kVerify) {
    if (!applied(l, covered.put_mark) || !is_settled(l, covered.psn)) return UCS_ERR_NO_RESOURCE;
    // Said once, and not by an interface's flush: UCP (1.13) does not survive that of a worker with
    // an error.
    ucs_status_t status = UCS_OK;
    if (request.ep->take_loss())
      status = l.peer_closed() ? UCS_ERR_CONNECTION_RESET : UCS_ERR_REJECTED;
    // What peers wait for in their flushes. On self that may deliver a repaired message, whose
    // handler may destroy the endpoint.
    (void)core_.hub->flush_control();
    return status;
  }
  // A cancel below would also stop what the other endpoints of this link have on their way. The
  // link owns copies of all that is left, so that nothing of the upper layer's is read any more: no
  // need to wait for the peer, as tcp's flush would.
  // The last endpoint's would stop the link itself, which acknowledges on, and may have another
  // endpoint: ud sends nothing again after a cancel.
  if (shared && l.mode() != link::Mode::kOff) return UCS_OK;
  if (!l.failed() && !l.to_ep && l.mode() == link::Mode::kVerify) return UCS_OK;
  const unsigned flags = shared ? unsigned{UCT_FLUSH_FLAG_LOCAL} : request.flags;
  const ucs_status_t status =
      lower_.start(uct_ep_flush, request.ep, l.lower.get(), flags, request.comp);
  if (cancel && l.to_ep && status != UCS_ERR_NO_RESOURCE) {
    // The lower endpoint is not to be used hereafter: rc takes its queue pair down.
    l.reported = true;  // it is the upper layer's own wish
    links_.give_up(l, UCS_ERR_CANCELED);
  }
  return status;
}

ucs_status_t Flusher::flush(LinkEp* ep, unsigned flags, uct_completion_t* comp) noexcept {
  const AsyncGuard guard(core_.threads);
  // Messages that wait for room come first: the upper layer then queues its flush behind them.
  if (ep != nullptr && (flags & UCT_FLUSH_FLAG_CANCEL) == 0) {
    UctLink& l = ep->link();
    if (l.must_wait() && !l.is_lost()) return UCS_ERR_NO_RESOURCE;
    l.in_turn = false;  // nothing is sent, and what its completion starts is behind what waits
  }
  // A wait for the lower transport that the caller gave up, as it may without a completion, is not
  // this one's.
  if (ep != nullptr && comp != nullptr && !waiting_.has(ep)) ep->let_go_at = 0;
  const Queue::Request request{ep, flags, comp, ep != nullptr ? covered_now(*ep) : Covered{}};
  const ucs_status_t status = try_flush(request);
  return status == UCS_ERR_NO_RESOURCE ? waiting_.add(request) : status;
}

// Without a completion the question is only whether to report a failure: reported already; not
// connected yet. With one it is whether the peer answers. UCX before 1.22 takes none.
ucs_status_t Flusher::check(LinkEp& ep, unsigned flags, uct_completion_t* comp) noexcept {
  const AsyncGuard guard(core_.threads);
  const UctLink& l = ep.link();
  if (l.failed()) return comp == nullptr ? UCS_OK : l.failure;
  if (l.lower == nullptr) return comp == nullptr ? UCS_OK : UCS_ERR_NO_RESOURCE;
  return lower_.start(uct_ep_check, &ep, l.lower.get(), flags, comp);
}

unsigned Flusher::run() noexcept {
  const unsigned count = lower_.run();
  return count + waiting_.run([this] { return AsyncGuard(core_.threads); },
                              [this](const Queue::Request& request) { return try_flush(request); });
}

// A flush that cancels goes on: it ends by itself, when the lower transport reads nothing any more.
void Flusher::link_failed(UctLink& l) noexcept {
  for (util::ListNode* node = l.eps.next; node != &l.eps; node = node->next) {
    LinkEp& ep = LinkEp::in_link(node);
    lower_.take_back(uct_ep_flush, &ep, [&](unsigned flags, uct_completion_t* comp) {
      return (flags & UCT_FLUSH_FLAG_CANCEL) == 0 &&
             waiting_.add({&ep, flags, comp, covered_now(ep)}) == UCS_INPROGRESS;
    });
  }
}

void Flusher::cancel(LinkEp& ep) noexcept {
  waiting_.cancel(&ep, [this] { return AsyncGuard(core_.threads); });
  lower_.cancel(&ep);
}

// The endpoint goes without having been flushed. The lower transport may still write to the upper
// buffers, and its last reads end soon, or with the connection. Of what its progress brings
// meanwhile only the completions of this endpoint go up: messages are kept, and the rest waits for
// the worker's progress.
void Flusher::abandon_reads(LinkEp& ep) noexcept {
  OneSided& onesided = *core_.onesided;
  const auto guarded = [this](auto&& step) {
    const AsyncGuard guard(core_.threads);
    return step();
  };
  const auto is_reading = [&] { return guarded([&] { return ep.open != 0; }); };
  guarded([&] { onesided.abort(ep.link(), &ep); });
  const uint64_t until = monotonic_ns() + kBusyPatience;
  onesided.complete_of(ep);
  while (is_reading() && monotonic_ns() < until) {
    guarded([&] { delivery_.without_upcalls([this] { (void)core_.wrap.progress_lower(); }); });
    onesided.complete_of(ep);
  }
  guarded([&] { onesided.disown(ep); });
}

}  // namespace verity::uct
