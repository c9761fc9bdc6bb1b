// SPDX-License-Identifier: BSD-3-Clause
//
// UCX's internal operations of an interface, whose table and signatures change with the release:
//
//   1.13    iface_estimate_perf, iface_vfs_refresh, ep_query, ep_invalidate
//   1.14    ep_connect_to_ep_v2 at the end
//   1.15    iface_is_reachable_v2 at the end
//   1.16    ep_is_connected at the end
//   1.20    iface_query_v2 comes first, iface_mem_element_pack third before ep_query, and
//           ep_get_device_ep last
//   1.21    the first two are gone again; ep_invalidate takes parameters instead of flags
//   1.22    iface_query_v2 comes first again; ep_put_sgl_zcopy at the end
//   1.23    ep_get_sgl_zcopy and ep_outstanding_purge at the end
//
// What UCX offers there for accelerators (device endpoints, scatter-gather lists) and for moving
// unsent messages to another path (tokens, ep_outstanding_purge) is not advertised and is refused.
#ifndef VERITY_UCT_COMPAT_INTERNAL_OPS_H
#define VERITY_UCT_COMPAT_INTERNAL_OPS_H

#include "uct/compat/ucx.h"

namespace verity::uct {

// Lengths of addresses as the upper layer knows them; 0: not given, as always before 1.14.
struct AddressLengths {
  size_t device = 0;
  size_t own = 0;  // of the endpoint's or the interface's address
};

// A peer's addresses, as uct_iface_is_reachable_v2() has them; null: not given.
struct PeerAddress {
  const uct_device_addr_t* device = nullptr;
  const uct_iface_addr_t* iface = nullptr;
  const uct_ep_addr_t* ep = nullptr;
  // UCX's own parameters with further wishes (scope, lengths, text); null: none.
  const void* more = nullptr;
};

// Those that a wrapping interface answers itself, the same for every release.
struct InternalOps {
  ucs_status_t (*estimate_perf)(uct_iface_h iface, uct_perf_attr_t* attr);
  ucs_status_t (*ep_query)(uct_ep_h ep, uct_ep_attr_t* attr);
  // `flags`: 0 from 1.21 on.
  ucs_status_t (*ep_invalidate)(uct_ep_h ep, unsigned flags);
  ucs_status_t (*ep_connect)(uct_ep_h ep, const uct_device_addr_t* device,
                             const uct_ep_addr_t* address, const AddressLengths& lengths);
  bool (*is_reachable)(uct_iface_h iface, const PeerAddress& peer);
  bool (*ep_is_connected)(uct_ep_h ep, const PeerAddress& peer);
};

// UCX's table, and what it forwards to. Belongs to one interface, whose entry `internal_ops` points
// to ucx().
class InternalTable {
 public:
  InternalTable() = default;
  explicit InternalTable(const InternalOps& ops) noexcept;

  [[nodiscard]] uct_iface_internal_ops_t* ucx() noexcept { return &ucx_; }
  [[nodiscard]] static const InternalOps& of(uct_iface_h iface) noexcept;

 private:
  uct_iface_internal_ops_t ucx_{};
  InternalOps ops_{};
};

// The public operations that UCX keeps beside them: they call the same functions of InternalOps.
void fill_public_entries(uct_iface_ops_t& ops) noexcept;

// Bytes that the given lengths count besides the lower object's addresses.
struct ExtraLengths {
  size_t device = 0;
  size_t own = 0;  // of the endpoint's or the interface's address
};

// Whether UCP wrote `length` as the length of that address: it packs the length, with two flags
// above, into the byte in front of the address, and one of 63 bytes or more into a whole byte
// (1.13 to 1.23, both versions of its addresses, but for unified mode).
[[nodiscard]] bool is_packed_length(const void* address, size_t length) noexcept;

// The same of lower objects. What `peer` has replaces what UCX's own parameters have.
[[nodiscard]] ucs_status_t invalidate_ep(uct_ep_h ep, unsigned flags) noexcept;
[[nodiscard]] ucs_status_t connect_ep(uct_ep_h ep, const uct_device_addr_t* device,
                                      const uct_ep_addr_t* address, const AddressLengths& lengths,
                                      const ExtraLengths& extra) noexcept;
[[nodiscard]] bool iface_reaches(uct_iface_h iface, const PeerAddress& peer,
                                 const ExtraLengths& extra) noexcept;
[[nodiscard]] bool ep_is_connected_to(uct_ep_h ep, const PeerAddress& peer) noexcept;

// Calls `change` with each bandwidth that was asked for. From 1.19 on there is that of one path,
// too.
template <typename Change>
void for_each_bandwidth(uct_perf_attr_t& attr, Change&& change) noexcept {
  if ((attr.field_mask & UCT_PERF_ATTR_FIELD_BANDWIDTH) != 0) change(attr.bandwidth);
#if VERITY_UCX_AT_LEAST(1, 19)
  if ((attr.field_mask & UCT_PERF_ATTR_FIELD_PATH_BANDWIDTH) != 0) change(attr.path_bandwidth);
#endif
}

// Parameters of an endpoint to be made on a lower interface: the same, but for the lengths of
// addresses.
void shorten_addresses(uct_ep_params_t& params, const ExtraLengths& extra) noexcept;

}  // namespace verity::uct

#endif
