// SPDX-License-Identifier: BSD-3-Clause
//
// What UCX's transports build their interfaces and endpoints on. The structures are the same from
// 1.13 to 1.23 (statistics add a pointer to each), but for the table of internal operations, whose
// changes are listed in uct/compat/internal_ops.h.
#ifndef VERITY_UCT_COMPAT_INTERNAL_IFACE_H
#define VERITY_UCT_COMPAT_INTERNAL_IFACE_H

#include "uct/compat/internal/log.h"
#include "uct/compat/internal/params.h"
#include "uct/compat/internal/perf.h"
#include "uct/compat/internal/worker.h"

extern "C" {
// ---- internal operations -----------------------------------------------------------------------

#if VERITY_UCX_AT_LEAST(1, 20) && VERITY_UCX_MINOR != 21
struct uct_iface_attr_v2_t;
[[gnu::weak]] ucs_status_t uct_iface_base_query_v2(uct_iface_h iface, uct_iface_attr_v2_t* attr);
#endif

// Arrays of buffers, lengths and keys, moved at once.
#if VERITY_UCX_AT_LEAST(1, 22)
typedef ucs_status_t (*uct_ep_sgl_zcopy_t)(uct_ep_h ep, void* const* buffers, const size_t* lengths,
                                           uct_mem_h const* memhs, const uint64_t* remote_addresses,
                                           uct_rkey_t const* rkeys, const size_t* counts,
                                           const size_t* strides, size_t count,
                                           uct_completion_t* comp);
#endif

#if VERITY_UCX_AT_LEAST(1, 23)
struct uct_ep_outstanding_purge_params_t;
#endif

typedef struct uct_iface_internal_ops {
#if VERITY_UCX_AT_LEAST(1, 20) && VERITY_UCX_MINOR != 21
  ucs_status_t (*iface_query_v2)(uct_iface_h iface, uct_iface_attr_v2_t* attr);
#endif
  ucs_status_t (*iface_estimate_perf)(uct_iface_h iface, uct_perf_attr_t* attr);
  void (*iface_vfs_refresh)(uct_iface_h iface);
#if VERITY_UCX_MINOR == 20
  ucs_status_t (*iface_mem_element_pack)(const uct_iface_h iface, uct_mem_h memh, uct_rkey_t rkey,
                                         uct_device_mem_element_t* element);
#endif
  ucs_status_t (*ep_query)(uct_ep_h ep, uct_ep_attr_t* attr);
#if VERITY_UCX_AT_LEAST(1, 21)
  ucs_status_t (*ep_invalidate)(uct_ep_h ep, const uct_ep_invalidate_params_t* params);
#else
  ucs_status_t (*ep_invalidate)(uct_ep_h ep, unsigned flags);
#endif
#if VERITY_UCX_AT_LEAST(1, 14)
  ucs_status_t (*ep_connect_to_ep_v2)(uct_ep_h ep, const uct_device_addr_t* device,
                                      const uct_ep_addr_t* address,
                                      const uct_ep_connect_to_ep_params_t* params);
#endif
#if VERITY_UCX_AT_LEAST(1, 15)
  int (*iface_is_reachable_v2)(const uct_iface_h iface,
                               const uct_iface_is_reachable_params_t* params);
#endif
#if VERITY_UCX_AT_LEAST(1, 16)
  int (*ep_is_connected)(uct_ep_h ep, const uct_ep_is_connected_params_t* params);
#endif
#if VERITY_UCX_AT_LEAST(1, 20)
  ucs_status_t (*ep_get_device_ep)(uct_ep_h ep, uct_device_ep_h* device_ep_p);
#endif
#if VERITY_UCX_AT_LEAST(1, 22)
  uct_ep_sgl_zcopy_t ep_put_sgl_zcopy;
#endif
#if VERITY_UCX_AT_LEAST(1, 23)
  uct_ep_sgl_zcopy_t ep_get_sgl_zcopy;
  ucs_status_t (*ep_outstanding_purge)(uct_ep_h ep,
                                       const uct_ep_outstanding_purge_params_t* params);
#endif
} uct_iface_internal_ops_t;

// ---- the base of an interface ------------------------------------------------------------------

typedef struct uct_am_handler {
  uct_am_callback_t cb;
  void* arg;
  uint32_t flags;
} uct_am_handler_t;

typedef struct uct_base_iface {
  uct_iface_t super;
  uct_iface_internal_ops_t* internal_ops;
  uct_md_h md;
  uct_priv_worker_t* worker;
  uct_am_handler_t am[UCT_AM_ID_MAX];
  // UCX's functions alone use the rest.
  uct_am_tracer_t am_tracer;
  void* am_tracer_arg;
  uct_error_handler_t err_handler;
  void* err_handler_arg;
  uint32_t err_handler_flags;
  struct {
    uct_worker_cb_id_t id;
    uint32_t refcount;
  } prog;
  unsigned progress_flags;
  struct {
    unsigned num_alloc_methods;
    uct_alloc_method_t alloc_methods[UCT_ALLOC_METHOD_LAST];
    ucs_log_level_t failure_level;
    size_t max_num_eps;
  } config;
#if VERITY_UCX_STATISTICS
  ucs_stats_node_t* stats;
#endif
} uct_base_iface_t;

// With statistics, the constructor has two more arguments: the parent's node and a name.
#if VERITY_UCX_STATISTICS
#define VERITY_UCX_STATISTICS_ARGS(parent, name) , parent, name
UCS_CLASS_DECLARE(uct_base_iface_t, uct_iface_ops_t*, uct_iface_internal_ops_t*, uct_md_h,
                  uct_worker_h, const uct_iface_params_t*, const uct_iface_config_t*,
                  ucs_stats_node_t*, const char*)
#else
#define VERITY_UCX_STATISTICS_ARGS(parent, name)
UCS_CLASS_DECLARE(uct_base_iface_t, uct_iface_ops_t*, uct_iface_internal_ops_t*, uct_md_h,
                  uct_worker_h, const uct_iface_params_t*, const uct_iface_config_t*)
#endif

ucs_status_t uct_iface_handle_ep_err(uct_iface_h iface, uct_ep_h ep, ucs_status_t status);
void uct_base_iface_progress_disable(uct_iface_h iface, unsigned flags);

// ---- the base of an endpoint -------------------------------------------------------------------

typedef struct uct_base_ep {
  uct_ep_t super;
#if VERITY_UCX_STATISTICS
  ucs_stats_node_t* stats;
#endif
} uct_base_ep_t;

UCS_CLASS_DECLARE(uct_base_ep_t, uct_base_iface_t*)

ucs_status_t uct_ep_query(uct_ep_h ep, uct_ep_attr_t* attr);
#if VERITY_UCX_AT_LEAST(1, 14)
[[gnu::weak]] ucs_status_t uct_ep_connect_to_ep_v2(uct_ep_h ep, const uct_device_addr_t* device,
                                                   const uct_ep_addr_t* address,
                                                   const uct_ep_connect_to_ep_params_t* params);
#endif
#if VERITY_UCX_AT_LEAST(1, 15)
[[gnu::weak]] int uct_iface_is_reachable_v2(uct_iface_h iface,
                                            const uct_iface_is_reachable_params_t* params);
#endif
#if VERITY_UCX_AT_LEAST(1, 16)
[[gnu::weak]] int uct_ep_is_connected(uct_ep_h ep, const uct_ep_is_connected_params_t* params);
#endif
#if VERITY_UCX_AT_LEAST(1, 21)
ucs_status_t uct_ep_invalidate(uct_ep_h ep, const uct_ep_invalidate_params_t* params);
#else
ucs_status_t uct_ep_invalidate(uct_ep_h ep, unsigned flags);
#endif
}

namespace verity::uct {

// Calls the upper layer's handler of an active message.
inline ucs_status_t invoke_am(uct_base_iface_t* iface, uint8_t id, void* data, unsigned length,
                              unsigned flags) noexcept {
  VERITY_UCX_ASSERT(id < UCT_AM_ID_MAX, "active message id %d", id);
  const uct_am_handler_t& handler = iface->am[id];
  const ucs_status_t status = handler.cb(handler.arg, data, length, flags);
  VERITY_UCX_ASSERT(
      status == UCS_OK || (status == UCS_INPROGRESS && (flags & UCT_CB_PARAM_FLAG_DESC) != 0),
      "the handler of active message %d returned %d with flags 0x%x", id, status, flags);
  return status;
}

// One of the operations that `comp` counts has ended; the last one calls back.
[[gnu::always_inline]] inline void invoke_completion(uct_completion_t* comp,
                                                     ucs_status_t status) noexcept {
  VERITY_UCX_ASSERT(comp->count > 0, "completion %p with count %d, status %d",
                    static_cast<void*>(comp), comp->count, status);
  uct_completion_update_status(comp, status);
  if (--comp->count == 0) comp->func(comp);
}

}  // namespace verity::uct

#endif
