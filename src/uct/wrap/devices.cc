// SPDX-License-Identifier: BSD-3-Clause
#include "uct/wrap/devices.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "uct/wrap/iface.h"
#include "uct/wrap/lower.h"
#include "uct/wrap/md.h"

namespace verity::uct {
namespace {

constexpr size_t kMaxTls = 64;  // of all components of this plugin
std::array<TlEntry*, kMaxTls> tl_slots;
size_t tl_slots_used = 0;  // under the component's mutex; a plugin has one component

struct AsyncDestroyer {
  void operator()(ucs_async_context_t* async) const noexcept { ucs_async_context_destroy(async); }
};
struct WorkerDestroyer {
  void operator()(uct_worker_h worker) const noexcept { uct_worker_destroy(worker); }
};

// Opens the lower transport once on a worker of its own and looks at its capabilities.
bool probe_active_messages(uct_md_h md, const uct_tl_resource_desc_t& resource) {
  ucs_async_context_t* async = nullptr;
  if (ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async) != UCS_OK) { return false; }
  const std::unique_ptr<ucs_async_context_t, AsyncDestroyer> async_holder(async);
  uct_worker_h worker = nullptr;
  if (uct_worker_create(async, UCS_THREAD_MODE_SINGLE, &worker) != UCS_OK) { return false; }
  const std::unique_ptr<uct_worker_t, WorkerDestroyer> worker_holder(worker);
  uct_iface_params_t params{};
  params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE;
  params.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
  params.mode.device.tl_name = resource.tl_name;
  params.mode.device.dev_name = resource.dev_name;
  LowerIface iface;
  uct_iface_attr_t attr;
  return open_lower_iface(md, worker, params, nullptr, 0, &iface) == UCS_OK &&
         uct_iface_query(iface.get(), &attr) == UCS_OK &&
         (attr.cap.flags & (UCT_IFACE_FLAG_AM_SHORT | UCT_IFACE_FLAG_AM_BCOPY)) != 0;
}

ucs_status_t to_device_array(const std::vector<uct_tl_resource_desc_t>& resources,
                             uct_tl_device_resource_t** devices_p, unsigned* count_p) {
  // UCX releases the array with ucs_free.
  auto* devices = static_cast<uct_tl_device_resource_t*>(
      ucs_calloc(std::max<size_t>(resources.size(), 1), sizeof(**devices_p), "verity_devices"));
  if (devices == nullptr) { return UCS_ERR_NO_MEMORY; }
  for (size_t i = 0; i < resources.size(); ++i) {
    std::memcpy(devices[i].name, resources[i].dev_name, sizeof(devices[i].name));
    devices[i].type = resources[i].dev_type;
    devices[i].sys_device = resources[i].sys_device;
  }
  *devices_p = devices;
  *count_p = static_cast<unsigned>(resources.size());
  return UCS_OK;
}

ucs_status_t query_entry_devices(TlEntry& entry, WrapMd& md, uct_tl_device_resource_t** devices_p,
                                 unsigned* count_p) {
  std::vector<uct_tl_resource_desc_t> resources;
  const bool any = !md.wrapper().needs_am(entry.lower_name);
  if (md.lower()->component == entry.lower && (any || entry.has_am != HasAm::kNo)) {
    const ucs_status_t status = query_tl_resources(md.lower(), &resources);
    if (status != UCS_OK) { return status; }
    std::erase_if(resources, [&](const uct_tl_resource_desc_t& resource) {
      return std::strcmp(resource.tl_name, entry.lower_name) != 0;
    });
  }
  if (!any && !resources.empty() && entry.has_am == HasAm::kUnknown) {
    entry.has_am = probe_active_messages(md.lower(), resources.front()) ? HasAm::kYes : HasAm::kNo;
  }
  if (!any && entry.has_am == HasAm::kNo) { resources.clear(); }
  return to_device_array(resources, devices_p, count_p);
}

template <size_t Slot>
ucs_status_t query_devices(uct_md_h md, uct_tl_device_resource_t** devices_p,
                           unsigned* count_p) noexcept {
  return guarded(
      [&] { return query_entry_devices(*tl_slots[Slot], WrapMd::of(md), devices_p, count_p); });
}

using QueryDevices = decltype(uct_tl_t::query_devices);

template <size_t... Slots>
constexpr std::array<QueryDevices, sizeof...(Slots)> make_trampolines(
    std::index_sequence<Slots...>) {
  return {query_devices<Slots>...};
}
constexpr auto kTrampolines = make_trampolines(std::make_index_sequence<kMaxTls>());

void copy_name(char (&to)[UCT_TL_NAME_MAX], std::string_view from) {
  to[from.copy(to, sizeof(to) - 1)] = '\0';
}

}  // namespace

TlEntry* register_tl(Component& component, uct_component_h lower, const uct_tl_t& lower_tl,
                     const std::string& name) {
  if (tl_slots_used == kMaxTls) {
    ucs_diag("%s: no room to wrap transport %s", component.spec().component_name, lower_tl.name);
    return nullptr;
  }
  auto entry = std::make_unique<TlEntry>();
  entry->lower = lower;
  copy_name(entry->lower_name, lower_tl.name);
  entry->has_am = known_active_messages(lower_tl.name);
  entry->config_title = name + " transport";
  uct_tl_t& tl = entry->uct;
  copy_name(tl.name, name);
  tl.query_devices = kTrampolines[tl_slots_used];
  tl.iface_open = WrapIface::open;
  tl.config.name = entry->config_title.c_str();
  // The lower transport's own options, under its own prefix: they are passed on to it.
  tl.config.prefix = lower_tl.config.prefix;
  tl.config.table = lower_tl.config.table;
  tl.config.size = lower_tl.config.size;
  tl_slots[tl_slots_used++] = entry.get();
  register_transport(component.handle(), &tl);
  return entry.release();
}

}  // namespace verity::uct
