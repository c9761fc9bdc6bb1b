// SPDX-License-Identifier: BSD-3-Clause
// UCX's operations on endpoints and interfaces but for those that move data.
#include "uct/compat/internal_ops.h"
#include "uct/iface/ops.h"
#include "uct/iface/verity_ep.h"
#include "uct/links/addresses.h"
#include "uct/sending/check_cost.h"

namespace verity::uct {

// --- endpoints ---

ucs_status_t Ops::ep_get_address(uct_ep_h ep, uct_ep_addr_t* address) noexcept {
  VerityEp& self = VerityEp::of(ep);
  VerityIface& f = self.verity();
  const AsyncGuard guard(f.core().threads);
  const ucs_status_t status = uct_ep_get_address(self.carrier(), address);
  if (status != UCS_OK) return status;
  f.write_ep_addr_extra(self, reinterpret_cast<char*>(address) + f.lower_attr().ep_addr_len);
  return UCS_OK;
}

ucs_status_t Ops::ep_connect(uct_ep_h ep, const uct_device_addr_t* device,
                             const uct_ep_addr_t* address, const AddressLengths& lengths) noexcept {
  VerityEp& self = VerityEp::of(ep);
  VerityIface& f = self.verity();
  const AsyncGuard guard(f.core().threads);
  const size_t offset = f.lower_attr().ep_addr_len;
  wire::EpAddressTail tail;
  if (!f.is_ours(device, address)) return f.refuse_raw_peer();
  if (!read_tail(address, offset, &tail.iface)) return refuse_address(tail.iface);
  std::memcpy(&tail, reinterpret_cast<const char*>(address) + offset, sizeof(tail));
  const ucs_status_t status = f.connect_lower(self.carrier(), device, address, lengths);
  return status == UCS_OK ? f.links().connect(self.link(), tail) : status;
}

// Whether it is the very peer, not only its lower address, which another process may have by now.
bool Ops::ep_is_connected(uct_ep_h ep, const PeerAddress& peer) noexcept {
  VerityEp& self = VerityEp::of(ep);
  VerityIface& f = self.verity();
  const AsyncGuard guard(f.core().threads);
  if (self.carrier() == nullptr || self.link().failed()) return false;
  const void* address = peer.iface;
  size_t offset = f.lower_attr().iface_addr_len;
  if (f.core().to_ep) {
    address = peer.ep;
    offset = f.lower_attr().ep_addr_len;
  }
  wire::AddressTail tail;
  return address != nullptr && read_tail(address, offset, &tail) &&
         tail.uid == self.link().peer_uid && ep_is_connected_to(self.carrier(), f.lower_peer(peer));
}

ucs_status_t Ops::ep_query(uct_ep_h ep, uct_ep_attr_t* attr) noexcept {
  VerityEp& self = VerityEp::of(ep);
  const AsyncGuard guard(self.verity().core().threads);
  return self.carrier() != nullptr ? uct_ep_query(self.carrier(), attr) : UCS_ERR_NOT_CONNECTED;
}

// Emulates a failure of the transport: ours too, if the lower one cannot.
ucs_status_t Ops::ep_invalidate(uct_ep_h ep, unsigned flags) noexcept {
  VerityEp& self = VerityEp::of(ep);
  const AsyncGuard guard(self.verity().core().threads);
  const ucs_status_t status =
      self.carrier() != nullptr ? invalidate_ep(self.carrier(), flags) : UCS_ERR_UNSUPPORTED;
  if (status != UCS_ERR_UNSUPPORTED) return status;
  self.verity().links().give_up(self.link(), UCS_ERR_ENDPOINT_TIMEOUT);
  return UCS_OK;
}

ucs_status_t Ops::ep_check(uct_ep_h ep, unsigned flags, uct_completion_t* comp) noexcept {
  VerityEp& self = VerityEp::of(ep);
  return self.verity().flusher().check(self, flags, comp);
}

namespace {

// Whether requests wait in the lower transport. The completions of sends that end with the lower
// endpoint find it gone.
bool is_passed_on(const VerityEp& ep) noexcept {
  return ep.link().is_off() && ep.carrier() != nullptr;
}

}  // namespace

ucs_status_t Ops::pending_add(uct_ep_h ep, uct_pending_req_t* request, unsigned flags) noexcept {
  VerityEp& self = VerityEp::of(ep);
  const AsyncGuard guard(self.verity().core().threads);
  if (is_passed_on(self)) return uct_ep_pending_add(self.carrier(), request, flags);
  return self.verity().upkeep().add_pending(self, request);
}

void Ops::pending_purge(uct_ep_h ep, uct_pending_purge_callback_t callback, void* arg) noexcept {
  VerityEp& self = VerityEp::of(ep);
  const AsyncGuard guard(self.verity().core().threads);
  if (is_passed_on(self)) return uct_ep_pending_purge(self.carrier(), callback, arg);
  self.link().purge_pending(&self, callback, arg);
}

ucs_status_t Ops::ep_flush(uct_ep_h ep, unsigned flags, uct_completion_t* comp) noexcept {
  VerityEp& self = VerityEp::of(ep);
  return self.verity().flusher().flush(&self, flags, comp);
}

// --- interfaces ---

ucs_status_t Ops::iface_flush(uct_iface_h iface, unsigned flags, uct_completion_t* comp) noexcept {
  return VerityIface::of(iface).flusher().flush(nullptr, flags, comp);
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
  const unsigned count = self.core().threads.threaded ? 0 : uct_iface_progress(self.lower());
  return count + self.progress();
}

ucs_status_t Ops::event_fd_get(uct_iface_h iface, int* fd_p) noexcept {
  VerityIface& self = VerityIface::of(iface);
  int lower_fd = -1;
  const ucs_status_t status = uct_iface_event_fd_get(self.lower(), &lower_fd);
  if (status == UCS_OK && !self.core().is_off()) return self.wakeup().event_fd(lower_fd, fd_p);
  *fd_p = lower_fd;
  return status;
}

ucs_status_t Ops::event_arm(uct_iface_h iface, unsigned events) noexcept {
  return VerityIface::of(iface).arm(events);
}

bool Ops::is_reachable(uct_iface_h iface, const PeerAddress& peer) noexcept {
  VerityIface& self = VerityIface::of(iface);
  if (self.iface_addr_extra() != 0 && peer.iface != nullptr) {
    wire::AddressTail tail;
    // UCP makes no endpoint then: this is where a user learns why.
    if (!self.is_ours(peer.device, peer.iface)) {
      (void)self.refuse_raw_peer();
      return false;
    }
    if (!read_tail(peer.iface, self.lower_attr().iface_addr_len, &tail)) {
      (void)refuse_address(tail);
      return false;
    }
  }
  return self.lower_reaches(peer);
}

ucs_status_t Ops::estimate_perf(uct_iface_h iface, uct_perf_attr_t* attr) noexcept {
  VerityIface& self = VerityIface::of(iface);
  const bool is_gathered = self.sender().limits().gathers &&
                           (attr->field_mask & UCT_PERF_ATTR_FIELD_OPERATION) != 0 &&
                           attr->operation == UCT_EP_OP_AM_ZCOPY;
  // The lower transport has none, and would answer for something else.
  if (is_gathered) attr->operation = UCT_EP_OP_AM_BCOPY;
  const ucs_status_t status = uct_iface_estimate_perf(self.lower(), attr);
  if (is_gathered) attr->operation = UCT_EP_OP_AM_ZCOPY;
  if (status != UCS_OK) return status;
  add_cost(*attr);
  if (is_gathered && (attr->field_mask & UCT_PERF_ATTR_FIELD_SEND_PRE_OVERHEAD) != 0)
    attr->send_pre_overhead += kGatherCost;
  return UCS_OK;
}

}  // namespace verity::uct
