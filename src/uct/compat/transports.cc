// SPDX-License-Identifier: BSD-3-Clause
#include "uct/compat/transports.h"

#include <algorithm>

namespace verity::uct {

HasAm known_active_messages(std::string_view tl) noexcept {
  // Copy and mapping transports of accelerators come and go: a rule covers their names.
  if (tl.ends_with("_copy") || tl.ends_with("_ipc") || tl.starts_with("gdr") || tl == "cma" ||
      tl == "knem") {
    return HasAm::kNo;
  }
  constexpr std::string_view kWithAm[] = {"tcp",      "self",    "posix",   "sysv",    "rc_verbs",
                                          "ud_verbs", "rc_mlx5", "ud_mlx5", "dc_mlx5", "srd"};
  const bool known = std::find(std::begin(kWithAm), std::end(kWithAm), tl) != std::end(kWithAm);
  return known ? HasAm::kYes : HasAm::kUnknown;
}

bool reads_processes(std::string_view tl) noexcept {
  return tl.ends_with("cma") || tl.ends_with("knem");
}

namespace {
ucs_status_t no_devices(uct_md_h, uct_tl_device_resource_t** devices_p,
                        unsigned* count_p) noexcept {
  *devices_p = nullptr;
  *count_p = 0;
  return UCS_OK;
}
}  // namespace

bool hide_devices(uct_tl_t* tl) noexcept {
  if (tl->query_devices == no_devices) return false;
  tl->query_devices = no_devices;
  return true;
}

void register_transport(uct_component_t* component, uct_tl_t* tl) noexcept {
  uct_tl_register(component, tl);
  ucs_list_del(&tl->config.list);
  ucs_list_head_init(&tl->config.list);
}

}  // namespace verity::uct
