// SPDX-License-Identifier: BSD-3-Clause
//
// What an interface says of its speed:
//
//   1.17  flags, at the end
//   1.19  the bandwidth of one path, behind that of the device; its bit moves all later ones
#ifndef VERITY_UCT_COMPAT_INTERNAL_PERF_H
#define VERITY_UCT_COMPAT_INTERNAL_PERF_H

#include "uct/compat/internal/installed.h"

extern "C" {
enum : int {
  UCT_EP_OP_AM_BCOPY = 1,
  UCT_EP_OP_AM_ZCOPY = 2,
};

enum : uint64_t {
  UCT_PERF_ATTR_FIELD_OPERATION = 1 << 0,
  UCT_PERF_ATTR_FIELD_SEND_PRE_OVERHEAD = 1 << 5,
  UCT_PERF_ATTR_FIELD_RECV_OVERHEAD = 1 << 7,
  UCT_PERF_ATTR_FIELD_BANDWIDTH = 1 << 8,
#if VERITY_UCX_AT_LEAST(1, 19)
  UCT_PERF_ATTR_FIELD_PATH_BANDWIDTH = 1 << 9,
#endif
};

typedef struct {
  uint64_t field_mask;
  int operation;
  ucs_memory_type_t local_memory_type;
  ucs_memory_type_t remote_memory_type;
  ucs_sys_device_t local_sys_device;
  ucs_sys_device_t remote_sys_device;
  double send_pre_overhead;  // seconds, as the other times
  double send_post_overhead;
  double recv_overhead;
  uct_ppn_bandwidth_t bandwidth;
#if VERITY_UCX_AT_LEAST(1, 19)
  uct_ppn_bandwidth_t path_bandwidth;
#endif
  ucs_linear_func_t latency;
  size_t max_inflight_eps;
#if VERITY_UCX_AT_LEAST(1, 17)
  uint64_t flags;
#endif
} uct_perf_attr_t;

ucs_status_t uct_iface_estimate_perf(uct_iface_h iface, uct_perf_attr_t* attr);
}

#endif
