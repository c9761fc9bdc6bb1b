// SPDX-License-Identifier: BSD-3-Clause
#include "uct/iface/verity_ep.h"

#include "uct/process/quiet_lower.h"

namespace verity::uct {

ucs_status_t VerityEp::open_lower(const uct_ep_params_t& lower_params) {
  VerityIface& f = verity();
  note_thread(f.core().threads);
  f.check_handlers();
  const AsyncGuard guard(f.core().threads);
  ucs_status_t status = UCS_OK;
  if (!f.core().to_ep) {
    link_ = f.links().link_to(lower_params, &status);
  } else {
    LowerEp lower;
    status = create_lower_ep(lower_params, &lower);
    if (status == UCS_OK) link_ = f.links().make_to_ep(std::move(lower));
  }
  if (link_ != nullptr) {
    link_->eps.push_back(link_node());
    link::ControlSender::attach(*link_);
  }
  return status;
}

void VerityEp::destroying() noexcept {
  if (link_ == nullptr) return;
  VerityIface& f = verity();
  {
    const AsyncGuard guard(f.core().threads);
    link_->purge_pending(this, nullptr, nullptr);
  }
  // The completions of what this endpoint has under way, as of UCX's own: they may do anything, but
  // the link stays for as long as this endpoint uses it.
  f.flusher().cancel(*this);
  if (open != 0) f.flusher().abandon_reads(*this);
  leave_link();
  f.completions().run_of(serial());
}

void VerityEp::leave_link() noexcept {
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
  f.links().want_attention(*link_);
}

}  // namespace verity::uct
