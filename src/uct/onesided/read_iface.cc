// SPDX-License-Identifier: BSD-3-Clause
#include "uct/onesided/read_iface.h"
#include "uct/sending/checks.h"

#include <algorithm>

#include "health/files/directory.h"
#include "uct/compat/callbacks.h"
#include "uct/links/addresses.h"
#include "uct/memory/verity_md.h"
#include "uct/process/clock.h"
#include "uct/process/process.h"
#include "uct/process/warnings.h"
#include "uct/sending/check_cost.h"

namespace verity::uct {

namespace {

constexpr uint64_t kLetGo =
    10'000'000'000;  // ns that a read may take to land when its endpoint goes

bool is_cancel(unsigned flags) noexcept { return (flags & UCT_FLUSH_FLAG_CANCEL) != 0; }

// ns that a read waits for a verified transport to the peer. There will be none when the program's
// UCX_TLS has a raw one that UCX prefers for messages.
constexpr uint64_t kLinkPatience = 10'000'000'000;

// Nothing is checked, and that is counted: a peer, or this process, is not in mode verify, or no
// digest can be had.
ucs_status_t read_unverified(ReadEp& ep, const uct_iov_t* iov, size_t iovcnt, uint64_t address,
                             uct_rkey_t rkey, uct_completion_t* comp) noexcept {
  uct_iov_t lower_iov[rma::kMaxPieces];
  if (iovcnt > rma::kMaxPieces) return UCS_ERR_INVALID_PARAM;
  size_t bytes = 0;
  for (size_t i = 0; i < iovcnt; ++i) {
    lower_iov[i] = iov[i];
    lower_iov[i].memh = VerityMd::lower_handle(iov[i].memh);
    bytes += iov[i].length * iov[i].count;
  }
  const ucs_status_t status = uct_ep_get_zcopy(ep.lower(), lower_iov, iovcnt, address,
                                               RemoteKey::of(rkey).bundle.rkey, comp);
  if (status == UCS_OK || status == UCS_INPROGRESS) {
    health::Counters& counters = ep.counters();
    counters.frames_unverified++;
    counters.bytes_unverified += bytes;
  }
  return status;
}

}  // namespace

ReadIface& ReadEp::reader() const noexcept { return ReadIface::of(super.iface); }

ucs_status_t ReadEp::created(const uct_ep_params_t& params) {
  wire::AddressTail tail;
  if (!read_tail(params.iface_addr, reader().lower_attr().iface_addr_len, &tail))
    return refuse_address(tail);
  peer_worker_ = wire::worker_of(tail.uid);
  verifies_ = link_mode(tail) == link::Mode::kVerify && reader().mode() == link::Mode::kVerify;
  set_host(tail.host);
  if (verifies_) {
    lanes_ = &reader().group().lanes(peer_worker_);
    lanes_->readers.push_back(lane());
  }
  reader().add_reader(*this);
  return UCS_OK;
}

void ReadEp::set_host(health::HostId host) noexcept {
  host_ = host;
  counters_ = &reader().rows().peer(host, health::realtime_ns());
}

void ReadEp::destroying() noexcept {
  purge(nullptr, nullptr);
  cancel();
  const uint64_t until = monotonic_ns() + kLetGo;
  while (open != 0 && monotonic_ns() < until) {
    (void)uct_iface_progress(reader().lower());
    for (OneSided* carrier : reader().group().carriers()) carrier->complete_of(*this);
  }
  if (open != 0) {
    for (OneSided* carrier : reader().group().carriers()) {
      const AsyncGuard guard(carrier->core().threads);
      carrier->disown(*this);
    }
  }
  reader().forget(*this);
  if (lanes_ == nullptr) return;
  lane().unlink();
  reader().group().give_back(*lanes_);
  lanes_ = nullptr;
}

bool ReadEp::is_behind_fence() noexcept {
  if (lanes_ == nullptr) return false;
  const WorkerGroup::Guard all(reader().group());
  const bool waits = !pending.empty() && !running_;
  return lanes_->has_older(nullptr, &lane(), waits ? pending.epoch() : reader().group().epoch());
}

// Where it was found last; else over the transport that answers soonest.
bool ReadEp::find_link(OneSided** carrier_p, UctLink** link_p) noexcept {
  double best = 0;
  *carrier_p = nullptr;
  for (OneSided* carrier : reader().group().carriers()) {
    const IfaceCore& core = carrier->core();
    const AsyncGuard guard(core.threads);
    UctLink* l = carrier == last_carrier_ ? static_cast<UctLink*>(core.hub->links.find(last_link_))
                                          : nullptr;
    const bool same =
        l != nullptr && wire::worker_of(l->peer_uid) == peer_worker_ && l->is_usable();
    if (!same) l = carrier->links().to_worker(peer_worker_);
    const double latency = core.lower_attr().latency.c;
    if (l == nullptr || (*carrier_p != nullptr && latency >= best && !same)) continue;
    *carrier_p = carrier;
    *link_p = l;
    best = latency;
    if (same) break;
  }
  if (*carrier_p == nullptr) return false;
  last_carrier_ = *carrier_p;
  last_link_ = (*link_p)->local_id;
  return true;
}

ucs_status_t ReadEp::get_zcopy(const uct_iov_t* iov, size_t iovcnt, uint64_t address,
                               uct_rkey_t rkey, uct_completion_t* comp) noexcept {
  if (are_empty(iov, iovcnt)) return UCS_OK;
  if (!is_key("get_zcopy", rkey)) return UCS_ERR_INVALID_PARAM;
  if (!verifies_) return read_unverified(*this, iov, iovcnt, address, rkey, comp);
  if (!running_ && !pending.empty()) return UCS_ERR_NO_RESOURCE;  // they may be of before a fence
  if (is_behind_fence()) return UCS_ERR_NO_RESOURCE;
  OneSided* carrier;
  UctLink* l;
  if (!find_link(&carrier, &l)) {
    if (had_link_) return UCS_ERR_CONNECTION_RESET;  // it failed, or the peer closed
    const uint64_t now = monotonic_ns();
    if (without_link_ == 0) without_link_ = now;
    const bool may_come = reader().has_carrier(peer_worker_);
    if (may_come && now - without_link_ < kLinkPatience) return UCS_ERR_NO_RESOURCE;
    warnings().cannot_verify(reader().lower_tl_name());
    return read_unverified(*this, iov, iovcnt, address, rkey, comp);
  }
  without_link_ = 0;
  had_link_ = true;
  const AsyncGuard guard(carrier->core().threads);
  if (l->host != host_ && l->host != 0) set_host(l->host);
  const auto& cap = reader().lower_attr().cap.get;
  return carrier->get_zcopy({l, lower(), this, iov, iovcnt, address, rkey, comp, cap.max_zcopy,
                             cap.min_zcopy, counters_});
}

bool ReadEp::must_wait() noexcept {
  OneSided* carrier;
  UctLink* l;
  if (!verifies_) return false;
  if (is_behind_fence()) return true;
  return find_link(&carrier, &l) ? !carrier->client().has_room(*l)
                                 : !had_link_ && reader().has_carrier(peer_worker_);
}

// All links to that peer: the read may have been begun over another one than would be taken now.
void ReadEp::cancel() noexcept {
  if (open == 0) return;
  for (OneSided* carrier : reader().group().carriers()) {
    const AsyncGuard guard(carrier->core().threads);
    carrier->abort_owner(this);
  }
}

ucs_status_t ReadEp::flush(unsigned flags, uct_completion_t* comp) noexcept {
  if (is_cancel(flags)) {
    cancel();
  } else if (!pending.empty() && !running_) {
    return UCS_ERR_NO_RESOURCE;  // the upper layer queues its flush behind them
  }
  if (open == 0) return uct_ep_flush(lower(), flags, comp);
  return reader().queue_flush(*this, flags, comp);
}

// --- the interface
// -------------------------------------------------------------------------------------------------------------

ucs_status_t ReadIface::opened(const uct_iface_params_t& params, const uct_iface_config_t&) {
  group_.join(&worker->super, false);
  group_.add_unguarded();
  rows_ = process().open_rows(lower_tl_name(), params, lower_injects());
  process().opened(mode_);
  return UCS_OK;
}

void ReadIface::closing() noexcept {
  if (progress_id_ != UCS_CALLBACKQ_ID_NULL)
    remove_callback(worker, progress_id_, CallbackFrom::kOwnThread);
  progress_id_ = UCS_CALLBACKQ_ID_NULL;
  group_.leave();
}

void ReadIface::map_attr(uct_iface_attr_t& attr) const noexcept {
  const auto get = attr.cap.get;
  WrapIface::map_attr(attr);
  attr.cap.flags |= UCT_IFACE_FLAG_GET_ZCOPY | UCT_IFACE_FLAG_PENDING;
  attr.cap.get = get;
  attr.cap.get.max_short = attr.cap.get.max_bcopy = 0;
  attr.cap.get.max_iov = std::min(get.max_iov, rma::kMaxPieces);
  attr.cap.put.opt_zcopy_align = attr.cap.put.align_mtu = 1;
  attr.priority = static_cast<uint8_t>(attr.priority + 1);
  if (mode_ == link::Mode::kOff) return;
  attr.bandwidth.dedicated = in_series(attr.bandwidth.dedicated);
  attr.bandwidth.shared = in_series(attr.bandwidth.shared);
}

size_t ReadIface::iface_addr_extra() const noexcept { return sizeof(wire::AddressTail); }

ucs_status_t ReadIface::refuse_raw_peer() const noexcept { return verity::uct::refuse_raw_peer(); }

void ReadIface::write_iface_addr_extra(void* out) noexcept {
  const wire::AddressTail tail = make_tail(mode_, 0, group_.uid());
  std::memcpy(out, &tail, sizeof(tail));
}

void ReadIface::add_reader(ReadEp& ep) { eps_.push_back(&ep); }

bool ReadIface::has_carrier(uint64_t peer_worker) const noexcept {
  const std::vector<OneSided*>& all = group_.carriers();
  const bool is_own = peer_worker == wire::worker_of(group_.uid());
  return std::any_of(all.begin(), all.end(), [is_own](const OneSided* carrier) {
    return is_own || !carrier->core().is_self;
  });
}

bool ReadIface::reading() const noexcept {
  return std::any_of(eps_.begin(), eps_.end(),
                     [](const ReadEp* ep) { return ep->open != 0 || !ep->pending.empty(); });
}

ucs_status_t ReadIface::arm(unsigned events) noexcept {
  const bool waits =
      std::any_of(eps_.begin(), eps_.end(), [](const ReadEp* ep) { return ep->awaits_link(); });
  return waits ? UCS_ERR_BUSY : uct_iface_event_arm(lower(), events);
}

void ReadIface::need_progress() noexcept {
  if (progress_id_ != UCS_CALLBACKQ_ID_NULL) return;
  progress_id_ = add_callback(worker, progress_cb, this, CallbackFrom::kOwnThread);
}

void ReadIface::wait(ReadEp& ep, uct_pending_req_t* request) noexcept {
  ep.pending.push_back(request, {&ep, group_.epoch()});
  need_progress();
}

ucs_status_t ReadIface::queue_flush(ReadEp& ep, unsigned flags, uct_completion_t* comp) noexcept {
  if (comp != nullptr) need_progress();
  return flushes_.add({&ep, flags, comp, {.reads = ep.open_until_now()}});
}

void ReadIface::forget(ReadEp& ep) noexcept {
  std::erase(eps_, &ep);
  for (Running* r = running_; r != nullptr; r = r->outer) {
    if (r->ep == &ep) r->ep = nullptr;
  }
  flushes_.cancel(&ep, [] { return 0; });
}

unsigned ReadIface::progress_cb(void* arg) noexcept {
  return static_cast<ReadIface*>(arg)->progress();
}

ucs_status_t ReadIface::run(uct_pending_req_t* request, uint32_t epoch, Running& running) noexcept {
  const WorkerGroup::InEpoch then(group_, epoch);
  running_ = &running;
  running.ep->running_ = true;
  const ucs_status_t status = request->func(request);
  if (running.ep != nullptr) running.ep->running_ = false;
  running_ = running.outer;
  return status;
}

// Until one finds no room. Each may destroy endpoints: its own queue was purged then, and the
// result of the request itself is dropped.
unsigned ReadIface::run_pending(ReadEp& ep) noexcept {
  unsigned count = 0;
  PendingQueue::Of of;
  Running running{&ep, running_};
  while (uct_pending_req_t* request = ep.pending.pop(&of)) {
    const ucs_status_t status = run(request, of.epoch, running);
    count += status != UCS_ERR_NO_RESOURCE;
    if (running.ep == nullptr) break;
    if (status == UCS_OK) continue;
    ep.pending.push_front(request, of);
    break;
  }
  return count;
}

unsigned ReadIface::progress() noexcept {
  unsigned count = 0;
  for (size_t i = 0; i < eps_.size(); ++i) {  // a callback may make endpoints, or destroy some
    if (!eps_[i]->pending.empty()) count += run_pending(*eps_[i]);
  }
  const auto flush = [](const FlushQueue<ReadEp>::Request& request) {
    if (!request.ep->has_ended(request.covered.reads)) return UCS_ERR_NO_RESOURCE;
    return uct_ep_flush(request.ep->lower(), request.flags, request.comp);
  };
  return count + flushes_.run([] { return 0; }, flush);
}

// --- UCX's operations
// ----------------------------------------------------------------------------------------------------------

namespace {

ucs_status_t get_zcopy_op(uct_ep_h ep, const uct_iov_t* iov, size_t iovcnt, uint64_t address,
                          uct_rkey_t rkey, uct_completion_t* comp) noexcept {
  return ReadEp::of(ep).get_zcopy(iov, iovcnt, address, rkey, comp);
}

ucs_status_t pending_add_op(uct_ep_h ep, uct_pending_req_t* request, unsigned) noexcept {
  ReadEp& self = ReadEp::of(ep);
  if (self.pending.empty() && !self.must_wait()) return UCS_ERR_BUSY;
  self.reader().wait(self, request);
  return UCS_OK;
}

void pending_purge_op(uct_ep_h ep, uct_pending_purge_callback_t callback, void* arg) noexcept {
  ReadEp::of(ep).purge(callback, arg);
}

ucs_status_t flush_op(uct_ep_h ep, unsigned flags, uct_completion_t* comp) noexcept {
  return ReadEp::of(ep).flush(flags, comp);
}

ucs_status_t iface_flush_op(uct_iface_h iface, unsigned flags, uct_completion_t* comp) noexcept {
  ReadIface& self = ReadIface::of(iface);
  return self.reading() ? UCS_INPROGRESS : uct_iface_flush(self.lower(), flags, comp);
}

// Reads are ordered behind puts, and what comes behind reads is ordered behind them, by the fences
// of the interfaces that carry those.
ucs_status_t ep_fence_op(uct_ep_h, unsigned) noexcept { return UCS_OK; }
ucs_status_t iface_fence_op(uct_iface_h iface, unsigned) noexcept {
  ReadIface::of(iface).group().begin_epoch();
  return UCS_OK;
}

ucs_status_t event_arm_op(uct_iface_h iface, unsigned events) noexcept {
  return ReadIface::of(iface).arm(events);
}

ucs_status_t estimate_perf_op(uct_iface_h iface, uct_perf_attr_t* attr) noexcept {
  const ucs_status_t status = uct_iface_estimate_perf(ReadIface::of(iface).lower(), attr);
  if (status == UCS_OK) add_cost(*attr);
  return status;
}

bool is_reachable_op(uct_iface_h iface, const PeerAddress& peer) noexcept {
  ReadIface& self = ReadIface::of(iface);
  if (peer.iface == nullptr) return false;
  wire::AddressTail tail;
  if (!self.is_ours(peer.device, peer.iface)) {
    (void)self.refuse_raw_peer();
    return false;
  }
  if (!read_tail(peer.iface, self.lower_attr().iface_addr_len, &tail)) {
    (void)refuse_address(tail);
    return false;
  }
  return self.lower_reaches(peer);
}

}  // namespace

void ReadIface::fill_ops(uct_iface_ops_t& ops) const noexcept {
  ops.ep_get_zcopy = get_zcopy_op;
  ops.ep_pending_add = pending_add_op;
  ops.ep_pending_purge = pending_purge_op;
  ops.ep_flush = flush_op;
  ops.ep_fence = ep_fence_op;
  ops.iface_flush = iface_flush_op;
  ops.iface_fence = iface_fence_op;
  ops.iface_event_arm = event_arm_op;
}

void ReadIface::fill_internal_ops(InternalOps& ops) const noexcept {
  ops.estimate_perf = estimate_perf_op;
  ops.is_reachable = is_reachable_op;
}

}  // namespace verity::uct
