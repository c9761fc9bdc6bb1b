// SPDX-License-Identifier: BSD-3-Clause
//
// Who the peer is: with UCX_FAULT_PEERS, each process's rank is at the end of its addresses, those
// of interfaces and those of endpoints.
#include <cstring>

#include "fault/iface.h"

namespace verity::fault {
namespace {

using Rank = uint32_t;
constexpr Rank kNoRank = ~Rank{0};

size_t extra() noexcept { return injector().settings().peers.empty() ? 0 : sizeof(Rank); }

void write_rank(void* to) noexcept {
  if (extra() != 0) {
    const uint64_t own = injector().settings().rank;
    const Rank rank = own < kNoRank ? static_cast<Rank>(own) : kNoRank;
    std::memcpy(to, &rank, sizeof(rank));
  }
}

// Behind the lower transport's address.
uint64_t read_rank(const void* addr, size_t lower_length) noexcept {
  if (extra() == 0 || addr == nullptr) { return kUnset; }
  Rank rank;
  std::memcpy(&rank, static_cast<const char*>(addr) + lower_length, sizeof(rank));
  return rank == kNoRank ? kUnset : rank;
}

ucs_status_t connect_op(uct_ep_h tl_ep, const uct_device_addr_t* device, const uct_ep_addr_t* addr,
                        const uct::AddressLengths& lengths) noexcept {
  FaultEp& ep = FaultEp::of(tl_ep);
  ep.connected(addr);
  return ep.iface().connect_lower(ep.lower(), device, addr, lengths);
}

}  // namespace

ucs_status_t FaultEp::created(const uct_ep_params_t& params) {
  if ((params.field_mask & UCT_EP_PARAM_FIELD_IFACE_ADDR) != 0) {
    peer_ = read_rank(params.iface_addr, iface().lower_attr().iface_addr_len);
  }
  return UCS_OK;
}

void FaultEp::connected(const uct_ep_addr_t* addr) noexcept {
  peer_ = read_rank(addr, iface().lower_attr().ep_addr_len);
}

bool FaultIface::connects_ep_only() const noexcept {
  return injector().settings().connects_ep_only &&
         (lower_attr().cap.flags & UCT_IFACE_FLAG_CONNECT_TO_EP) != 0;
}

// None where interfaces are not connected to.
size_t FaultIface::iface_addr_extra() const noexcept {
  return (lower_attr().cap.flags & UCT_IFACE_FLAG_CONNECT_TO_IFACE) != 0 && !connects_ep_only()
             ? extra()
             : 0;
}

void FaultIface::write_iface_addr_extra(void* to) noexcept {
  if (iface_addr_extra() != 0) { write_rank(to); }
}

size_t FaultIface::ep_addr_extra() const noexcept { return extra(); }

void FaultIface::write_ep_addr_extra(uct::WrapEp&, void* to) noexcept { write_rank(to); }

namespace {

decltype(uct_iface_ops_t::iface_get_address) whole_address;

// UCP asks for the address all the same, and has no room for it: the length that it is told is 0.
ucs_status_t get_address_op(uct_iface_h iface, uct_iface_addr_t* addr) noexcept {
  return FaultIface::of(iface).connects_ep_only() ? UCS_OK : whole_address(iface, addr);
}

}  // namespace

void fill_connect_ops(uct_iface_ops_t& ops) noexcept {
  whole_address = ops.iface_get_address;
  ops.iface_get_address = get_address_op;
}

void FaultIface::fill_internal_ops(uct::InternalOps& ops) const noexcept {
  ops.ep_connect = connect_op;
}

}  // namespace verity::fault
