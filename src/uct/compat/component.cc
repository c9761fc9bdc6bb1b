// SPDX-License-Identifier: BSD-3-Clause
#include "uct/compat/component.h"

#include <utility>

namespace verity::uct {
namespace {

ucs_status_t cm_open_op(uct_component_t*, uct_worker_h, const uct_cm_config_t*,
                        uct_cm_h*) noexcept {
  return UCS_ERR_UNSUPPORTED;
}

// The component's name is a constant array inside UCX's structure: it can only be initialised.
template <size_t... I>
uct_component_t make(const char (&name)[UCT_COMPONENT_NAME_MAX], const ComponentOps& ops,
                     const MdConfigTable& config, std::index_sequence<I...>) noexcept {
  return uct_component_t{
      .name = {name[I]...},
      .query_md_resources = ops.query_md_resources,
      .md_open = ops.md_open,
      .cm_open = cm_open_op,
      .rkey_unpack = ops.keys.unpack,
      .rkey_ptr = ops.keys.ptr,
      .rkey_release = ops.keys.release,
      .md_config = {.name = config.title,
                    .prefix = config.prefix,
                    .table = config.table,
                    .size = config.size,
                    .list = {}},
      .cm_config = {.name = "", .prefix = "", .table = nullptr, .size = 0, .list = {}},
      .tl_list = {},
      .list = {},
      .flags = 0,
      .md_vfs_init = [](uct_md_h) noexcept {},
  };
}

}  // namespace

uct_component_t make_component(const char* name, const ComponentOps& ops,
                               const MdConfigTable& config) noexcept {
  char padded[UCT_COMPONENT_NAME_MAX] = {};
  std::strncpy(padded, name, sizeof(padded) - 1);
  return make(padded, ops, config, std::make_index_sequence<UCT_COMPONENT_NAME_MAX>());
}

}  // namespace verity::uct
