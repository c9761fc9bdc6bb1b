// SPDX-License-Identifier: BSD-3-Clause
//
// A transport of a component, and its devices. The structures are the same from 1.13 to 1.23, but
// for the entry of options (1.15), which is in UCX's installed headers.
#ifndef VERITY_UCT_COMPAT_INTERNAL_TRANSPORT_H
#define VERITY_UCT_COMPAT_INTERNAL_TRANSPORT_H

#include "uct/compat/internal/component.h"

extern "C" {
typedef struct uct_tl_device_resource {
  char name[UCT_DEVICE_NAME_MAX];
  uct_device_type_t type;
  ucs_sys_device_t sys_device;
} uct_tl_device_resource_t;

typedef struct uct_tl {
  char name[UCT_TL_NAME_MAX];
  ucs_status_t (*query_devices)(uct_md_h md, uct_tl_device_resource_t** devices_p,
                                unsigned* count_p);
  ucs_status_t (*iface_open)(uct_md_h md, uct_worker_h worker, const uct_iface_params_t* params,
                             const uct_iface_config_t* config, uct_iface_h* iface_p);
  ucs_config_global_list_entry_t config;
  ucs_list_link_t list;  // of the component's transports
} uct_tl_t;

void uct_tl_register(uct_component_t* component, uct_tl_t* tl);
}

#endif
