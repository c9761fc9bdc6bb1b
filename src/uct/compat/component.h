// SPDX-License-Identifier: BSD-3-Clause
//
// UCX's structure of a component, whose layout and signatures change with the release:
//
//   1.15  the entries md_config and cm_config, and with them uct_tl_t, have flags at their end
//   1.16  rkey_compare
//   1.19  rkey_unpack with parameters
#ifndef VERITY_UCT_COMPAT_COMPONENT_H
#define VERITY_UCT_COMPAT_COMPONENT_H

#include <string>

#include "uct/compat/ucx.h"

namespace verity::uct {

// Options read by UCX's parser for the memory domains, shown by `ucx_info -c`.
struct MdConfigTable {
  const char* title = "Wrapped memory domain";
  const char* prefix = "";  // of the variables after UCX_, with the '_' at its end
  ucs_config_field_t* table = uct_md_config_table;
  size_t size = sizeof(uct_md_config_t);  // of the structure that starts with uct_md_config_t
};

// A variable of the component's memory domains as a text, from the environment or else ucx.conf,
// whatever the field's own parser makes of it; its default where neither has it. `field` is one of
// the component's table.
[[nodiscard]] std::string text_of_variable(uct_component_h component,
                                           const ucs_config_field_t& field);

// UCX's parameters for unpacking a key, 1.19 and later; null: none.
struct UnpackArgs {
  const void* params = nullptr;
};

// Remote keys are the component's business in UCX, not the memory domain's.
struct KeyOps {
  ucs_status_t (*unpack)(uct_component_t* component, const void* buffer, const UnpackArgs& args,
                         uct_rkey_t* rkey_p, void** handle_p);
  ucs_status_t (*ptr)(uct_component_t* component, uct_rkey_t rkey, void* handle,
                      uint64_t remote_address, void** local_address_p);
  ucs_status_t (*release)(uct_component_t* component, uct_rkey_t rkey, void* handle);
  // Less than 0, 0, or more than 0, for sorting; 0 if both are good for the same accesses.
  int (*compare)(uct_rkey_t a, uct_rkey_t b);
};

struct ComponentOps {
  ucs_status_t (*query_md_resources)(uct_component_t* component,
                                     uct_md_resource_desc_t** resources_p, unsigned* count_p);
  ucs_status_t (*md_open)(uct_component_t* component, const char* name,
                          const uct_md_config_t* config, uct_md_h* md_p);
  KeyOps keys;
};

// A component without connection managers and, for now, without transports, with the operations
// that UCX's entries forward to.
class ComponentBase {
 public:
  // `name` has less than UCT_COMPONENT_NAME_MAX characters.
  ComponentBase(const char* name, const ComponentOps& ops, const MdConfigTable& config) noexcept;
  ComponentBase(const ComponentBase&) = delete;
  ComponentBase& operator=(const ComponentBase&) = delete;

  [[nodiscard]] uct_component_h handle() noexcept { return &uct_; }
  [[nodiscard]] const KeyOps& keys() const noexcept { return keys_; }
  // What `component` is part of.
  [[nodiscard]] static ComponentBase& of(uct_component_h component) noexcept;

 protected:
  ~ComponentBase() = default;

 private:
  uct_component_t uct_;
  KeyOps keys_;
};

// Moves a component, which was registered last, to the front of UCX's list: who goes through the
// list comes to it first. Under UCX's load lock.
void place_first(uct_component_h component) noexcept;

// The same of a lower component.
[[nodiscard]] ucs_status_t unpack_lower_key(uct_component_h component, const void* buffer,
                                            const UnpackArgs& args,
                                            uct_rkey_bundle_t* bundle_p) noexcept;

}  // namespace verity::uct

#endif
