// SPDX-License-Identifier: BSD-3-Clause
//
// UCX's structure of a component, whose layout and signatures change with the release. So far
// component.cc has those of 1.13 alone; known differences to come:
//
//   1.16  rkey_compare
//   1.19  rkey_unpack with parameters
#ifndef VERITY_UCT_COMPAT_COMPONENT_H
#define VERITY_UCT_COMPAT_COMPONENT_H

#include "uct/compat/ucx.h"

namespace verity::uct {

// Options read by UCX's parser for the memory domains, shown by `ucx_info -c`.
struct MdConfigTable {
  const char* title = "Wrapped memory domain";
  const char* prefix = "";  // of the variables after UCX_, with the '_' at its end
  ucs_config_field_t* table = uct_md_config_table;
  size_t size = sizeof(uct_md_config_t);  // of the structure that starts with uct_md_config_t
};

// Remote keys are the component's business in UCX, not the memory domain's.
struct KeyOps {
  ucs_status_t (*unpack)(uct_component_t* component, const void* buffer, uct_rkey_t* rkey_p,
                         void** handle_p);
  ucs_status_t (*ptr)(uct_component_t* component, uct_rkey_t rkey, void* handle,
                      uint64_t remote_address, void** local_address_p);
  ucs_status_t (*release)(uct_component_t* component, uct_rkey_t rkey, void* handle);
};

struct ComponentOps {
  ucs_status_t (*query_md_resources)(uct_component_t* component,
                                     uct_md_resource_desc_t** resources_p, unsigned* count_p);
  ucs_status_t (*md_open)(uct_component_t* component, const char* name,
                          const uct_md_config_t* config, uct_md_h* md_p);
  KeyOps keys;
};

// A component without connection managers and, for now, without transports. `name` has less than
// UCT_COMPONENT_NAME_MAX characters.
[[nodiscard]] uct_component_t make_component(const char* name, const ComponentOps& ops,
                                             const MdConfigTable& config) noexcept;

}  // namespace verity::uct

#endif
