// SPDX-License-Identifier: BSD-3-Clause
#include "uct/wrap/passthrough.h"

#include "uct/wrap/forward.h"

namespace verity::uct {
namespace {

using Ops = uct_iface_ops_t;

void fill_am(Ops& ops) noexcept {
  ops.ep_am_short = forward_ep<&Ops::ep_am_short>;
  ops.ep_am_short_iov = forward_ep<&Ops::ep_am_short_iov>;
  ops.ep_am_bcopy = forward_ep<&Ops::ep_am_bcopy>;
  ops.ep_am_zcopy = forward_ep<&Ops::ep_am_zcopy>;
}

void fill_rma(Ops& ops) noexcept {
  ops.ep_put_short = forward_ep<&Ops::ep_put_short>;
  ops.ep_put_bcopy = forward_ep<&Ops::ep_put_bcopy>;
  ops.ep_put_zcopy = forward_ep<&Ops::ep_put_zcopy>;
  ops.ep_get_short = forward_ep<&Ops::ep_get_short>;
  ops.ep_get_bcopy = forward_ep<&Ops::ep_get_bcopy>;
  ops.ep_get_zcopy = forward_ep<&Ops::ep_get_zcopy>;
  ops.ep_atomic_cswap64 = forward_ep<&Ops::ep_atomic_cswap64>;
  ops.ep_atomic_cswap32 = forward_ep<&Ops::ep_atomic_cswap32>;
  ops.ep_atomic32_post = forward_ep<&Ops::ep_atomic32_post>;
  ops.ep_atomic64_post = forward_ep<&Ops::ep_atomic64_post>;
  ops.ep_atomic32_fetch = forward_ep<&Ops::ep_atomic32_fetch>;
  ops.ep_atomic64_fetch = forward_ep<&Ops::ep_atomic64_fetch>;
}

void refuse_rma(Ops& ops) noexcept {
  ops.ep_put_short = unsupported<&Ops::ep_put_short>;
  ops.ep_put_bcopy = unsupported<&Ops::ep_put_bcopy>;
  ops.ep_put_zcopy = unsupported<&Ops::ep_put_zcopy>;
  ops.ep_get_short = unsupported<&Ops::ep_get_short>;
  ops.ep_get_bcopy = unsupported<&Ops::ep_get_bcopy>;
  ops.ep_get_zcopy = unsupported<&Ops::ep_get_zcopy>;
  ops.ep_atomic_cswap64 = unsupported<&Ops::ep_atomic_cswap64>;
  ops.ep_atomic_cswap32 = unsupported<&Ops::ep_atomic_cswap32>;
  ops.ep_atomic32_post = unsupported<&Ops::ep_atomic32_post>;
  ops.ep_atomic64_post = unsupported<&Ops::ep_atomic64_post>;
  ops.ep_atomic32_fetch = unsupported<&Ops::ep_atomic32_fetch>;
  ops.ep_atomic64_fetch = unsupported<&Ops::ep_atomic64_fetch>;
}

// Hardware tag matching delivers past the active message handlers.
void refuse_tag(Ops& ops) noexcept {
  ops.ep_tag_eager_short = unsupported<&Ops::ep_tag_eager_short>;
  ops.ep_tag_eager_bcopy = unsupported<&Ops::ep_tag_eager_bcopy>;
  ops.ep_tag_eager_zcopy = unsupported<&Ops::ep_tag_eager_zcopy>;
  ops.ep_tag_rndv_zcopy = unsupported<&Ops::ep_tag_rndv_zcopy>;
  ops.ep_tag_rndv_cancel = unsupported<&Ops::ep_tag_rndv_cancel>;
  ops.ep_tag_rndv_request = unsupported<&Ops::ep_tag_rndv_request>;
  ops.iface_tag_recv_zcopy = unsupported<&Ops::iface_tag_recv_zcopy>;
  ops.iface_tag_recv_cancel = unsupported<&Ops::iface_tag_recv_cancel>;
}

void fill_ep_control(Ops& ops) noexcept {
  ops.ep_pending_add = forward_ep<&Ops::ep_pending_add>;
  ops.ep_pending_purge = forward_ep<&Ops::ep_pending_purge>;
  ops.ep_flush = forward_ep<&Ops::ep_flush>;
  ops.ep_fence = forward_ep<&Ops::ep_fence>;
  ops.ep_check = forward_ep<&Ops::ep_check>;
  ops.ep_create = WrapEp::create;
  ops.ep_connect = unsupported<&Ops::ep_connect>;
  ops.ep_disconnect = unsupported<&Ops::ep_disconnect>;
  ops.cm_ep_conn_notify = unsupported<&Ops::cm_ep_conn_notify>;
  ops.ep_destroy = WrapEp::destroy;
  ops.ep_get_address = WrapEp::get_address;
}

void progress_enable_op(uct_iface_h iface, unsigned flags) noexcept {
  WrapIface& self = WrapIface::of(iface);
  self.sync_am_handlers();
  uct_iface_progress_enable(self.lower(), flags);
}

ucs_status_t get_address_op(uct_iface_h iface, uct_iface_addr_t* addr) noexcept {
  WrapIface& self = WrapIface::of(iface);
  self.sync_am_handlers();
  // Transports that connect endpoints only may have no interface address at all.
  const bool has_address = self.lower_attr().iface_addr_len > 0;
  const ucs_status_t status = has_address ? uct_iface_get_address(self.lower(), addr) : UCS_OK;
  if (status == UCS_OK) {
    self.write_iface_addr_extra(reinterpret_cast<char*>(addr) + self.lower_attr().iface_addr_len);
  }
  return status;
}

ucs_status_t get_device_address_op(uct_iface_h iface, uct_device_addr_t* address) noexcept {
  WrapIface& self = WrapIface::of(iface);
  const size_t extra = self.device_addr_extra();
  std::memcpy(address, kDeviceMark.data(), extra);
  return uct_iface_get_device_address(
      self.lower(),
      reinterpret_cast<uct_device_addr_t*>(reinterpret_cast<uint8_t*>(address) + extra));
}

void fill_iface(Ops& ops) noexcept {
  ops.iface_accept = unsupported<&Ops::iface_accept>;
  ops.iface_reject = unsupported<&Ops::iface_reject>;
  ops.iface_flush = forward_iface<&Ops::iface_flush>;
  ops.iface_fence = forward_iface<&Ops::iface_fence>;
  ops.iface_progress_enable = progress_enable_op;
  ops.iface_progress_disable = forward_iface<&Ops::iface_progress_disable>;
  ops.iface_progress = forward_iface<&Ops::iface_progress>;
  ops.iface_event_fd_get = forward_iface<&Ops::iface_event_fd_get>;
  ops.iface_event_arm = forward_iface<&Ops::iface_event_arm>;
  ops.iface_close = WrapIface::close;
  ops.iface_query = WrapIface::query;
  ops.iface_get_device_address = get_device_address_op;
  ops.iface_get_address = get_address_op;
}

ucs_status_t estimate_perf_op(uct_iface_h iface, uct_perf_attr_t* attr) noexcept {
  return uct_iface_estimate_perf(WrapIface::of(iface).lower(), attr);
}

bool is_reachable_op(uct_iface_h iface, const PeerAddress& peer) noexcept {
  WrapIface& self = WrapIface::of(iface);
  return self.lower_reaches(peer);
}

}  // namespace

uct_iface_ops_t passthrough_ops(bool rma) noexcept {
  Ops ops{};
  fill_am(ops);
  rma ? fill_rma(ops) : refuse_rma(ops);
  refuse_tag(ops);
  fill_ep_control(ops);
  fill_iface(ops);
  fill_public_entries(ops);
  return ops;
}

InternalOps passthrough_internal_ops() noexcept {
  return {.estimate_perf = estimate_perf_op,
          .ep_query = WrapEp::query,
          .ep_invalidate = WrapEp::invalidate,
          .ep_connect = WrapEp::connect,
          .is_reachable = is_reachable_op,
          .ep_is_connected = WrapEp::is_connected};
}

}  // namespace verity::uct
