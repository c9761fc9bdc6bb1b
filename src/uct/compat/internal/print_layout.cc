// SPDX-License-Identifier: BSD-3-Clause
//
// Prints what the plugin uses of UCX's inside: sizes, offsets, constants and types, one a line.
// contrib/check-ucx-layout compiles it twice, with these declarations and (UCX_SOURCE) with those
// of a source tree of UCX, and compares. It is no part of the plugin.
#ifdef UCX_SOURCE
#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "util/build_config.h"
#define VERITY_UCX_AT_LEAST(major, minor) (VERITY_UCX_MINOR >= (minor))
extern "C" {
#include <ucs/async/async.h>
#include <ucs/debug/assert.h>
#include <ucs/debug/log.h>
#include <ucs/debug/memtrack_int.h>
#include <ucs/sys/sys.h>
#include <ucs/time/time.h>
#include <uct/api/v2/uct_v2.h>
#include <uct/base/uct_iface.h>
#include <uct/base/uct_md.h>
}
#else
#include "uct/compat/internal/async.h"
#include "uct/compat/internal/iface.h"
#include "uct/compat/internal/log.h"
#include "uct/compat/internal/md.h"
#include "uct/compat/internal/memory.h"
#include "uct/compat/internal/time.h"
#include "uct/compat/internal/transport.h"
#endif

#include <string>
#include <string_view>

namespace {

template <typename T>
std::string name_of() {
  const std::string_view text = __PRETTY_FUNCTION__;  // "... [with T = TYPE; ...]"
  const size_t begin = text.find("T = ") + 4;
  return std::string(text.substr(begin, text.find_first_of(";]", begin) - begin));
}

void print(const char* what, long value, const std::string& type = {}) {
  std::printf("%s %ld%s%s\n", what, value, type.empty() ? "" : " ", type.c_str());
}

}  // namespace

