// SPDX-License-Identifier: BSD-3-Clause
//
// A memory domain: its operations and attributes. uct/compat/md_ops.h lists what changes with the
// release.
#ifndef VERITY_UCT_COMPAT_INTERNAL_MD_H
#define VERITY_UCT_COMPAT_INTERNAL_MD_H

#include "uct/compat/internal/component.h"
#include "uct/compat/internal/params.h"

extern "C" {
// ---- attributes --------------------------------------------------------------------------------

#if VERITY_UCX_AT_LEAST(1, 14)
typedef struct {
  uint64_t field_mask;
  uint64_t max_alloc;
  size_t max_reg;
  uint64_t flags;
  uint64_t reg_mem_types;
#if VERITY_UCX_AT_LEAST(1, 15)
  uint64_t reg_nonblock_mem_types;
#endif
  uint64_t cache_mem_types;
#if VERITY_UCX_AT_LEAST(1, 18)
  uint64_t gva_mem_types;
#endif
  uint64_t detect_mem_types;
  uint64_t alloc_mem_types;
  uint64_t access_mem_types;
  uint64_t dmabuf_mem_types;
  ucs_linear_func_t reg_cost;
  char component_name[UCT_COMPONENT_NAME_MAX];
  size_t rkey_packed_size;
  ucs_cpu_set_t local_cpus;
  size_t exported_mkey_packed_size;
  char global_id[UCT_MD_GLOBAL_ID_MAX];
#if VERITY_UCX_AT_LEAST(1, 16)
  size_t reg_alignment;
#endif
#if VERITY_UCX_AT_LEAST(1, 22)
  uint8_t required_mem_flags;
#endif
} uct_md_attr_v2_t;

[[gnu::weak]] ucs_status_t uct_md_query_v2(uct_md_h md, uct_md_attr_v2_t* attr);
#endif

// Flags that go on where those of the installed headers end.
#if VERITY_UCX_AT_LEAST(1, 15)
enum : uint64_t {
  UCT_MD_FLAG_INVALIDATE_RMA = 1 << 11,
  UCT_MD_FLAG_INVALIDATE_AMO = 1 << 12,
};
#endif

// ---- operations --------------------------------------------------------------------------------

// A table of UCX's, with the entries and in the order of each release: it can be no smaller.
struct uct_md_ops {
  void (*close)(uct_md_h md);
#if VERITY_UCX_AT_LEAST(1, 14)
  ucs_status_t (*query)(uct_md_h md, uct_md_attr_v2_t* attr);
#else
  ucs_status_t (*query)(uct_md_h md, uct_md_attr_t* attr);
#endif
#if VERITY_UCX_AT_LEAST(1, 19)
  ucs_status_t (*mem_alloc)(uct_md_h md, size_t* length_p, void** address_p, ucs_memory_type_t type,
                            ucs_sys_device_t device, unsigned flags, const char* name,
                            uct_mem_h* memh_p);
#else
  ucs_status_t (*mem_alloc)(uct_md_h md, size_t* length_p, void** address_p, ucs_memory_type_t type,
                            unsigned flags, const char* name, uct_mem_h* memh_p);
#endif
  ucs_status_t (*mem_free)(uct_md_h md, uct_mem_h memh);
  ucs_status_t (*mem_advise)(uct_md_h md, uct_mem_h memh, void* address, size_t length,
                             unsigned advice);
#if VERITY_UCX_AT_LEAST(1, 14)
  ucs_status_t (*mem_reg)(uct_md_h md, void* address, size_t length,
                          const uct_md_mem_reg_params_t* params, uct_mem_h* memh_p);
#else
  ucs_status_t (*mem_reg)(uct_md_h md, void* address, size_t length, unsigned flags,
                          uct_mem_h* memh_p);
#endif
  ucs_status_t (*mem_dereg)(uct_md_h md, const uct_md_mem_dereg_params_t* params);
#if VERITY_UCX_AT_LEAST(1, 22)
  ucs_status_t (*mem_query)(uct_md_h md, const void* address, size_t length,
                            uct_md_mem_attr_v2_t* attr);
#else
  ucs_status_t (*mem_query)(uct_md_h md, const void* address, size_t length,
                            uct_md_mem_attr_t* attr);
#endif
#if VERITY_UCX_AT_LEAST(1, 16)
  ucs_status_t (*mkey_pack)(uct_md_h md, uct_mem_h memh, void* address, size_t length,
                            const uct_md_mkey_pack_params_t* params, void* buffer);
#else
  ucs_status_t (*mkey_pack)(uct_md_h md, uct_mem_h memh, const uct_md_mkey_pack_params_t* params,
                            void* buffer);
#endif
#if VERITY_UCX_AT_LEAST(1, 14)
  ucs_status_t (*mem_attach)(uct_md_h md, const void* key, uct_md_mem_attach_params_t* params,
                             uct_mem_h* memh_p);
#endif
#if !VERITY_UCX_AT_LEAST(1, 16)
  int (*is_sockaddr_accessible)(uct_md_h md, const ucs_sock_addr_t* address,
                                uct_sockaddr_accessibility_t mode);
#endif
  ucs_status_t (*detect_memory_type)(uct_md_h md, const void* address, size_t length,
                                     ucs_memory_type_t* type_p);
  // Their parameters differ within 1.22; the plugin refuses the first, whatever it is called with.
  // The second is not in 1.22.0, and nobody looks for it there.
#if VERITY_UCX_AT_LEAST(1, 21)
  ucs_status_t (*mem_elem_pack)(uct_md_h md, uct_mem_h memh, uct_rkey_t rkey, void* element,
                                void** release_handle_p);
#endif
#if VERITY_UCX_AT_LEAST(1, 22)
  void (*mem_elem_release)(uct_md_h md, void* release_handle);
#endif
};

struct uct_md {
  uct_md_ops_t* ops;
  uct_component_t* component;
};

// What the options of a memory domain start with.
struct uct_md_config {
  char unused;
};
extern ucs_config_field_t uct_md_config_table[];

// ---- functions ---------------------------------------------------------------------------------

#if VERITY_UCX_AT_LEAST(1, 19)
ucs_status_t uct_md_mem_alloc(uct_md_h md, size_t* length_p, void** address_p,
                              ucs_memory_type_t type, ucs_sys_device_t device, unsigned flags,
                              const char* name, uct_mem_h* memh_p);
#else
ucs_status_t uct_md_mem_alloc(uct_md_h md, size_t* length_p, void** address_p,
                              ucs_memory_type_t type, unsigned flags, const char* name,
                              uct_mem_h* memh_p);
#endif
ucs_status_t uct_md_mem_free(uct_md_h md, uct_mem_h memh);
#if VERITY_UCX_AT_LEAST(1, 14)
[[gnu::weak]] ucs_status_t uct_md_mem_reg_v2(uct_md_h md, void* address, size_t length,
                                             const uct_md_mem_reg_params_t* params,
                                             uct_mem_h* memh_p);
#endif
ucs_status_t uct_md_mem_dereg_v2(uct_md_h md, const uct_md_mem_dereg_params_t* params);
#if VERITY_UCX_AT_LEAST(1, 22)
[[gnu::weak]] ucs_status_t uct_md_mem_query_v2(uct_md_h md, const void* address, size_t length,
                                               uct_md_mem_attr_v2_t* attr);
#endif
#if VERITY_UCX_AT_LEAST(1, 16)
ucs_status_t uct_md_mkey_pack_v2(uct_md_h md, uct_mem_h memh, void* address, size_t length,
                                 const uct_md_mkey_pack_params_t* params, void* buffer);
#else
ucs_status_t uct_md_mkey_pack_v2(uct_md_h md, uct_mem_h memh,
                                 const uct_md_mkey_pack_params_t* params, void* buffer);
#endif
}

#endif
