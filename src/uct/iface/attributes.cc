// SPDX-License-Identifier: BSD-3-Clause
// What the interface answers to UCX: its operations, addresses and attributes.
#include <strings.h>

#include <algorithm>
#include <cstdlib>

#include "uct/iface/ops.h"
#include "uct/iface/verity_ep.h"
#include "uct/links/addresses.h"
#include "uct/process/process.h"
#include "uct/sending/check_cost.h"

namespace verity::uct {

void VerityIface::fill_ops(uct_iface_ops_t& ops) const noexcept {
  ops.ep_am_short = Ops::am_short;
  ops.ep_am_short_iov = Ops::am_short_iov;
  ops.ep_am_bcopy = Ops::am_bcopy;
  ops.ep_am_zcopy = Ops::am_zcopy;
  if (!core_.is_off()) {
    ops.ep_put_short = Ops::put_short;
    ops.ep_put_bcopy = Ops::put_bcopy;
    ops.ep_get_bcopy = Ops::get_bcopy;
    ops.ep_get_zcopy = Ops::get_zcopy;
    ops.ep_atomic32_post = Ops::atomic32_post;
    ops.ep_atomic64_post = Ops::atomic64_post;
    ops.ep_atomic32_fetch = Ops::atomic32_fetch;
    ops.ep_atomic64_fetch = Ops::atomic64_fetch;
    ops.ep_atomic_cswap32 = Ops::atomic_cswap32;
    ops.ep_atomic_cswap64 = Ops::atomic_cswap64;
  }
  ops.ep_pending_add = Ops::pending_add;
  ops.ep_pending_purge = Ops::pending_purge;
  ops.ep_flush = Ops::ep_flush;
  ops.ep_fence = Ops::ep_fence;
  ops.ep_check = Ops::ep_check;
  ops.ep_get_address = Ops::ep_get_address;
  ops.iface_flush = Ops::iface_flush;
  ops.iface_fence = Ops::iface_fence;
  ops.iface_progress_enable = Ops::progress_enable;
  ops.iface_progress_disable = Ops::progress_disable;
  ops.iface_progress = Ops::iface_progress;
  ops.iface_event_fd_get = Ops::event_fd_get;
  ops.iface_event_arm = Ops::event_arm;
}

void VerityIface::fill_internal_ops(InternalOps& ops) const noexcept {
  ops.estimate_perf = Ops::estimate_perf;
  ops.ep_query = Ops::ep_query;
  ops.ep_invalidate = Ops::ep_invalidate;
  ops.ep_connect = Ops::ep_connect;
  ops.is_reachable = Ops::is_reachable;
  ops.ep_is_connected = Ops::ep_is_connected;
}

// Of nearly all messages in that mode; the others' descriptors are not offered where they are not
// aligned.
size_t VerityIface::am_header_size() const noexcept {
  switch (core_.config.mode) {
    case link::Mode::kOff: return 0;
    case link::Mode::kObserve: return sizeof(wire::FrameHeader);
    case link::Mode::kVerify: break;
  }
  return wire::kCompactHeader;
}
// Header, HELLO and trailer, and what limits_of() may take away. Always the same, for on shared
// memory both sides' buffers must be.
size_t VerityIface::am_room() const noexcept {
  constexpr size_t kMost = sizeof(wire::FrameHeader) + wire::kMaxHello + kTrailerRoom + kElement;
  return kMost / kElement * kElement;
}
ucs_status_t VerityIface::refuse_raw_peer() const noexcept {
  return verity::uct::refuse_raw_peer();
}
size_t VerityIface::iface_addr_extra() const noexcept {
  return core_.to_ep ? 0 : sizeof(wire::AddressTail);
}
size_t VerityIface::ep_addr_extra() const noexcept { return sizeof(wire::EpAddressTail); }

wire::AddressTail VerityIface::address_tail() const noexcept {
  return make_tail(core_.config.mode, extensions_.advertised(), core_.uid);
}

void VerityIface::write_iface_addr_extra(void* out) noexcept {
  if (core_.to_ep) return;
  const wire::AddressTail tail = address_tail();
  std::memcpy(out, &tail, sizeof(tail));
}

void VerityIface::write_ep_addr_extra(WrapEp& ep, void* out) noexcept {
  wire::EpAddressTail tail{address_tail(), static_cast<LinkEp&>(ep).link().local_id, {}};
  process().write_host(tail.host);
  std::memcpy(out, &tail, sizeof(tail));
}

void VerityIface::map_attr(uct_iface_attr_t& attr) const noexcept {
  WrapIface::map_attr(attr);
  attr.cap.flags &= ~static_cast<uint64_t>(UCT_IFACE_FLAG_AM_DUP);
  attr.priority = static_cast<uint8_t>(attr.priority + 1);
  if (core_.is_off()) return;
  const FrameLimits& limits = sender_.limits();
  attr.cap.flags |= UCT_IFACE_FLAG_AM_SHORT | UCT_IFACE_FLAG_PENDING;
  attr.cap.am.max_short = limits.max_bcopy;
  attr.cap.am.max_bcopy = limits.max_bcopy;
  if (limits.max_zcopy == 0) attr.cap.flags &= ~static_cast<uint64_t>(UCT_IFACE_FLAG_AM_ZCOPY);
  attr.cap.am.max_zcopy = limits.max_zcopy;
  if (limits.gathers) {
    attr.cap.flags |= UCT_IFACE_FLAG_AM_ZCOPY;
    attr.cap.am.opt_zcopy_align = attr.cap.am.align_mtu = 1;
  }
  attr.cap.am.max_hdr = limits.max_header;
  // Without zero-copy it limits am_short_iov only, which copies any number of pieces.
  if (limits.max_zcopy != 0) attr.cap.am.max_iov = limits.max_iov;
  map_onesided(attr);
  if (wakes_itself()) attr.cap.event_flags |= UCT_IFACE_FLAG_EVENT_ASYNC_CB;
  attr.overhead += kMessageCost;
  attr.bandwidth.dedicated = in_series(attr.bandwidth.dedicated);
  attr.bandwidth.shared = in_series(attr.bandwidth.shared);
}

namespace {

// UCP sends atomic operations as messages of its own, whatever the interfaces offer.
bool emulates_atomics() noexcept {
  const char* mode = std::getenv("UCX_ATOMIC_MODE");
  return mode != nullptr && strcasecmp(mode, "device") == 0;
}

}  // namespace

// Puts, small gets and atomic operations travel in frames, whatever the lower transport has. Its
// own reads are verified; its puts are not offered, since what they write is there before any
// check. Where UCP emulates atomic operations it is to emulate puts and gets too: its messages may
// wait for the progress of an idle worker, where frames are served, and a fence orders them.
void VerityIface::map_onesided(uct_iface_attr_t& attr) const noexcept {
  if (core_.config.mode != link::Mode::kVerify)
    return;  // what is lost in mode observe is not sent again: UCP uses its own messages
  if (!emulates_atomics())
    attr.cap.flags |= UCT_IFACE_FLAG_PUT_SHORT | UCT_IFACE_FLAG_PUT_BCOPY |
                      UCT_IFACE_FLAG_GET_BCOPY | UCT_IFACE_FLAG_ATOMIC_CPU;
  constexpr uint64_t kPost = UCS_BIT(UCT_ATOMIC_OP_ADD) | UCS_BIT(UCT_ATOMIC_OP_AND) |
                             UCS_BIT(UCT_ATOMIC_OP_OR) | UCS_BIT(UCT_ATOMIC_OP_XOR);
  constexpr uint64_t kFetch = kPost | UCS_BIT(UCT_ATOMIC_OP_SWAP) | UCS_BIT(UCT_ATOMIC_OP_CSWAP);
  attr.cap.atomic32.op_flags = attr.cap.atomic64.op_flags = kPost;
  attr.cap.atomic32.fop_flags = attr.cap.atomic64.fop_flags = kFetch;
  const FrameLimits& limits = sender_.limits();
  attr.cap.put.max_short = limits.max_put_short();
  attr.cap.put.max_bcopy = limits.max_put();
  attr.cap.put.opt_zcopy_align = attr.cap.put.align_mtu = 1;
  attr.cap.get.max_bcopy = limits.max_get_bcopy();
  attr.cap.get.opt_zcopy_align = attr.cap.get.align_mtu = 1;
  if ((lower_attr().cap.flags & UCT_IFACE_FLAG_GET_ZCOPY) == 0) return;
  attr.cap.flags |= UCT_IFACE_FLAG_GET_ZCOPY;
  const auto& get = lower_attr().cap.get;
  attr.cap.get.min_zcopy = get.min_zcopy;
  attr.cap.get.max_zcopy = get.max_zcopy;
  attr.cap.get.opt_zcopy_align = get.opt_zcopy_align;
  attr.cap.get.align_mtu = get.align_mtu;
  attr.cap.get.max_iov = std::min(get.max_iov, rma::kMaxPieces);
}

}  // namespace verity::uct
