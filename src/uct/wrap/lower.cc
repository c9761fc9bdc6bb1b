// SPDX-License-Identifier: BSD-3-Clause
#include "uct/wrap/lower.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "uct/compat/segments.h"

namespace verity::uct {
namespace {

// "auto" and "inf" are larger.
constexpr size_t kMostSegment = size_t{1} << 30;

struct ConfigReleaser {
  void operator()(void* config) const noexcept { uct_config_release(config); }
};
using MdConfig = std::unique_ptr<uct_md_config_t, ConfigReleaser>;
using IfaceConfig = std::unique_ptr<uct_iface_config_t, ConfigReleaser>;

// False: there is no such variable, or it is no number.
bool read_bytes(uct_iface_config_t* config, const char* name, size_t* bytes_p) noexcept {
  char text[64];
  return uct_config_get(config, name, text, sizeof(text)) == UCS_OK &&
         ucs_str_to_memunits(text, bytes_p) == UCS_OK && *bytes_p < kMostSegment;
}

// From UCX 1.17 on a variable of the transport itself has to be named with the transport's prefix;
// one of a nested table is not known by that name.
void write_number(uct_iface_config_t* config, const char* prefix, const char* name,
                  size_t value) noexcept {
  char text[32];
  (void)std::snprintf(text, sizeof(text), "%zu", value);
  if (uct_config_modify(config, name, text) == UCS_OK || prefix == nullptr) return;
  char full_name[128];
  (void)std::snprintf(full_name, sizeof(full_name), "%s%s", prefix, name);
  (void)uct_config_modify(config, full_name, text);
}

// Makes the buffers longer, and allocates fewer at once, so that they take no more memory.
void enlarge(uct_iface_config_t* config, const char* prefix, const SegmentVariable& variable,
             size_t room) noexcept {
  size_t bytes;
  if (!read_bytes(config, variable.read, &bytes)) return;
  const size_t wanted = bytes >= variable.usual ? std::max(bytes, variable.large_frame) : bytes;
  write_number(config, prefix, variable.set, wanted + room);
  size_t buffers;
  if (wanted == bytes || variable.buffers == nullptr) return;
  if (read_bytes(config, variable.buffers, &buffers))
    write_number(config, prefix, variable.buffers, std::max<size_t>(buffers * bytes / wanted, 1));
}

// A copy, since UCX's functions change a configuration only where it was read.
ucs_status_t replace(uct_iface_config_t* config, const LowerConfig& given) noexcept {
  ucs_config_parser_release_opts(config, given.options.table);
  const ucs_status_t status =
      ucs_config_parser_clone_opts(given.values, config, given.options.table);
  // What was copied before is lost then, but nothing is released twice.
  if (status != UCS_OK) std::memset(config, 0, given.options.size);
  return status;
}

}  // namespace

ucs_status_t open_lower_md(uct_component_h component, const char* name, LowerMd* md_p) {
  uct_md_config_t* config = nullptr;
  ucs_status_t status = uct_md_config_read(component, nullptr, nullptr, &config);
  if (status != UCS_OK) { return status; }
  const MdConfig holder(config);
  uct_md_h md = nullptr;
  status = uct_md_open(component, name, config, &md);
  if (status == UCS_OK) { md_p->reset(md); }
  return status;
}

ucs_status_t make_lower_worker(const uct_priv_worker_t& upper, LowerWorker* worker_p) {
  uct_worker_h worker = nullptr;
  const ucs_status_t status = uct_worker_create(upper.async, upper.thread_mode, &worker);
  if (status == UCS_OK) { worker_p->reset(worker); }
  return status;
}

ucs_status_t open_lower_iface(uct_md_h md, uct_worker_h worker, const uct_iface_params_t& params,
                              const LowerConfig* given, size_t room, LowerIface* iface_p) {
  uct_iface_config_t* config = nullptr;
  ucs_status_t status =
      uct_md_iface_config_read(md, params.mode.device.tl_name, nullptr, nullptr, &config);
  if (status != UCS_OK) { return status; }
  const IfaceConfig holder(config);
  if (given != nullptr) status = replace(config, *given);
  if (status != UCS_OK) return status;
  const char* prefix = given != nullptr ? given->options.prefix : nullptr;
  for (const SegmentVariable& variable : kSegmentVariables) {
    if (room != 0) enlarge(config, prefix, variable, room);
  }
  uct_iface_h iface = nullptr;
  status = uct_iface_open(md, worker, &params, config, &iface);
  if (status == UCS_OK) { iface_p->reset(iface); }
  return status;
}

ucs_status_t query_lower_iface(uct_iface_h iface, const char* name, uct_iface_attr_t* attr) {
  const ucs_status_t status = uct_iface_query(iface, attr);
  if (status != UCS_OK) return status;
  for (const LengthField& field : kLengthFields) {
    if (std::strcmp(field.transport, name) != 0) continue;
    attr->cap.am.max_short = std::min(attr->cap.am.max_short, field.most);
    attr->cap.am.max_bcopy = std::min(attr->cap.am.max_bcopy, field.most);
  }
  for (const ZeroCopyLimit& limit : kZeroCopyLimits) {
    if (std::strcmp(limit.transport, name) == 0)
      attr->cap.am.max_zcopy = std::min(attr->cap.am.max_zcopy, limit.most);
  }
  return UCS_OK;
}

ucs_status_t create_lower_ep(const uct_ep_params_t& params, LowerEp* ep_p) {
  uct_ep_h ep = nullptr;
  const ucs_status_t status = uct_ep_create(&params, &ep);
  if (status == UCS_OK) { ep_p->reset(ep); }
  return status;
}

ucs_status_t query_components(std::vector<uct_component_h>* components_p) {
  uct_component_h* list = nullptr;
  unsigned count = 0;
  const ucs_status_t status = uct_query_components(&list, &count);
  if (status != UCS_OK) { return status; }
  const std::unique_ptr<uct_component_h, decltype(&uct_release_component_list)> holder(
      list, uct_release_component_list);
  components_p->assign(list, list + count);
  return UCS_OK;
}

ucs_status_t query_md_resources(uct_component_h component,
                                std::vector<uct_md_resource_desc_t>* resources_p) {
  uct_component_attr_t attr{};
  attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  ucs_status_t status = uct_component_query(component, &attr);
  if (status != UCS_OK) { return status; }
  // The second query may find more domains than the first (a device was plugged in) and writes
  // them all: leave room.
  constexpr size_t kSpare = 64;
  std::vector<uct_md_resource_desc_t> resources(attr.md_resource_count + kSpare);
  attr.field_mask =
      UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT | UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  attr.md_resources = resources.data();
  status = uct_component_query(component, &attr);
  if (status == UCS_OK) {
    resources.resize(attr.md_resource_count);
    *resources_p = std::move(resources);
  }
  return status;
}

}  // namespace verity::uct
