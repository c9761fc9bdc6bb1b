// SPDX-License-Identifier: BSD-3-Clause
// Endpoints and the links that they use.
#include "uct/iface/verity_ep.h"

#include <cstdio>
#include <optional>

#include "health/directory.h"
#include "uct/process/process.h"
#include "uct/process/quiet_lower.h"

namespace verity::uct {

bool read_tail(const void* address, size_t offset, wire::AddressTail* tail) noexcept {
  std::memcpy(tail, static_cast<const char*>(address) + offset, sizeof(*tail));
  return tail->magic == wire::kAddressMagic && mode_of(*tail) <= link::Mode::kVerify &&
         tail->version == wire::kVersion;
}

ucs_status_t refuse_address(const wire::AddressTail& tail) noexcept {
  if (tail.magic != wire::kAddressMagic) {
    ucs_error("ucx-verity: the peer's address is not one of a verified transport: is the plugin "
              "loaded on every host of the job?");
  } else if (tail.version != wire::kVersion) {
    ucs_error("ucx-verity: the peer speaks protocol version %u, this side %u: install one "
              "version of ucx-verity on all hosts", tail.version, wire::kVersion);
  } else {
    ucs_error("ucx-verity: the peer's address names mode %u, this side knows 0 to %u: install one version of ucx-verity on all "
              "hosts", static_cast<unsigned>(mode_of(tail)), static_cast<unsigned>(link::Mode::kVerify));
  }
  return UCS_ERR_UNREACHABLE;
}

uint64_t VerityEp::next_serial() noexcept {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

std::unique_ptr<WrapEp> VerityIface::new_ep() { return std::make_unique<VerityEp>(); }

UctLink* VerityIface::new_link() {
  auto* l = new UctLink;
  l->iface = this;
  l->to_ep = to_ep_;
  l->lower_request.link = l;
  links_.push_back(l->all_node());
  return l;
}

void VerityIface::set_host(UctLink& l, health::HostId host) noexcept {
  if (host != 0 && l.host == host) return;
  process().communicates();
  l.host = host;
  health::Counters& row = rows_->peer(host, health::realtime_ns());
  if (l.counters != nullptr) {  // it was entered before the peer was known
    l.counters->links_opened--;
    row.links_opened++;
  }
  l.counters = l.counts = &row;
}

void VerityIface::adopt_lower(UctLink& l, LowerEp lower) {
  by_lower_[lower.get()] = &l;
  l.lower = std::move(lower);
  if (l.corked) hub_->uncork(l);
}

void VerityIface::keep_addresses(UctLink& l, const void* device, const void* iface) {
  const size_t device_length = lower_attr().device_addr_len;
  const size_t iface_length = lower_attr().iface_addr_len;
  auto addresses = std::make_unique<char[]>(device_length + iface_length + 1);
  if (device_length != 0) std::memcpy(addresses.get(), device, device_length);
  if (iface_length != 0) std::memcpy(addresses.get() + device_length, iface, iface_length);
  l.addresses = std::move(addresses);
}

UctLink* VerityIface::link_to(const uct_ep_params_t& params, ucs_status_t* status_p) {
  wire::AddressTail tail;
  if (!read_tail(params.iface_addr, lower_attr().iface_addr_len, &tail)) {
    *status_p = refuse_address(tail);
    return nullptr;
  }
  const bool has_path = (params.field_mask & UCT_EP_PARAM_FIELD_PATH_INDEX) != 0;
  const auto path = static_cast<uint8_t>(has_path ? params.path_index : 0);
  auto* l = static_cast<UctLink*>(hub_->find(tail.uid, path));
  if (l == nullptr || l->failed || l->peer_gone) {
    l = new_link();
    set_host(*l, tail.host);
    hub_->open(*l, tail.uid, path, mode_of(tail));
    join_lanes(*l);
    if (l->mode == link::Mode::kOff) {
      l->tx[0].blocked = l->tx[1].blocked = true;  // goes unframed
      has_off_links_ = true;
    }
  }
  // Inside a lower receive callback tcp must not be asked for an endpoint: it would take over the very
  // connection whose buffer it is reading, and stumble over the rest of it. It is made in progress.
  const bool later = upcalls_ != 0 && !has_async_ && l->mode != link::Mode::kOff;
  if (l->lower == nullptr && later) {
    keep_addresses(*l, params.dev_addr, params.iface_addr);
    link::Hub::cork(*l);
    want_attention(*l);
  } else if (l->lower == nullptr) {
    LowerEp lower;
    *status_p = create_lower_ep(params, &lower);
    if (*status_p != UCS_OK) {
      if (!l->in_flight() && l->peer_epoch == 0) drop_link(*l);
      return nullptr;
    }
    adopt_lower(*l, std::move(lower));
    l->addresses.reset();
  }
  set_trailers(*l, tail.mode >> 4);
  *status_p = UCS_OK;
  return l;
}

ucs_status_t VerityEp::open_lower(const uct_ep_params_t& lower_params) {
  VerityIface& f = verity();
  f.note_thread();
  f.check_handlers();
  const AsyncGuard guard(f);
  ucs_status_t status = UCS_OK;
  if (!f.connects_to_ep()) {
    link_ = f.link_to(lower_params, &status);
  } else {
    LowerEp lower;
    status = create_lower_ep(lower_params, &lower);
    if (status == UCS_OK) {
      link_ = f.new_link();
      f.hub().enter(*link_);
      f.adopt_lower(*link_, std::move(lower));
      link::Hub::cork(*link_);  // nothing can be sent before the peer's address is known
    }
  }
  if (link_ != nullptr) {
    link_->eps.push_back(link_node());
    link::Hub::stay(*link_);
  }
  return status;
}

void VerityEp::destroying() noexcept {
  if (link_ == nullptr) return;
  leave_link();
  if (!link_->eps.linked()) verity().end_sends(*link_);
}

void VerityEp::leave_link() noexcept {
  VerityIface& f = verity();
  const AsyncGuard guard(f);
  link_->purge_pending(this, nullptr, nullptr);
  f.cancel_flushes(this);
  if (open != 0) f.abandon_reads(*this);
  link_node().unlink();
  if (!link_->eps.linked()) {
    // What the user's buffers still hold is copied now: nothing may point into them hereafter.
    f.hub().own_sources(*link_);
    f.hub().leave(*link_);
    link_->orphan = true;
    f.want_attention(*link_);
  }
}

UctLink* VerityIface::link_to_worker(uint64_t peer_worker) noexcept {
  for (util::ListNode* node = links_.next; node != &links_; node = node->next) {
    UctLink& l = UctLink::in_all(node);
    if (wire::worker_of(l.peer_uid) == peer_worker && is_usable(l)) return &l;
  }
  return nullptr;
}

// On demand: the peer greeted us before we made an endpoint to it.
ucs_status_t VerityIface::ensure_lower(UctLink& l) noexcept {
  if (l.lower != nullptr) return UCS_OK;
  if (l.addresses == nullptr) return UCS_ERR_UNREACHABLE;
  return guarded([&] {
    uct_ep_params_t params{};
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR |
                        UCT_EP_PARAM_FIELD_IFACE_ADDR | UCT_EP_PARAM_FIELD_PATH_INDEX;
    params.iface = lower();
    params.dev_addr = reinterpret_cast<const uct_device_addr_t*>(l.addresses.get());
    params.iface_addr = reinterpret_cast<const uct_iface_addr_t*>(l.addresses.get() + lower_attr().device_addr_len);
    params.path_index = l.path;
    LowerEp lower;
    // A link without endpoints only answers, and a peer that has closed meanwhile needs no answer: UCX's errors would be false alarms.
    std::optional<QuietLower> quiet;
    if (!l.eps.linked()) quiet.emplace();
    const ucs_status_t status = create_lower_ep(params, &lower);
    if (status != UCS_OK) return status;
    adopt_lower(l, std::move(lower));
    l.addresses.reset();
    return UCS_OK;
  });
}

// Only from progress and closing: nothing on the stack may hold the link.
void VerityIface::drop_link(UctLink& l) noexcept {
  if (onesided_ != nullptr) onesided_->forget(l);
  if (l.open != 0) onesided_->abort(l);
  hub_->remove(l);
  if (l.lower_waiting) uct_ep_pending_purge(l.lower.get(), [](uct_pending_req_t*, void*) {}, nullptr);
  if (l.lower != nullptr) by_lower_.erase(l.lower.get());
  leave_lanes(l);
  l.lower.reset();  // what it still reads ends with it
  if (l.open != 0) {
    ucs_error("ucx-verity: v%s: a read never ended: its link is not freed", lower_tl_name());
    l.all_node().unlink();
    l.attention_node().unlink();
    return;
  }
  delete &l;
}

ucs_status_t Ops::ep_get_address(uct_ep_h ep, uct_ep_addr_t* address) noexcept {
  VerityEp& self = VerityEp::of(ep);
  const ucs_status_t status = uct_ep_get_address(self.carrier(), address);
  if (status != UCS_OK) return status;
  VerityIface& f = self.verity();
  f.write_ep_addr_extra(self, reinterpret_cast<char*>(address) + f.lower_attr().ep_addr_len);
  return UCS_OK;
}

ucs_status_t Ops::ep_connect_to_ep(uct_ep_h ep, const uct_device_addr_t* device,
                                   const uct_ep_addr_t* address) noexcept {
  VerityEp& self = VerityEp::of(ep);
  VerityIface& f = self.verity();
  const AsyncGuard guard(f);
  wire::EpAddressTail tail;
  if (!read_tail(address, f.lower_attr().ep_addr_len, &tail.iface)) return refuse_address(tail.iface);
  std::memcpy(&tail, reinterpret_cast<const char*>(address) + f.lower_attr().ep_addr_len, sizeof(tail));
  ucs_status_t status = uct_ep_connect_to_ep(self.carrier(), device, address);
  if (status != UCS_OK) return status;
  UctLink& l = self.link();
  f.set_host(l, process().meet(tail.host));
  f.hub().connect(l, tail.iface.uid, tail.link, mode_of(tail.iface));
  status = guarded([&] {
    f.join_lanes(l);
    return UCS_OK;
  });
  if (status != UCS_OK) return status;
  f.set_trailers(l, tail.iface.mode >> 4);
  if (l.mode != link::Mode::kOff) {
    f.hub().uncork(l);
  } else {
    f.note_off_link();
  }
  f.want_attention(l);
  return UCS_OK;
}

ucs_status_t Ops::ep_query(uct_ep_h ep, uct_ep_attr_t* attr) noexcept {
  VerityEp& self = VerityEp::of(ep);
  return self.carrier() != nullptr ? uct_ep_query(self.carrier(), attr) : UCS_ERR_NOT_CONNECTED;
}

// Emulates a failure of the transport: ours too, if the lower one cannot.
ucs_status_t Ops::ep_invalidate(uct_ep_h ep, unsigned flags) noexcept {
  VerityEp& self = VerityEp::of(ep);
  const AsyncGuard guard(self.verity());
  const ucs_status_t status =
      self.carrier() != nullptr ? invalidate_ep(self.carrier(), flags) : UCS_ERR_UNSUPPORTED;
  if (status == UCS_ERR_UNSUPPORTED) {
    self.verity().give_up(self.link(), UCS_ERR_ENDPOINT_TIMEOUT);
    return UCS_OK;
  }
  return status;
}

ucs_status_t Ops::ep_check(uct_ep_h ep, unsigned flags, uct_completion_t* comp) noexcept {
  VerityEp& self = VerityEp::of(ep);
  const AsyncGuard guard(self.verity());
  if (self.link().failed || self.carrier() == nullptr) return UCS_OK;  // already told; not connected yet
  return uct_ep_check(self.carrier(), flags, comp);
}

}  // namespace verity::uct
