// SPDX-License-Identifier: BSD-3-Clause
// Flush. Active messages are flushed when they are acknowledged, or when the link owns a copy of what is
// not and the peer has been silent for a while: waiting on would hang a rank whose peer left first.
#include <utility>

#include "uct/iface/verity_ep.h"

namespace verity::uct {

namespace {

// ns of silence that a flush waits for acknowledgements: of a peer that may compute, and of one that left.
constexpr uint64_t kPatience = 3'000'000'000;
constexpr uint64_t kLeftPatience = 500'000'000;
// Before it goes on without them it sends everything that many times again, so often.
constexpr uint8_t kCopies = 3;
constexpr uint64_t kCopyEvery = 700'000'000;  // ns
// A lower transport that is too busy for that is not waited for longer.
constexpr uint64_t kBusyPatience = 10'000'000'000;

}  // namespace

// Whether the puts are applied. Others may wait for that without progress of ours, so no time limits it, but
// for a peer that left and whose last word may be what was lost.
bool VerityIface::applied(UctLink& l) noexcept {
  if (onesided_ == nullptr || onesided_->client().puts_done(l)) return true;
  hub_->ask(l);
  return has_left(l);
}

bool VerityIface::has_left(UctLink& l) noexcept { return l.peer_leaves && settled(l); }

// Whether the lower transport may be flushed for `ep`, or for all endpoints with nullptr.
bool VerityIface::may_flush(VerityEp* ep) noexcept {
  if (ep != nullptr) return !hub_->has_unsent(ep->link()) && !hub_->has_unowned(ep->link());
  if (onesided_ != nullptr && !onesided_->has_told()) return false;
  for (util::ListNode* node = links_.next; node != &links_; node = node->next) {
    UctLink& l = UctLink::in_all(node);
    if (hub_->has_unsent(l) || hub_->has_unowned(l) || l.open != 0 || !applied(l)) return false;
    if (!l.pending.empty() && !l.failed && !l.peer_gone) return false;
  }
  return true;
}

// A flush is often a process's last progress for long, before a barrier that another library makes
// (MPICH's MPI_Finalize): what was damaged last must be repaired now. But a peer that went there first
// does not answer, and its last acknowledgement may be what was lost; it said that it leaves. One that
// computes finds the frames repeated when it comes back, and has no need to ask.
bool VerityIface::settled(UctLink& l) noexcept {
  if (!l.in_flight() || l.peer_gone) {
    l.flush_since = 0;
    return true;
  }
  hub_->ask(l);
  const uint64_t now = monotonic_ns();
  const uint32_t mark = l.tx[0].una + l.tx[1].una + l.tx[0].next_psn + l.tx[1].next_psn;
  if (l.flush_since == 0 || mark != l.flush_mark) {
    l.flush_mark = mark;
    l.flush_since = now;
    l.flush_copies = 0;
  }
  const uint64_t silence = now - l.flush_since;
  if (l.peer_leaves) return silence >= kLeftPatience;
  if (l.flush_copies < kCopies && silence >= (l.flush_copies + 1) * kCopyEvery) {
    ++l.flush_copies;
    hub_->repeat(l);
  }
  return silence >= (link::Hub::repeats(l) ? kBusyPatience : kPatience);
}

// UCS_OK: done; UCS_INPROGRESS: the lower transport completes request.comp; UCS_ERR_NO_RESOURCE:
// to be tried again.
ucs_status_t VerityIface::try_flush(const Flushes::Request& request) noexcept {
  if (request.ep == nullptr) {
    if (!may_flush(nullptr)) return UCS_ERR_NO_RESOURCE;
    return uct_iface_flush(lower(), request.flags, request.comp);
  }
  UctLink& l = request.ep->link();
  const bool cancel = (request.flags & UCT_FLUSH_FLAG_CANCEL) != 0;
  if (cancel || l.failed || l.peer_gone) hub_->own_sources(l);
  if ((cancel || l.failed) && request.ep->open != 0) onesided_->abort(l, request.ep);
  if (request.ep->open != 0) return UCS_ERR_NO_RESOURCE;  // what the lower transport reads must have landed, whatever becomes of it
  const bool ready = cancel || l.failed ? !hub_->has_unowned(l) : may_flush(request.ep);
  if (!ready) return UCS_ERR_NO_RESOURCE;
  // What was in flight is lost. Not where the peer said goodbye first: its interface is closed, and with it the connection. Nor
  // where nothing ever was.
  if (l.failed && !cancel) return l.peer_gone || (l.mode != link::Mode::kOff && l.never_used()) ? UCS_OK : l.failure;
  if (l.lower == nullptr) return UCS_OK;
  // The link sees its frames through whatever becomes of the endpoint: no need of tcp's flush, which waits
  // for the peer's progress without end.
  if (!cancel && !l.failed && l.mode == link::Mode::kVerify) {
    if (!applied(l) || !settled(l)) return UCS_ERR_NO_RESOURCE;
    (void)hub_->flush_owed();  // what peers wait for in their flushes
    // Said once, and not by an interface's flush: UCP (1.13) does not survive that of a worker with an error.
    return std::exchange(l.write_lost, false) ? UCS_ERR_REJECTED : UCS_OK;
  }
  // A cancel below would also stop what the other endpoints of this link have on their way. The link owns copies of all that is left,
  // so that nothing of the upper layer's is read any more: no need to wait for the peer, as tcp's flush would.
  const bool shared = l.eps.next != l.eps.prev;
  if (shared && l.mode != link::Mode::kOff) return UCS_OK;
  const unsigned flags = shared ? unsigned{UCT_FLUSH_FLAG_LOCAL} : request.flags;
  const ucs_status_t status = uct_ep_flush(l.lower.get(), flags, request.comp);
  if (cancel && l.to_ep && status != UCS_ERR_NO_RESOURCE) {
    // The lower endpoint is not to be used hereafter: rc takes its queue pair down.
    l.told = true;  // it is the upper layer's own wish
    give_up(l, UCS_ERR_CANCELED);
  }
  return status;
}

ucs_status_t VerityIface::flush(VerityEp* ep, unsigned flags, uct_completion_t* comp) noexcept {
  const AsyncGuard guard(*this);
  // Messages that wait for room come first: the upper layer then queues its flush behind them.
  if (ep != nullptr && (flags & UCT_FLUSH_FLAG_CANCEL) == 0) {
    const UctLink& l = ep->link();
    if (l.gated && !l.failed && !l.peer_gone) return UCS_ERR_NO_RESOURCE;
  }
  const Flushes::Request request{ep, flags, comp};
  const ucs_status_t status = try_flush(request);
  return status == UCS_ERR_NO_RESOURCE ? flushes_.add(request) : status;
}

unsigned VerityIface::run_flushes() noexcept {
  return flushes_.run([this] { return AsyncGuard(*this); },
                      [this](const Flushes::Request& request) { return try_flush(request); });
}

// The endpoint goes without having been flushed. The lower transport may still write to the upper buffers,
// and its last reads end soon, or with the connection.
void VerityIface::abandon_reads(VerityEp& ep) noexcept {
  onesided_->abort(ep.link(), &ep);
  const uint64_t until = monotonic_ns() + kBusyPatience;
  onesided_->tell_all();
  while (ep.open != 0 && monotonic_ns() < until) {
    (void)uct_iface_progress(lower());
    onesided_->tell_all();
  }
}

ucs_status_t Ops::ep_flush(uct_ep_h ep, unsigned flags, uct_completion_t* comp) noexcept {
  VerityEp& self = VerityEp::of(ep);
  return self.verity().flush(&self, flags, comp);
}

ucs_status_t Ops::iface_flush(uct_iface_h iface, unsigned flags, uct_completion_t* comp) noexcept {
  return VerityIface::of(iface).flush(nullptr, flags, comp);
}

}  // namespace verity::uct
