// SPDX-License-Identifier: BSD-3-Clause
//
// UCX's internal operations of an interface, whose table and signatures change with the release. So
// far internal_ops.cc has those of 1.13 alone; known differences to come:
//
//   1.14  ep_connect_to_ep_v2         1.20  iface_query_v2 comes first; iface_mem_element_pack;
//   ep_get_device_ep 1.15  iface_is_reachable_v2       1.21  the first two gone again;
//   ep_invalidate with parameters 1.16  ep_is_connected             1.22  iface_query_v2 comes
//   first again; ep_put_sgl_zcopy
//                                     1.23  ep_get_sgl_zcopy; ep_outstanding_purge
#ifndef VERITY_UCT_COMPAT_INTERNAL_OPS_H
#define VERITY_UCT_COMPAT_INTERNAL_OPS_H

#include "uct/compat/ucx.h"

namespace verity::uct {

// Those that a wrapping interface answers itself, the same for every release.
struct InternalOps {
  ucs_status_t (*estimate_perf)(uct_iface_h iface, uct_perf_attr_t* attr);
  ucs_status_t (*ep_query)(uct_ep_h ep, uct_ep_attr_t* attr);
  ucs_status_t (*ep_invalidate)(uct_ep_h ep, unsigned flags);
};

[[nodiscard]] uct_iface_internal_ops_t internal_ops_table(const InternalOps& ops) noexcept;

// The last one, of a lower endpoint.
[[nodiscard]] inline ucs_status_t invalidate_ep(uct_ep_h ep, unsigned flags) noexcept {
  return uct_ep_invalidate(ep, flags);
}

}  // namespace verity::uct

#endif
