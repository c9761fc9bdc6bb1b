// SPDX-License-Identifier: BSD-3-Clause
#include "uct/compat/internal_ops.h"

namespace verity::uct {

uct_iface_internal_ops_t internal_ops_table(const InternalOps& ops) noexcept {
  return {
      .iface_estimate_perf = ops.estimate_perf,
      .iface_vfs_refresh = [](uct_iface_h) noexcept {},
      .ep_query = ops.ep_query,
      .ep_invalidate = ops.ep_invalidate,
  };
}

}  // namespace verity::uct