#define SIZE(type) print("sizeof(" #type ")", static_cast<long>(sizeof(type)))
// What one side does not have is printed by the other alone.
#define OFFSET(type, member)                                            \
  []<typename T>(T*) {                                                  \
    if constexpr (requires(T t) { t.member; })                          \
      print(#type "." #member, static_cast<long>(offsetof(T, member))); \
  }(static_cast<type*>(nullptr))
#define MEMBER(type, member)                                           \
  []<typename T>(T*) {                                                 \
    if constexpr (requires(T t) { t.member; })                         \
      print(#type "." #member, static_cast<long>(offsetof(T, member)), \
            name_of<decltype(T::member)>());                           \
  }(static_cast<type*>(nullptr))
#define CONSTANT(name) print(#name, static_cast<long>(name))
// A function or a variable.
#define SYMBOL(name) print(#name, 0, name_of<decltype(name)>())

namespace {

void print_contexts_and_workers() {
  MEMBER(ucs_async_context_t, mode);
  OFFSET(ucs_async_context_t, thread.spinlock);
  OFFSET(ucs_async_context_t, thread.mutex.lock);
  OFFSET(ucs_async_context_t, thread.mutex.owner);
  OFFSET(ucs_async_context_t, thread.mutex.count);
  OFFSET(ucs_async_context_t, signal.tid);
  OFFSET(ucs_async_context_t, signal.block_count);
  MEMBER(ucs_async_context_t, poll_block);
  MEMBER(uct_priv_worker_t, super);
  MEMBER(uct_priv_worker_t, async);
  MEMBER(uct_priv_worker_t, thread_mode);
  SYMBOL(ucs_get_tid);
  SYMBOL(ucs_fatal_error_format);
  SYMBOL(ucs_malloc);
  SYMBOL(ucs_calloc);
  SYMBOL(ucs_free);
  SYMBOL(ucs_get_cpu_clocks_per_sec);
#ifdef __x86_64__
  SYMBOL(ucs_arch_x86_enable_rdtsc);
  SYMBOL(ucs_x86_init_tsc_freq);
#endif
}

void print_interfaces() {
  SIZE(uct_base_iface_t);
  MEMBER(uct_base_iface_t, super);
  MEMBER(uct_base_iface_t, internal_ops);
  MEMBER(uct_base_iface_t, md);
  MEMBER(uct_base_iface_t, worker);
  MEMBER(uct_base_iface_t, am);
  OFFSET(uct_base_iface_t, stats);
  SIZE(uct_am_handler_t);
  MEMBER(uct_am_handler_t, cb);
  MEMBER(uct_am_handler_t, arg);
  MEMBER(uct_am_handler_t, flags);
  SIZE(uct_base_ep_t);
  MEMBER(uct_base_ep_t, super);
  SYMBOL(uct_base_iface_t_class);
  SYMBOL(uct_base_iface_t_init);
  SYMBOL(uct_base_ep_t_class);
  SYMBOL(uct_base_ep_t_init);
  SYMBOL(uct_iface_handle_ep_err);
  SYMBOL(uct_base_iface_progress_disable);
  SYMBOL(uct_ep_query);
  SYMBOL(uct_ep_invalidate);
#if VERITY_UCX_AT_LEAST(1, 14)
  SYMBOL(uct_ep_connect_to_ep_v2);
#endif
#if VERITY_UCX_AT_LEAST(1, 15)
  SYMBOL(uct_iface_is_reachable_v2);
#endif
#if VERITY_UCX_AT_LEAST(1, 16)
  SYMBOL(uct_ep_is_connected);
#endif
}

void print_internal_operations() {
  SIZE(uct_iface_internal_ops_t);
  MEMBER(uct_iface_internal_ops_t, iface_query_v2);
  MEMBER(uct_iface_internal_ops_t, iface_estimate_perf);
  MEMBER(uct_iface_internal_ops_t, iface_vfs_refresh);
  MEMBER(uct_iface_internal_ops_t, iface_mem_element_pack);
  MEMBER(uct_iface_internal_ops_t, ep_query);
  MEMBER(uct_iface_internal_ops_t, ep_invalidate);
  MEMBER(uct_iface_internal_ops_t, ep_connect_to_ep_v2);
  MEMBER(uct_iface_internal_ops_t, iface_is_reachable_v2);
  MEMBER(uct_iface_internal_ops_t, ep_is_connected);
  MEMBER(uct_iface_internal_ops_t, ep_get_device_ep);
  MEMBER(uct_iface_internal_ops_t, ep_put_sgl_zcopy);
  MEMBER(uct_iface_internal_ops_t, ep_get_sgl_zcopy);
  MEMBER(uct_iface_internal_ops_t, ep_outstanding_purge);
}

void print_speed() {
  SIZE(uct_perf_attr_t);
  MEMBER(uct_perf_attr_t, field_mask);
  MEMBER(uct_perf_attr_t, send_pre_overhead);
  MEMBER(uct_perf_attr_t, recv_overhead);
  MEMBER(uct_perf_attr_t, bandwidth);
  MEMBER(uct_perf_attr_t, path_bandwidth);
  CONSTANT(UCT_EP_OP_AM_BCOPY);
  CONSTANT(UCT_EP_OP_AM_ZCOPY);
  CONSTANT(UCT_PERF_ATTR_FIELD_OPERATION);
  CONSTANT(UCT_PERF_ATTR_FIELD_SEND_PRE_OVERHEAD);
  CONSTANT(UCT_PERF_ATTR_FIELD_RECV_OVERHEAD);
  CONSTANT(UCT_PERF_ATTR_FIELD_BANDWIDTH);
#if VERITY_UCX_AT_LEAST(1, 19)
  CONSTANT(UCT_PERF_ATTR_FIELD_PATH_BANDWIDTH);
#endif
  SYMBOL(uct_iface_estimate_perf);
}

void print_endpoint_parameters() {
#if VERITY_UCX_AT_LEAST(1, 14)
  SIZE(uct_ep_connect_to_ep_params_t);
  MEMBER(uct_ep_connect_to_ep_params_t, field_mask);
  MEMBER(uct_ep_connect_to_ep_params_t, device_addr_length);
  MEMBER(uct_ep_connect_to_ep_params_t, ep_addr_length);
  CONSTANT(UCT_EP_CONNECT_TO_EP_PARAM_FIELD_DEVICE_ADDR_LENGTH);
  CONSTANT(UCT_EP_CONNECT_TO_EP_PARAM_FIELD_EP_ADDR_LENGTH);
#endif
#if VERITY_UCX_AT_LEAST(1, 15)
  SIZE(uct_iface_is_reachable_params_t);
  MEMBER(uct_iface_is_reachable_params_t, field_mask);
  MEMBER(uct_iface_is_reachable_params_t, device_addr);
  MEMBER(uct_iface_is_reachable_params_t, iface_addr);
  MEMBER(uct_iface_is_reachable_params_t, iface_addr_length);
  CONSTANT(UCT_IFACE_IS_REACHABLE_FIELD_DEVICE_ADDR);
  CONSTANT(UCT_IFACE_IS_REACHABLE_FIELD_IFACE_ADDR);
#endif
#if VERITY_UCX_AT_LEAST(1, 16)
  SIZE(uct_ep_is_connected_params_t);
  MEMBER(uct_ep_is_connected_params_t, field_mask);
  MEMBER(uct_ep_is_connected_params_t, device_addr);
  MEMBER(uct_ep_is_connected_params_t, iface_addr);
  MEMBER(uct_ep_is_connected_params_t, ep_addr);
  CONSTANT(UCT_EP_IS_CONNECTED_FIELD_DEVICE_ADDR);
  CONSTANT(UCT_EP_IS_CONNECTED_FIELD_IFACE_ADDR);
  CONSTANT(UCT_EP_IS_CONNECTED_FIELD_EP_ADDR);
#endif
#if VERITY_UCX_AT_LEAST(1, 21)
  SIZE(uct_ep_invalidate_params_t);
  MEMBER(uct_ep_invalidate_params_t, field_mask);
#endif
#if VERITY_UCX_AT_LEAST(1, 23)
  CONSTANT(UCT_EP_ATTR_FIELD_TX_TOKEN);
#endif
}

void print_components() {
  SIZE(uct_tl_t);
  MEMBER(uct_tl_t, name);
  MEMBER(uct_tl_t, query_devices);
  MEMBER(uct_tl_t, iface_open);
  MEMBER(uct_tl_t, config);
  MEMBER(uct_tl_t, list);
  SIZE(uct_tl_device_resource_t);
  MEMBER(uct_tl_device_resource_t, name);
  MEMBER(uct_tl_device_resource_t, type);
  MEMBER(uct_tl_device_resource_t, sys_device);
  SIZE(uct_component_t);
  MEMBER(uct_component_t, name);
  MEMBER(uct_component_t, query_md_resources);
  MEMBER(uct_component_t, md_open);
  MEMBER(uct_component_t, cm_open);
  MEMBER(uct_component_t, rkey_unpack);
  MEMBER(uct_component_t, rkey_ptr);
  MEMBER(uct_component_t, rkey_release);
  MEMBER(uct_component_t, rkey_compare);
  MEMBER(uct_component_t, md_config);
  MEMBER(uct_component_t, cm_config);
  MEMBER(uct_component_t, tl_list);
  MEMBER(uct_component_t, list);
  MEMBER(uct_component_t, flags);
  MEMBER(uct_component_t, md_vfs_init);
#if VERITY_UCX_AT_LEAST(1, 16)
  MEMBER(uct_rkey_compare_params_t, field_mask);
#endif
  SYMBOL(uct_tl_register);
  SYMBOL(uct_component_register);
#if VERITY_UCX_AT_LEAST(1, 19)
  SYMBOL(uct_rkey_unpack_v2);
#endif
}

void print_domain_operations() {
  SIZE(uct_md_t);
  MEMBER(uct_md_t, ops);
  MEMBER(uct_md_t, component);
  SIZE(uct_md_config_t);
  SIZE(uct_md_ops_t);
  MEMBER(uct_md_ops_t, close);
  MEMBER(uct_md_ops_t, query);
  MEMBER(uct_md_ops_t, mem_alloc);
  MEMBER(uct_md_ops_t, mem_free);
  MEMBER(uct_md_ops_t, mem_advise);
  MEMBER(uct_md_ops_t, mem_reg);
  MEMBER(uct_md_ops_t, mem_dereg);
  MEMBER(uct_md_ops_t, mem_query);
  MEMBER(uct_md_ops_t, mkey_pack);
  MEMBER(uct_md_ops_t, mem_attach);
  MEMBER(uct_md_ops_t, is_sockaddr_accessible);
  MEMBER(uct_md_ops_t, detect_memory_type);
  OFFSET(uct_md_ops_t, mem_elem_pack);
  MEMBER(uct_md_ops_t, mem_elem_release);
}

void print_domain_attributes() {
#if VERITY_UCX_AT_LEAST(1, 14)
  SIZE(uct_md_attr_v2_t);
  MEMBER(uct_md_attr_v2_t, field_mask);
  MEMBER(uct_md_attr_v2_t, max_alloc);
  MEMBER(uct_md_attr_v2_t, max_reg);
  MEMBER(uct_md_attr_v2_t, flags);
  MEMBER(uct_md_attr_v2_t, reg_mem_types);
  MEMBER(uct_md_attr_v2_t, reg_nonblock_mem_types);
  MEMBER(uct_md_attr_v2_t, cache_mem_types);
  MEMBER(uct_md_attr_v2_t, gva_mem_types);
  MEMBER(uct_md_attr_v2_t, detect_mem_types);
  MEMBER(uct_md_attr_v2_t, alloc_mem_types);
  MEMBER(uct_md_attr_v2_t, access_mem_types);
  MEMBER(uct_md_attr_v2_t, dmabuf_mem_types);
  MEMBER(uct_md_attr_v2_t, reg_cost);
  MEMBER(uct_md_attr_v2_t, component_name);
  MEMBER(uct_md_attr_v2_t, rkey_packed_size);
  MEMBER(uct_md_attr_v2_t, exported_mkey_packed_size);
  MEMBER(uct_md_attr_v2_t, reg_alignment);
  MEMBER(uct_md_attr_v2_t, required_mem_flags);
  SYMBOL(uct_md_query_v2);
#endif
#if VERITY_UCX_AT_LEAST(1, 15)
  CONSTANT(UCT_MD_FLAG_INVALIDATE_RMA);
  CONSTANT(UCT_MD_FLAG_INVALIDATE_AMO);
#endif
}

void print_domain_functions() {
#if VERITY_UCX_AT_LEAST(1, 14)
  SIZE(uct_md_mem_reg_params_t);
  MEMBER(uct_md_mem_reg_params_t, field_mask);
  MEMBER(uct_md_mem_reg_params_t, flags);
  CONSTANT(UCT_MD_MEM_REG_FIELD_FLAGS);
  SYMBOL(uct_md_mem_reg_v2);
#endif
  SIZE(uct_md_mem_dereg_params_t);
  MEMBER(uct_md_mem_dereg_params_t, field_mask);
  MEMBER(uct_md_mem_dereg_params_t, flags);
  MEMBER(uct_md_mem_dereg_params_t, memh);
  MEMBER(uct_md_mem_dereg_params_t, comp);
  CONSTANT(UCT_MD_MEM_DEREG_FIELD_FLAGS);
  CONSTANT(UCT_MD_MEM_DEREG_FLAG_INVALIDATE);
  SYMBOL(uct_md_mem_dereg_v2);
  SYMBOL(uct_md_config_table);
  SYMBOL(uct_md_mem_alloc);
  SYMBOL(uct_md_mem_free);
  SYMBOL(uct_md_mkey_pack_v2);
#if VERITY_UCX_AT_LEAST(1, 22)
  SYMBOL(uct_md_mem_query_v2);
#endif
}

}  // namespace

int main() {
  print_contexts_and_workers();
  print_interfaces();
  print_internal_operations();
  print_speed();
  print_endpoint_parameters();
  print_components();
  print_domain_operations();
  print_domain_attributes();
  print_domain_functions();
  return 0;
}
