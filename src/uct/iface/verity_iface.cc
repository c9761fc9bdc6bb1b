// SPDX-License-Identifier: BSD-3-Clause
#include "uct/iface/verity_iface.h"

#include <unistd.h>

#include <algorithm>

#include "uct/process/process.h"
#include "uct/iface/verity_ep.h"

namespace verity::uct {

namespace {

// The least that a message needs of the lower transport: a control frame with a HELLO, and the
// smallest payload UCP wants (UCP_MIN_BCOPY).
constexpr size_t kLeastBcopy = 512;

// Zero-copy sends up to this are copied, where the lower transport copies as much: cheaper than keeping the user waiting for an
// acknowledgement.
constexpr size_t kCopyUpTo = 2048;

// What checking adds, for UCX's choice among transports: a few tens of ns per message and side, and
// a hash of some 10 GB/s in series with the transport.
constexpr double kMessageCost = 20e-9;
constexpr double kHashRate = 12e9;

// UCP cuts long messages at our limits. A library that unpacks pieces of a non-contiguous type (MPICH) fails where a cut goes through an
// element; the lower transports' own limits are multiples of this.
constexpr size_t kElement = 64;
[[nodiscard]] constexpr size_t whole_elements(size_t limit) noexcept { return limit / kElement * kElement; }

}  // namespace

double in_series(double bandwidth) noexcept {
  return bandwidth <= 0 ? bandwidth : 1 / (1 / bandwidth + 1 / kHashRate);
}

void add_cost(uct_perf_attr_t& attr) noexcept {
  if ((attr.field_mask & UCT_PERF_ATTR_FIELD_SEND_PRE_OVERHEAD) != 0) {
    attr.send_pre_overhead += kMessageCost;
  }
  if ((attr.field_mask & UCT_PERF_ATTR_FIELD_RECV_OVERHEAD) != 0) {
    attr.recv_overhead += kMessageCost;
  }
  if ((attr.field_mask & UCT_PERF_ATTR_FIELD_BANDWIDTH) != 0) {
    attr.bandwidth.dedicated = in_series(attr.bandwidth.dedicated);
    attr.bandwidth.shared = in_series(attr.bandwidth.shared);
  }
}

VerityIface::~VerityIface() {
  stop_thread();
  if (epoll_fd_ >= 0) ::close(epoll_fd_);
  if (timer_fd_ >= 0) ::close(timer_fd_);
}

void VerityIface::fill_ops(uct_iface_ops_t& ops) const noexcept {
  ops.ep_am_short = Ops::am_short;
  ops.ep_am_short_iov = Ops::am_short_iov;
  ops.ep_am_bcopy = Ops::am_bcopy;
  ops.ep_am_zcopy = Ops::am_zcopy;
  if (!is_off()) {
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
  ops.ep_connect_to_ep = Ops::ep_connect_to_ep;
  ops.iface_flush = Ops::iface_flush;
  ops.iface_fence = Ops::iface_fence;
  ops.iface_progress_enable = Ops::progress_enable;
  ops.iface_progress_disable = Ops::progress_disable;
  ops.iface_progress = Ops::iface_progress;
  ops.iface_event_fd_get = Ops::event_fd_get;
  ops.iface_event_arm = Ops::event_arm;
  ops.iface_is_reachable = Ops::is_reachable;
}

void VerityIface::fill_internal_ops(InternalOps& ops) const noexcept {
  ops.estimate_perf = Ops::estimate_perf;
  ops.ep_query = Ops::ep_query;
  ops.ep_invalidate = Ops::ep_invalidate;
}

// Of nearly all frames; the others' descriptors are not offered where they are not aligned.
size_t VerityIface::am_header_size() const noexcept { return wire::kCompactHeader; }
// Header, HELLO and trailer, and what whole_elements() may take away. Always the same, for on shared memory both sides' buffers must be.
size_t VerityIface::am_room() const noexcept {
  constexpr size_t kMost = sizeof(wire::FrameHeader) + wire::kMaxHello + kTrailerRoom + kElement;
  return kMost / kElement * kElement;
}
size_t VerityIface::iface_addr_extra() const noexcept { return to_ep_ ? 0 : sizeof(wire::AddressTail); }
size_t VerityIface::ep_addr_extra() const noexcept { return sizeof(wire::EpAddressTail); }

wire::AddressTail VerityIface::address_tail() const noexcept {
  const auto mode = static_cast<uint8_t>(static_cast<uint8_t>(config_.mode) | trailers() << 4);
  return {wire::kAddressMagic, wire::kVersion, mode, process().host(), uid_};
}

void VerityIface::set_trailers(UctLink& l, unsigned theirs) const noexcept {
  l.trailed_ids = 0;
  if (companion_ == nullptr || theirs == 0 || l.mode == link::Mode::kOff) return;
  if (theirs == VERITY_COMPANION_VERSION) {
    l.trailed_ids = companion_->am_ids;
  } else {
    process().trailers_differ(theirs);
  }
}

void VerityIface::write_iface_addr_extra(void* out) noexcept {
  if (to_ep_) return;
  const wire::AddressTail tail = address_tail();
  std::memcpy(out, &tail, sizeof(tail));
}

void VerityIface::write_ep_addr_extra(WrapEp& ep, void* out) noexcept {
  wire::EpAddressTail tail{address_tail(), static_cast<VerityEp&>(ep).link().local_id, {}};
  process().write_host(tail.host);
  std::memcpy(out, &tail, sizeof(tail));
}

void VerityIface::map_attr(uct_iface_attr_t& attr) const noexcept {
  WrapIface::map_attr(attr);
  attr.cap.flags &= ~static_cast<uint64_t>(UCT_IFACE_FLAG_AM_DUP);
  attr.priority = static_cast<uint8_t>(attr.priority + 1);
  if (is_off()) return;
  attr.cap.flags |= UCT_IFACE_FLAG_AM_SHORT | UCT_IFACE_FLAG_PENDING;
  attr.cap.am.max_short = max_bcopy_;
  attr.cap.am.max_bcopy = max_bcopy_;
  if (max_zcopy_ == 0) attr.cap.flags &= ~static_cast<uint64_t>(UCT_IFACE_FLAG_AM_ZCOPY);
  attr.cap.am.max_zcopy = max_zcopy_;
  attr.cap.am.max_hdr = max_header_;
  // Without zero-copy it limits am_short_iov only, which copies any number of pieces.
  if (max_zcopy_ != 0) attr.cap.am.max_iov = max_iov_;
  map_onesided(attr);
  attr.overhead += kMessageCost;
  attr.bandwidth.dedicated = in_series(attr.bandwidth.dedicated);
  attr.bandwidth.shared = in_series(attr.bandwidth.shared);
}

// Puts, small gets and atomic operations travel in frames, whatever the lower transport has. Its own reads are verified; its
// puts are not offered, since what they write is there before any check.
void VerityIface::map_onesided(uct_iface_attr_t& attr) const noexcept {
  if (config_.mode != link::Mode::kVerify) return;  // what is lost in mode observe is not sent again: UCP asks in its own messages
  attr.cap.flags |= UCT_IFACE_FLAG_PUT_SHORT | UCT_IFACE_FLAG_PUT_BCOPY | UCT_IFACE_FLAG_GET_BCOPY | UCT_IFACE_FLAG_ATOMIC_CPU;
  constexpr uint64_t kPost = UCS_BIT(UCT_ATOMIC_OP_ADD) | UCS_BIT(UCT_ATOMIC_OP_AND) | UCS_BIT(UCT_ATOMIC_OP_OR) | UCS_BIT(UCT_ATOMIC_OP_XOR);
  constexpr uint64_t kFetch = kPost | UCS_BIT(UCT_ATOMIC_OP_SWAP) | UCS_BIT(UCT_ATOMIC_OP_CSWAP);
  attr.cap.atomic32.op_flags = attr.cap.atomic64.op_flags = kPost;
  attr.cap.atomic32.fop_flags = attr.cap.atomic64.fop_flags = kFetch;
  attr.cap.put.max_short = attr.cap.put.max_bcopy = max_put();
  attr.cap.put.opt_zcopy_align = attr.cap.put.align_mtu = 1;
  attr.cap.get.max_bcopy = max_get_bcopy();
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

void VerityIface::set_limits() noexcept {
  const auto& cap = lower_attr().cap.am;
  const bool has_short = (lower_attr().cap.flags & UCT_IFACE_FLAG_AM_SHORT) != 0;
  const bool has_zcopy = (lower_attr().cap.flags & UCT_IFACE_FLAG_AM_ZCOPY) != 0;
  constexpr size_t kHeader = sizeof(wire::FrameHeader);
  const size_t hello = to_ep_ ? 0 : config_.hello_size;
  const size_t segment = size_t{1} << config_.segment_log2;
  const size_t most = std::min<size_t>(segment * wire::kMaxFrameLeaves, 1u << 23);
  // With a companion or without: a peer goes by our limits, and may have the other.
  const size_t room = cap.max_bcopy >= kHeader + hello + 2 * kTrailerRoom ? kTrailerRoom : 0;
  companion_ = room != 0 ? find_companion() : nullptr;
  if (companion_ != nullptr) told_ids_ |= companion_->am_ids | 1u << kTrailerId | 1u << kLeaderId;
  const size_t added = hello + room;
  max_short_ = has_short ? cap.max_short : 0;
  max_bcopy_ = whole_elements(std::min(cap.max_bcopy - kHeader - added, most - room));
  copy_up_to_ = std::min(kCopyUpTo, max_bcopy_);
  config_.max_frame = std::max<size_t>(kHeader + max_bcopy_ + added, 2048);
  if (!has_zcopy || cap.max_zcopy <= kHeader + added || cap.max_iov < 3) return;
  max_zcopy_ = whole_elements(std::min(cap.max_zcopy - kHeader - added, most - room));
  header_room_ = cap.max_hdr > kHeader ? cap.max_hdr - kHeader : 0;
  max_header_ = std::min<size_t>(header_room_, 256);
  max_iov_ = std::min(cap.max_iov - 1, link::kMaxSourcePieces - 1);
  if (max_header_ < 64) max_zcopy_ = max_header_ = max_iov_ = 0;
}

ucs_status_t VerityIface::open_hub() {
  const uct_iface_attr_t& attr = lower_attr();
  config_ = options().link;
  to_ep_ = (attr.cap.flags & UCT_IFACE_FLAG_CONNECT_TO_IFACE) == 0;
  is_self_ = std::strcmp(lower_tl_name(), "self") == 0;
  config_.hello_size = sizeof(wire::HelloExt) + attr.device_addr_len + attr.iface_addr_len + 8;
  config_.compact = true;
  config_.max_send = attr.cap.am.max_bcopy;
  if (attr.cap.am.max_bcopy < kLeastBcopy || attr.device_addr_len > wire::kMaxDeviceAddress ||
      attr.iface_addr_len > wire::kMaxIfaceAddress) {
    ucs_error("ucx-verity: %s sends at most %zu bytes and has addresses of %zu and %zu bytes: it "
              "cannot be wrapped", lower_tl_name(), attr.cap.am.max_bcopy, attr.device_addr_len,
              attr.iface_addr_len);
    return UCS_ERR_UNSUPPORTED;
  }
  set_limits();
  device_address_.resize(attr.device_addr_len);
  iface_address_.resize(attr.iface_addr_len);
  group_.join(&worker->super, this);
  uid_ = group_.uid();
  hub_ = std::make_unique<link::Hub>(uid_, config_, *this, rows_->own());
  if (is_off()) return UCS_OK;
  onesided_ = std::make_unique<OneSided>(*this);
  told_ids_ |= 1u << wire::kRmaId;
  return UCS_OK;
}

ucs_status_t VerityIface::opened(const uct_iface_params_t& params, const uct_iface_config_t&) {
  stub_ = am[kAsyncId].cb;
  has_async_ = shared_ = (lower_attr().cap.flags & UCT_IFACE_FLAG_CB_ASYNC) != 0;
  headroom_ = (params.field_mask & UCT_IFACE_PARAM_FIELD_RX_HEADROOM) != 0 ? params.rx_headroom : 0;
  if ((params.field_mask & UCT_IFACE_PARAM_FIELD_AM_ALIGNMENT) != 0) {
    align_mask_ = params.am_alignment - 1;
    if ((params.field_mask & UCT_IFACE_PARAM_FIELD_AM_ALIGN_OFFSET) != 0) {
      align_offset_ = params.am_align_offset;
    }
  }
  if ((params.field_mask & UCT_IFACE_PARAM_FIELD_ASYNC_EVENT_CB) != 0 &&
      (lower_attr().cap.event_flags & UCT_IFACE_FLAG_EVENT_ASYNC_CB) != 0) {
    event_cb_ = params.async_event_cb;
    event_arg_ =
        (params.field_mask & UCT_IFACE_PARAM_FIELD_ASYNC_EVENT_ARG) != 0 ? params.async_event_arg : nullptr;
  }
  if ((params.open_mode & UCT_IFACE_OPEN_MODE_DEVICE) != 0) device_name_ = params.mode.device.dev_name;
  release_.iface = release_compact_.iface = this;
  release_.cb = [](uct_recv_desc_t* self, void* desc) noexcept {
    release_desc(self, static_cast<char*>(desc) - sizeof(wire::FrameHeader));
  };
  release_compact_.cb = [](uct_recv_desc_t* self, void* desc) noexcept {
    release_desc(self, static_cast<char*>(desc) - wire::kCompactHeader);
  };
  rows_ = process().open_rows(lower_tl_name(), params, lower_injects());
  const ucs_status_t status = open_hub();
  if (status != UCS_OK) return status;
  if (companion_ != nullptr) {
    process().count_types(*companion_);
    companion_->opened(worker);
  }
  check_time_ = true;  // by the first progress: until then nothing shows which thread progresses it
  enter_neighbours();
  process().opened(config_.mode);
  process().add_interface(uid_);
  if (shared_) group_.share(async());
  const ucs_status_t set = receive_async();
  if (set == UCS_OK) start_thread();
  return set;
}

// From here on the asynchronous thread may be at work here. What was written so far is there for it, as it takes the same lock.
ucs_status_t VerityIface::receive_async() noexcept {
  const AsyncGuard guard(*this);
  return has_async_ ? set_lower_am_handler(kAsyncId, UCT_CB_FLAG_ASYNC) : UCS_OK;
}

ucs_status_t VerityIface::refuse_id(uint8_t id) const noexcept {
  ucs_error("ucx-verity: v%s: active message %u: numbers from %u on are used by the transport itself", lower_tl_name(), id, kCompactId);
  return UCS_ERR_UNSUPPORTED;
}

// UCX notifies nobody when a handler is set.
void VerityIface::check_handlers() const noexcept {
  for (uint8_t id = kCompactId; id < UCT_AM_ID_MAX; ++id) {
    if (am[id].cb != stub_) (void)refuse_id(id);
  }
}

// The lower transport's pool of descriptors may be in another thread's hands.
void VerityIface::release_desc(uct_recv_desc_t* release, const char* lower_desc) noexcept {
  const AsyncGuard guard(*static_cast<Release*>(release)->iface);
  uct_iface_release_desc(const_cast<char*>(lower_desc));
}

int Ops::is_reachable(const uct_iface_h iface, const uct_device_addr_t* device,
                      const uct_iface_addr_t* address) noexcept {
  VerityIface& self = VerityIface::of(iface);
  if (self.iface_addr_extra() != 0 && address != nullptr) {
    wire::AddressTail tail;
    if (!read_tail(address, self.lower_attr().iface_addr_len, &tail)) return 0;
  }
  return uct_iface_is_reachable(self.lower(), device, address);
}

ucs_status_t Ops::estimate_perf(uct_iface_h iface, uct_perf_attr_t* attr) noexcept {
  const ucs_status_t status = uct_iface_estimate_perf(VerityIface::of(iface).lower(), attr);
  if (status == UCS_OK) add_cost(*attr);
  return status;
}

}  // namespace verity::uct
