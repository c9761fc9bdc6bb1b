// SPDX-License-Identifier: BSD-3-Clause
#include "uct/compat/component.h"

#include <memory>

namespace verity::uct {
namespace {

ucs_status_t cm_open_op(uct_component_t*, uct_worker_h, const uct_cm_config_t*,
                        uct_cm_h*) noexcept {
  return UCS_ERR_UNSUPPORTED;
}

const KeyOps& keys_of(uct_component_t* component) noexcept {
  return ComponentBase::of(component).keys();
}

#if VERITY_UCX_AT_LEAST(1, 19)
ucs_status_t rkey_unpack_op(uct_component_t* component, const void* buffer,
                            const uct_rkey_unpack_params_t* params, uct_rkey_t* rkey_p,
                            void** handle_p) noexcept {
  return keys_of(component).unpack(component, buffer, {params}, rkey_p, handle_p);
}
#else
ucs_status_t rkey_unpack_op(uct_component_t* component, const void* buffer, uct_rkey_t* rkey_p,
                            void** handle_p) noexcept {
  return keys_of(component).unpack(component, buffer, {}, rkey_p, handle_p);
}
#endif

#if VERITY_UCX_AT_LEAST(1, 16)
ucs_status_t rkey_compare_op(uct_component_t* component, uct_rkey_t a, uct_rkey_t b,
                             const uct_rkey_compare_params_t* params, int* result_p) noexcept {
  if (params->field_mask != 0) return UCS_ERR_INVALID_PARAM;
  *result_p = keys_of(component).compare(a, b);
  return UCS_OK;
}
#endif

void fill_component(uct_component_t& made, const char* name, const ComponentOps& ops,
                    const MdConfigTable& config) noexcept {
  // The name is a constant array inside UCX's structure, whose other members are not constant.
  std::strncpy(reinterpret_cast<char*>(&made) + offsetof(uct_component_t, name), name,
               sizeof(made.name) - 1);
  made.query_md_resources = ops.query_md_resources;
  made.md_open = ops.md_open;
  made.cm_open = cm_open_op;
  made.rkey_unpack = rkey_unpack_op;
  made.rkey_ptr = ops.keys.ptr;
  made.rkey_release = ops.keys.release;
#if VERITY_UCX_AT_LEAST(1, 16)
  made.rkey_compare = rkey_compare_op;
#endif
  made.md_config.name = config.title;
  made.md_config.prefix = config.prefix;
  made.md_config.table = config.table;
  made.md_config.size = config.size;
  made.cm_config.name = made.cm_config.prefix = "";
  made.md_vfs_init = [](uct_md_h) noexcept {};
  ucs_list_head_init(&made.tl_list);
}

}  // namespace

ComponentBase::ComponentBase(const char* name, const ComponentOps& ops,
                             const MdConfigTable& config) noexcept
    : uct_{}, keys_(ops.keys) {
  fill_component(uct_, name, ops, config);
}

ComponentBase& ComponentBase::of(uct_component_h component) noexcept {
  static_assert(offsetof(ComponentBase, uct_) == 0);
  return *reinterpret_cast<ComponentBase*>(component);
}

// UCX's parser does it, with a table of this field alone, as a text.
std::string text_of_variable(uct_component_h component, const ucs_config_field_t& field) {
  ucs_config_field_t table[] = {{field.name, field.dfl_value, nullptr, 0, UCS_CONFIG_TYPE_STRING},
                                {nullptr, nullptr, nullptr, 0, {}}};
  uct_component_t reader = *component;
  reader.md_config.table = table;
  reader.md_config.size = sizeof(char*);
  uct_md_config_t* config = nullptr;
  if (uct_md_config_read(&reader, nullptr, nullptr, &config) != UCS_OK) return field.dfl_value;
  const auto release = [](uct_md_config_t* read) { uct_config_release(read); };
  const std::unique_ptr<uct_md_config_t, decltype(release)> owned(config, release);
  return *reinterpret_cast<char**>(config);
}

void place_first(uct_component_h component) noexcept {
  // What follows the last one is the list's head.
  ucs_list_link_t* const head = component->list.next;
  ucs_list_del(&component->list);
  ucs_list_add_head(head, &component->list);
}

ucs_status_t unpack_lower_key(uct_component_h component, const void* buffer,
                              [[maybe_unused]] const UnpackArgs& args,
                              uct_rkey_bundle_t* bundle_p) noexcept {
#if VERITY_UCX_AT_LEAST(1, 19)
  if (args.params != nullptr) {
    return uct_rkey_unpack_v2(component, buffer,
                              static_cast<const uct_rkey_unpack_params_t*>(args.params), bundle_p);
  }
#endif
  return uct_rkey_unpack(component, buffer, bundle_p);
}

}  // namespace verity::uct
