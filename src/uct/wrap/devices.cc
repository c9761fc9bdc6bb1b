// SPDX-License-Identifier: BSD-3-Clause
#include "uct/wrap/devices.h"

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

// Opens the lower transport once on a worker of its own and looks at its capabilities.
bool probe_active_messages(uct_md_h md, const char* tl_name, const char* device) {
  ucs_async_context_t* async = nullptr;
  if (ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async) != UCS_OK) { return false; }
  const std::unique_ptr<ucs_async_context_t, AsyncDestroyer> async_holder(async);
  uct_worker_h worker = nullptr;
  if (uct_worker_create(async, UCS_THREAD_MODE_SINGLE, &worker) != UCS_OK) { return false; }
  const LowerWorker worker_holder(worker);
  uct_iface_params_t params{};
  params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE;
  params.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
  params.mode.device.tl_name = tl_name;
  params.mode.device.dev_name = device;
  LowerIface iface;
  uct_iface_attr_t attr;
  return open_lower_iface(md, worker, params, nullptr, 0, &iface) == UCS_OK &&
         uct_iface_query(iface.get(), &attr) == UCS_OK &&
         (attr.cap.flags & (UCT_IFACE_FLAG_AM_SHORT | UCT_IFACE_FLAG_AM_BCOPY)) != 0;
}

struct UcsReleaser {
  void operator()(void* memory) const noexcept { ucs_free(memory); }
};

// The array is UCX's, which frees it, as the lower transport made it.
ucs_status_t query_entry_devices(TlEntry& entry, WrapMd& md, uct_tl_device_resource_t** devices_p,
                                 unsigned* count_p) {
  *devices_p = nullptr;
  *count_p = 0;
  const bool any = !md.wrapper().needs_am(entry.lower_name);
  if (md.lower()->component != entry.lower || (!any && entry.has_am == HasAm::kNo)) {
    return UCS_OK;
  }
  uct_tl_device_resource_t* found = nullptr;
  unsigned count = 0;
  // As UCX does with one transport of several: its failure is not that of the domain.
  if (entry.query_lower(md.lower(), &found, &count) != UCS_OK) { return UCS_OK; }
  std::unique_ptr<uct_tl_device_resource_t, UcsReleaser> devices(found);
  if (!any && count != 0 && entry.has_am == HasAm::kUnknown) {
    const bool has_am = probe_active_messages(md.lower(), entry.lower_name, found[0].name);
    entry.has_am = has_am ? HasAm::kYes : HasAm::kNo;
  }
  if (count == 0 || (!any && entry.has_am == HasAm::kNo)) { return UCS_OK; }
  *devices_p = devices.release();
  *count_p = count;
  return UCS_OK;
}

template <size_t Slot>
ucs_status_t query_devices(uct_md_h md, uct_tl_device_resource_t** devices_p,
                           unsigned* count_p) noexcept {
  return guarded(
      [&] { return query_entry_devices(*tl_slots[Slot], WrapMd::of(md), devices_p, count_p); });
}

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
  entry->query_lower = lower_tl.query_devices;
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
