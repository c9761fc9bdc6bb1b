// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_UCT_WRAP_PASSTHROUGH_H
#define VERITY_UCT_WRAP_PASSTHROUGH_H

#include "uct/compat/internal_ops.h"

namespace verity::uct {

// The operation table in which every operation goes to the lower object; those of remote memory
// access are unsupported unless `rma`. Tag matching and sockets are always unsupported.
[[nodiscard]] uct_iface_ops_t passthrough_ops(bool rma) noexcept;
[[nodiscard]] InternalOps passthrough_internal_ops() noexcept;

}  // namespace verity::uct

#endif
