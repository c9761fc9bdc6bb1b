// SPDX-License-Identifier: BSD-3-Clause
//
// What checking costs, for UCX's choice among transports: a few tens of ns per message and side,
// and a hash of some 10 GB/s in series with the transport.
#ifndef VERITY_UCT_SENDING_CHECK_COST_H
#define VERITY_UCT_SENDING_CHECK_COST_H

#include "uct/compat/internal_ops.h"

namespace verity::uct {

inline constexpr double kMessageCost = 20e-9;
inline constexpr double kHashRate = 12e9;
// A zero-copy message that is gathered into the lower transport's buffer is copied after all, and
// described, kept and completed besides: UCX is to copy those of some hundred bytes. Much more, and
// it copies the pieces of long messages, too.
inline constexpr double kGatherCost = 100e-9;

[[nodiscard]] inline double in_series(double bandwidth) noexcept {
  return bandwidth <= 0 ? bandwidth : 1 / (1 / bandwidth + 1 / kHashRate);
}

inline void add_cost(uct_perf_attr_t& attr) noexcept {
  if ((attr.field_mask & UCT_PERF_ATTR_FIELD_SEND_PRE_OVERHEAD) != 0)
    attr.send_pre_overhead += kMessageCost;
  if ((attr.field_mask & UCT_PERF_ATTR_FIELD_RECV_OVERHEAD) != 0)
    attr.recv_overhead += kMessageCost;
  for_each_bandwidth(attr, [](uct_ppn_bandwidth_t& bandwidth) {
    bandwidth.dedicated = in_series(bandwidth.dedicated);
    bandwidth.shared = in_series(bandwidth.shared);
  });
}

}  // namespace verity::uct

#endif
