// SPDX-License-Identifier: BSD-3-Clause
//
// A component: memory domains and remote keys of one kind. uct/compat/component.h lists what
// changes with the release.
#ifndef VERITY_UCT_COMPAT_INTERNAL_COMPONENT_H
#define VERITY_UCT_COMPAT_INTERNAL_COMPONENT_H

#include "uct/compat/internal/params.h"

extern "C" {
typedef struct uct_component uct_component_t;

struct uct_component {
  const char name[UCT_COMPONENT_NAME_MAX];
  ucs_status_t (*query_md_resources)(uct_component_t* component,
                                     uct_md_resource_desc_t** resources_p, unsigned* count_p);
  ucs_status_t (*md_open)(uct_component_t* component, const char* name,
                          const uct_md_config_t* config, uct_md_h* md_p);
  ucs_status_t (*cm_open)(uct_component_t* component, uct_worker_h worker,
                          const uct_cm_config_t* config, uct_cm_h* cm_p);
#if VERITY_UCX_AT_LEAST(1, 19)
  ucs_status_t (*rkey_unpack)(uct_component_t* component, const void* buffer,
                              const uct_rkey_unpack_params_t* params, uct_rkey_t* rkey_p,
                              void** handle_p);
#else
  ucs_status_t (*rkey_unpack)(uct_component_t* component, const void* buffer, uct_rkey_t* rkey_p,
                              void** handle_p);
#endif
  ucs_status_t (*rkey_ptr)(uct_component_t* component, uct_rkey_t rkey, void* handle,
                           uint64_t remote_address, void** local_address_p);
  ucs_status_t (*rkey_release)(uct_component_t* component, uct_rkey_t rkey, void* handle);
#if VERITY_UCX_AT_LEAST(1, 16)
  ucs_status_t (*rkey_compare)(uct_component_t* component, uct_rkey_t a, uct_rkey_t b,
                               const uct_rkey_compare_params_t* params, int* result_p);
#endif
  ucs_config_global_list_entry_t md_config;
  ucs_config_global_list_entry_t cm_config;
  ucs_list_link_t tl_list;
  ucs_list_link_t list;  // of all components
  uint64_t flags;
  void (*md_vfs_init)(uct_md_h md);
};

void uct_component_register(uct_component_t* component);

#if VERITY_UCX_AT_LEAST(1, 19)
[[gnu::weak]] ucs_status_t uct_rkey_unpack_v2(uct_component_h component, const void* buffer,
                                              const uct_rkey_unpack_params_t* params,
                                              uct_rkey_bundle_t* bundle_p);
#endif
}

#endif
