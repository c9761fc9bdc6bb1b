// SPDX-License-Identifier: BSD-3-Clause
#include "uct/compat/internal_ops.h"

namespace verity::uct {
namespace {

void vfs_refresh_op(uct_iface_h) noexcept {}

#if VERITY_UCX_AT_LEAST(1, 21)
ucs_status_t ep_invalidate_op(uct_ep_h ep, const uct_ep_invalidate_params_t*) noexcept {
  return InternalTable::of(ep->iface).ep_invalidate(ep, 0);
}
#else
ucs_status_t ep_invalidate_op(uct_ep_h ep, unsigned flags) noexcept {
  return InternalTable::of(ep->iface).ep_invalidate(ep, flags);
}
#endif

#if VERITY_UCX_AT_LEAST(1, 14)
ucs_status_t ep_connect_to_ep_v2_op(uct_ep_h ep, const uct_device_addr_t* device,
                                    const uct_ep_addr_t* address,
                                    const uct_ep_connect_to_ep_params_t* params) noexcept {
  AddressLengths lengths;
  if ((params->field_mask & UCT_EP_CONNECT_TO_EP_PARAM_FIELD_DEVICE_ADDR_LENGTH) != 0)
    lengths.device = params->device_addr_length;
  if ((params->field_mask & UCT_EP_CONNECT_TO_EP_PARAM_FIELD_EP_ADDR_LENGTH) != 0)
    lengths.own = params->ep_addr_length;
  return InternalTable::of(ep->iface).ep_connect(ep, device, address, lengths);
}
#endif

#if VERITY_UCX_AT_LEAST(1, 15)
int iface_is_reachable_v2_op(const uct_iface_h iface,
                             const uct_iface_is_reachable_params_t* params) noexcept {
  PeerAddress peer{.more = params};
  if ((params->field_mask & UCT_IFACE_IS_REACHABLE_FIELD_DEVICE_ADDR) != 0)
    peer.device = params->device_addr;
  if ((params->field_mask & UCT_IFACE_IS_REACHABLE_FIELD_IFACE_ADDR) != 0)
    peer.iface = params->iface_addr;
  return InternalTable::of(iface).is_reachable(iface, peer) ? 1 : 0;
}
#endif

#if VERITY_UCX_AT_LEAST(1, 16)
int ep_is_connected_op(uct_ep_h ep, const uct_ep_is_connected_params_t* params) noexcept {
  PeerAddress peer{.more = params};
  if ((params->field_mask & UCT_EP_IS_CONNECTED_FIELD_DEVICE_ADDR) != 0)
    peer.device = params->device_addr;
  if ((params->field_mask & UCT_EP_IS_CONNECTED_FIELD_IFACE_ADDR) != 0)
    peer.iface = params->iface_addr;
  if ((params->field_mask & UCT_EP_IS_CONNECTED_FIELD_EP_ADDR) != 0) peer.ep = params->ep_addr;
  return InternalTable::of(ep->iface).ep_is_connected(ep, peer) ? 1 : 0;
}
#endif

#if VERITY_UCX_AT_LEAST(1, 20)
ucs_status_t get_device_ep_op(uct_ep_h, uct_device_ep_h*) noexcept { return UCS_ERR_UNSUPPORTED; }
#endif

// A token says which of a transport's operations have arrived. The lower transport's would say it
// of its frames, which are not the operations that were posted here.
#if VERITY_UCX_AT_LEAST(1, 23)
ucs_status_t ep_query_op(uct_ep_h ep, uct_ep_attr_t* attr) noexcept {
  uint64_t field_mask = 0;  // its first member
  std::memcpy(&field_mask, attr, sizeof(field_mask));
  if ((field_mask & UCT_EP_ATTR_FIELD_TX_TOKEN) != 0) return UCS_ERR_UNSUPPORTED;
  return InternalTable::of(ep->iface).ep_query(ep, attr);
}
#endif

#if VERITY_UCX_AT_LEAST(1, 22)
ucs_status_t sgl_zcopy_op(uct_ep_h, void* const*, const size_t*, uct_mem_h const*, const uint64_t*,
                          uct_rkey_t const*, const size_t*, const size_t*, size_t,
                          uct_completion_t*) noexcept {
  return UCS_ERR_UNSUPPORTED;
}
#endif

uct_iface_internal_ops_t make_table(const InternalOps& ops) noexcept {
  uct_iface_internal_ops_t table{};
  table.iface_estimate_perf = ops.estimate_perf;
  table.iface_vfs_refresh = vfs_refresh_op;
  table.ep_query = ops.ep_query;
  table.ep_invalidate = ep_invalidate_op;
#if VERITY_UCX_AT_LEAST(1, 14)
  table.ep_connect_to_ep_v2 = ep_connect_to_ep_v2_op;
#endif
#if VERITY_UCX_AT_LEAST(1, 15)
  table.iface_is_reachable_v2 = iface_is_reachable_v2_op;
#endif
#if VERITY_UCX_AT_LEAST(1, 16)
  table.ep_is_connected = ep_is_connected_op;
#endif
#if VERITY_UCX_AT_LEAST(1, 20)
  table.ep_get_device_ep = get_device_ep_op;
#if VERITY_UCX_MINOR != 21
  table.iface_query_v2 = uct_iface_base_query_v2;
#endif
#if VERITY_UCX_MINOR == 20
  table.iface_mem_element_pack = [](const uct_iface_h, uct_mem_h, uct_rkey_t,
                                    uct_device_mem_element_t*) noexcept {
    return UCS_ERR_UNSUPPORTED;
  };
#endif
#endif
#if VERITY_UCX_AT_LEAST(1, 22)
  table.ep_put_sgl_zcopy = sgl_zcopy_op;
#endif
#if VERITY_UCX_AT_LEAST(1, 23)
  table.ep_query = ep_query_op;
  table.ep_get_sgl_zcopy = sgl_zcopy_op;
  table.ep_outstanding_purge = [](uct_ep_h, const uct_ep_outstanding_purge_params_t*) noexcept {
    return UCS_ERR_UNSUPPORTED;
  };
#endif
  return table;
}

ucs_status_t connect_to_ep_op(uct_ep_h ep, const uct_device_addr_t* device,
                              const uct_ep_addr_t* address) noexcept {
  return InternalTable::of(ep->iface).ep_connect(ep, device, address, {});
}

int iface_is_reachable_op(const uct_iface_h iface, const uct_device_addr_t* device,
                          const uct_iface_addr_t* address) noexcept {
  return InternalTable::of(iface).is_reachable(iface, {.device = device, .iface = address}) ? 1 : 0;
}

[[maybe_unused]] size_t without(size_t length, size_t extra) noexcept {
  return length > extra ? length - extra : 0;
}

}  // namespace

InternalTable::InternalTable(const InternalOps& ops) noexcept : ucx_(make_table(ops)), ops_(ops) {}

const InternalOps& InternalTable::of(uct_iface_h iface) noexcept {
  static_assert(offsetof(InternalTable, ucx_) == 0);
  const auto* base = reinterpret_cast<const uct_base_iface_t*>(iface);
  return reinterpret_cast<const InternalTable*>(base->internal_ops)->ops_;
}

void fill_public_entries(uct_iface_ops_t& ops) noexcept {
  ops.ep_connect_to_ep = connect_to_ep_op;
  ops.iface_is_reachable = iface_is_reachable_op;
}

ucs_status_t invalidate_ep(uct_ep_h ep, [[maybe_unused]] unsigned flags) noexcept {
#if VERITY_UCX_AT_LEAST(1, 21)
  const uct_ep_invalidate_params_t params{};
  return uct_ep_invalidate(ep, &params);
#else
  return uct_ep_invalidate(ep, flags);
#endif
}

ucs_status_t connect_ep(uct_ep_h ep, const uct_device_addr_t* device, const uct_ep_addr_t* address,
                        [[maybe_unused]] const AddressLengths& lengths,
                        [[maybe_unused]] const ExtraLengths& extra) noexcept {
#if VERITY_UCX_AT_LEAST(1, 14)
  uct_ep_connect_to_ep_params_t params{};
  if (lengths.device != 0) {
    params.field_mask |= UCT_EP_CONNECT_TO_EP_PARAM_FIELD_DEVICE_ADDR_LENGTH;
    params.device_addr_length = without(lengths.device, extra.device);
  }
  if (lengths.own != 0) {
    params.field_mask |= UCT_EP_CONNECT_TO_EP_PARAM_FIELD_EP_ADDR_LENGTH;
    params.ep_addr_length = without(lengths.own, extra.own);
  }
  return uct_ep_connect_to_ep_v2(ep, device, address, &params);
#else
  return uct_ep_connect_to_ep(ep, device, address);
#endif
}

bool iface_reaches(uct_iface_h iface, const PeerAddress& peer,
                   [[maybe_unused]] const ExtraLengths& extra) noexcept {
#if VERITY_UCX_AT_LEAST(1, 15)
  if (peer.more != nullptr) {
    auto params = *static_cast<const uct_iface_is_reachable_params_t*>(peer.more);
    params.device_addr = peer.device;
#if VERITY_UCX_AT_LEAST(1, 18)
    params.device_addr_length = without(params.device_addr_length, extra.device);
    params.iface_addr_length = without(params.iface_addr_length, extra.own);
#endif
    return uct_iface_is_reachable_v2(iface, &params) != 0;
  }
#endif
  return uct_iface_is_reachable(iface, peer.device, peer.iface) != 0;
}

bool ep_is_connected_to([[maybe_unused]] uct_ep_h ep,
                        [[maybe_unused]] const PeerAddress& peer) noexcept {
#if VERITY_UCX_AT_LEAST(1, 16)
  auto params = *static_cast<const uct_ep_is_connected_params_t*>(peer.more);
  params.device_addr = peer.device;
  return uct_ep_is_connected(ep, &params) != 0;
#else
  return false;
#endif
}

bool is_packed_length(const void* address, size_t length) noexcept {
  constexpr uint8_t kLengthBits = 0x3f;
  const uint8_t packed = static_cast<const uint8_t*>(address)[-1];
  return length < kLengthBits ? (packed & kLengthBits) == length : packed == length;
}

void shorten_addresses([[maybe_unused]] uct_ep_params_t& params,
                       [[maybe_unused]] const ExtraLengths& extra) noexcept {
#if VERITY_UCX_AT_LEAST(1, 18)
  params.dev_addr_length = without(params.dev_addr_length, extra.device);
  params.iface_addr_length = without(params.iface_addr_length, extra.own);
#endif
}

}  // namespace verity::uct
