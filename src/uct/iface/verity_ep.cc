// SPDX-License-Identifier: BSD-3-Clause
#include "uct/iface/verity_ep.h"

#include "uct/links/patience.h"
#include "uct/process/clock.h"
#include "uct/process/ucx_log.h"
#include "uct/sending/zero_copy.h"

namespace verity::uct {

ucs_status_t VerityEp::open_lower(const uct_ep_params_t& lower_params) {
  VerityIface& f = verity();
  f.check_handlers();
  // Of an interface with an asynchronous thread this notes no thread: it may be that one, in whose
  // handlers UCP makes endpoints, and which must not wait for siblings that wait for it.
  const AsyncGuard guard(f.core().threads);
  ucs_status_t status = UCS_OK;
  UctLink* l = nullptr;
  if (!f.core().to_ep) {
    l = f.links().link_to(lower_params, &status);
  } else {
    LowerEp lower;
    status = create_lower_ep(lower_params, &lower);
    if (status == UCS_OK) l = f.links().make_to_ep(std::move(lower));
  }
  if (l != nullptr) {
    use(*l);
    f.core().hub->control_sender.attach(*l);
  }
  return status;
}

void VerityEp::destroying() noexcept {
  if (link_ == nullptr || verity().core().is_inherited()) return;  // the link is the parent's
  VerityIface& f = verity();
  {
    const AsyncGuard guard(f.core().threads);
    link_->purge_pending(this, nullptr, nullptr);
  }
  // The completions of what this endpoint has under way, as of UCX's own: they may do anything, but
  // the link stays for as long as this endpoint uses it.
  f.flusher().cancel(*this);
  if (open != 0) f.flusher().abandon_reads(*this);
  detach_link();
  end_sends();
}

void VerityEp::detach_link() noexcept {
  VerityIface& f = verity();
  const AsyncGuard guard(f.core().threads);
  link_node().unlink();
  // What the user's buffers still hold is copied now: nothing may point into them hereafter.
  f.core().hub->zero_copy.bounce_some(
      *link_, [&](link::Slot& slot) { return ZcopyState::of(slot).serial == serial(); });
  if (link_->eps.linked()) return;
  {
    // The peer may have ended before, as ranks do at the end of a job: that is no error of UCX's.
    const QuietLower quiet;
    f.core().hub->control_sender.detach(*link_);
  }
  link_->orphan = true;
  f.links().request_attention(*link_);
}

// The payloads were copied by now. A send that the lower transport is in the middle of, because the
// peer reads nothing, goes on.
void VerityEp::end_sends() noexcept {
  VerityIface& f = verity();
  UctLink& l = *link_;
  {
    const AsyncGuard guard(f.core().threads);
    ++l.attended;  // a completion may progress the worker
  }
  f.completions().run_of(serial());
  // Not inside a handler: the lower transport is at a message there.
  const auto is_reading = [&] {
    const AsyncGuard guard(f.core().threads);
    return f.core().upcalls == 0 && is_sending(l, serial());
  };
  for (uint64_t until = 0; is_reading() && (until == 0 || monotonic_ns() < until);) {
    if (until == 0) until = monotonic_ns() + kLetGo;
    {
      const AsyncGuard guard(f.core().threads);
      f.delivery().without_upcalls([&f] { (void)f.progress_lower(); });
    }
    f.completions().run_of(serial());
  }
  {
    const AsyncGuard guard(f.core().threads);
    (void)let_go(l, serial());
  }
  f.completions().run_of(serial());
  const AsyncGuard guard(f.core().threads);
  --l.attended;
  if (!l.eps.linked()) f.upkeep().unused(l);
}

}  // namespace verity::uct
