// SPDX-License-Identifier: BSD-3-Clause
#include "uct/links/link_set.h"

#include <optional>

#include "health/files/directory.h"
#include "uct/links/addresses.h"
#include "uct/links/lanes.h"
#include "uct/process/process.h"
#include "uct/process/ucx_log.h"

namespace verity::uct {

uint64_t LinkEp::next_serial() noexcept {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

// --- making ---

UctLink* LinkSet::make() {
  auto* l = new UctLink;
  l->set = this;
  l->to_ep = core_.to_ep;
  l->lower_request.link = l;
  all_.push_back(l->all_node());
  return l;
}

// A link that open(link) prepares; should that throw, it is gone again.
template <typename Open>
UctLink* LinkSet::make(Open&& open) {
  UctLink* l = make();
  try {
    open(*l);
  } catch (...) {
    if (l->counters != nullptr) {
      remove(*l);
    } else {
      delete l;  // the hub does not know it
    }
    throw;
  }
  return l;
}

UctLink* LinkSet::open_link(const wire::AddressTail& peer, uint8_t path) {
  UctLink* l = make([&](UctLink& made) {
    set_host(made, peer.host);
    core_.hub->lifecycle.open(made, peer.uid, path, link_mode(peer));
    attach_lanes(made);
  });
  if (l->is_off()) {
    for (link::SendWindow& tx : l->tx) tx.block();  // goes unframed
    has_off_links_ = true;
  }
  return l;
}

UctLink* LinkSet::link_to(const uct_ep_params_t& params, ucs_status_t* status_p) {
  wire::AddressTail tail;
  if (!read_tail(params.iface_addr, core_.lower_attr().iface_addr_len, &tail)) {
    *status_p = refuse_address(tail);
    return nullptr;
  }
  const bool has_path = (params.field_mask & UCT_EP_PARAM_FIELD_PATH_INDEX) != 0;
  const auto path = static_cast<uint8_t>(has_path ? params.path_index : 0);
  auto* l = static_cast<UctLink*>(core_.hub->links.find(tail.uid, path));
  // In mode off nothing is shared: what an endpoint sends ends with its own lower one.
  if (l == nullptr || l->is_lost() || l->is_off()) l = open_link(tail, path);
  if (l->lower == nullptr && !core_.may_connect() && !l->is_off()) {
    keep_addresses(*l, params.dev_addr, params.iface_addr);
    link::Sender::lower_missing(*l);
    request_attention(*l);
  } else if (l->lower == nullptr) {
    LowerEp lower;
    *status_p = create_lower_ep(params, &lower);
    if (*status_p != UCS_OK) {
      if (!l->in_flight() && l->peer_epoch == 0 && !l->eps.linked()) remove(*l);
      return nullptr;
    }
    adopt_lower(*l, std::move(lower));
    l->addresses.reset();
  }
  l->trailed_ids = extensions_.agree(l->mode(), wire::extensions_of(tail));
  *status_p = UCS_OK;
  return l;
}

UctLink* LinkSet::make_to_ep(LowerEp lower) {
  UctLink* l = make([&](UctLink& made) {
    core_.hub->lifecycle.enter(made);
    adopt_lower(made, std::move(lower));
  });
  link::Sender::lower_missing(*l);  // nothing can be sent before the peer's address is known
  return l;
}

ucs_status_t LinkSet::connect(UctLink& l, const wire::EpAddressTail& peer) noexcept {
  set_host(l, process().host_of(peer.host));
  core_.hub->lifecycle.connect(l, peer.iface.uid, peer.link, link_mode(peer.iface));
  const ucs_status_t status = guarded([&] {
    attach_lanes(l);
    return UCS_OK;
  });
  if (status != UCS_OK) return status;
  l.trailed_ids = extensions_.agree(l.mode(), wire::extensions_of(peer.iface));
  if (l.is_off()) {
    has_off_links_ = true;
  } else {
    core_.hub->sender.lower_ready(l);
  }
  request_attention(l);
  return UCS_OK;
}

UctLink* LinkSet::link_of_hello(const wire::HelloView& hello) {
  UctLink* l = make([&](UctLink& made) {
    keep_addresses(made, hello.device_address, hello.iface_address);
    set_host(made, process().host_of(hello.ext.host));
    core_.hub->lifecycle.open(made, hello.ext.uid, hello.ext.path,
                              static_cast<link::Mode>(hello.ext.mode));
    attach_lanes(made);
  });
  l->trailed_ids = extensions_.agree(l->mode(), hello.ext.trailers);
  return l;
}

void LinkSet::set_host(UctLink& l, health::HostId host) noexcept {
  if (host != 0 && l.host == host) return;
  process().communicates();
  l.host = host;
  health::Counters& row = core_.rows->peer(host, health::realtime_ns());
  if (l.counters != nullptr) {  // it was entered before the peer was known
    l.counters->links_opened--;
    row.links_opened++;
  }
  l.counters = l.counts = &row;
}

void LinkSet::adopt_lower(UctLink& l, LowerEp lower) {
  by_lower_[lower.get()] = &l;
  l.lower = std::move(lower);
  if (l.no_lower_endpoint) core_.hub->sender.lower_ready(l);
}

void LinkSet::keep_addresses(UctLink& l, const void* device, const void* iface) {
  const size_t device_length = core_.lower_attr().device_addr_len;
  const size_t iface_length = core_.lower_attr().iface_addr_len;
  auto addresses = std::make_unique<char[]>(device_length + iface_length + 1);
  if (device_length != 0) std::memcpy(addresses.get(), device, device_length);
  if (iface_length != 0) std::memcpy(addresses.get() + device_length, iface, iface_length);
  l.addresses = std::move(addresses);
}

ucs_status_t LinkSet::ensure_lower(UctLink& l) noexcept {
  if (l.lower != nullptr) return UCS_OK;
  if (l.addresses == nullptr) return UCS_ERR_UNREACHABLE;
  return guarded([&] {
    const char* iface_address = l.addresses.get() + core_.lower_attr().device_addr_len;
    uct_ep_params_t params{};
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR |
                        UCT_EP_PARAM_FIELD_IFACE_ADDR | UCT_EP_PARAM_FIELD_PATH_INDEX;
    params.iface = core_.lower();
    params.dev_addr = reinterpret_cast<const uct_device_addr_t*>(l.addresses.get());
    params.iface_addr = reinterpret_cast<const uct_iface_addr_t*>(iface_address);
    params.path_index = l.path;
    LowerEp lower;
    // A link without endpoints only answers, and a peer that has closed meanwhile needs no answer:
    // UCX's errors would be false alarms.
    std::optional<QuietLower> quiet;
    if (!l.eps.linked()) quiet.emplace();
    const ucs_status_t status = create_lower_ep(params, &lower);
    if (status != UCS_OK) return status;
    adopt_lower(l, std::move(lower));
    l.addresses.reset();
    return UCS_OK;
  });
}

// --- ending ---

namespace {

// A lost write that some endpoint has not reported yet.
bool has_loss(UctLink& l) noexcept {
  for (util::ListNode* node = l.eps.next; node != &l.eps; node = node->next) {
    if (LinkEp::in_link(node).has_loss()) return true;
  }
  return false;
}

}  // namespace

void LinkSet::give_up(UctLink& l, ucs_status_t status) noexcept {
  if (l.failed()) return;
  l.failure = status;
  l.finished = l.is_finished() && l.open == 0 && l.pending.empty() && !has_loss(l);
  core_.hub->lifecycle.lower_failed(l);
  request_attention(l);
}

void LinkSet::close_lower(UctLink& l) noexcept {
  if (l.lower == nullptr) return;
  if (l.lower_waiting)
    uct_ep_pending_purge(
        l.lower.get(), [](uct_pending_req_t*, void*) {}, nullptr);
  by_lower_.erase(l.lower.get());
  ++l.attended;  // a completion may progress the worker
  l.lower.reset();
  --l.attended;
}

void LinkSet::remove(UctLink& l) noexcept {
  core_.hub->lifecycle.remove(l);
  detach_lanes(l);
  close_lower(l);
  if (l.open != 0) {
    ucs_error("ucx-verity: v%s: a read never ended: its link is not freed", core_.lower_name());
    l.all_node().unlink();
    l.attention_node().unlink();
    return;
  }
  delete &l;
}

// --- finding ---

UctLink* LinkSet::of_lower(uct_ep_h lower) const noexcept {
  const auto it = by_lower_.find(lower);
  return it != by_lower_.end() ? it->second : nullptr;
}

UctLink* LinkSet::to_worker(uint64_t peer_worker) noexcept {
  UctLink* found = nullptr;
  (void)any_of([&](UctLink& l) {
    const bool fits = wire::worker_of(l.peer_uid) == peer_worker && l.is_usable();
    if (fits) found = &l;
    return fits;
  });
  return found;
}

// --- attention ---

void LinkSet::wake_pending() noexcept {
  for_each([this](UctLink& l) {
    if (!l.pending.empty()) request_attention(l);
  });
}

// --- the other links to the same worker ---

// The peer's worker is known: the link's operations are ordered with those on the other lanes to
// it. Throws std::bad_alloc.
void LinkSet::attach_lanes(UctLink& l) {
  if (l.mode() != link::Mode::kVerify || l.order != nullptr) return;
  const WorkerGroup::Guard all(core_.group);
  Lanes& lanes = core_.group.lanes(wire::worker_of(l.peer_uid));
  l.order = &lanes;
  lanes.peers.push_back(static_cast<rma::InOrder&>(l));
}

void LinkSet::detach_lanes(UctLink& l) noexcept {
  if (l.order == nullptr) return;
  const WorkerGroup::Guard all(core_.group);
  Lanes& lanes = Lanes::of(l);
  static_cast<rma::InOrder&>(l).unlink();
  l.order = nullptr;
  core_.group.give_back(lanes);
}

}  // namespace verity::uct
