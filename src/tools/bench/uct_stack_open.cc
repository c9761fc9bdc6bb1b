// SPDX-License-Identifier: BSD-3-Clause
#include <stdexcept>

#include "tools/bench/uct_stack.h"

namespace verity::tools::bench {

namespace {

void append_blob(std::string* out, const std::string& blob) {
  const auto size = static_cast<std::uint32_t>(blob.size());
  out->append(reinterpret_cast<const char*>(&size), sizeof(size));
  out->append(blob);
}

std::string take_blob(std::string_view* in) {
  std::uint32_t size = 0;
  if (in->size() < sizeof(size)) throw std::runtime_error("cut address");
  std::memcpy(&size, in->data(), sizeof(size));
  in->remove_prefix(sizeof(size));
  if (in->size() < size) throw std::runtime_error("cut address");
  std::string blob(in->substr(0, size));
  in->remove_prefix(size);
  return blob;
}

}  // namespace

void check_uct(ucs_status_t status, const std::string& what) {
  if (status != UCS_OK) throw std::runtime_error(what + ": " + ucs_status_string(status));
}

UctStack::UctStack(const std::string& transport) : transport_(transport) {
  check_uct(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async_), "async context");
  check_uct(uct_worker_create(async_, UCS_THREAD_MODE_SINGLE, &worker_), "worker");
  open_memory_domain();
  open_interface();
}

UctStack::~UctStack() {
  if (memory_ != UCT_MEM_HANDLE_NULL) (void)uct_md_mem_dereg(md_, memory_);
  if (ep_ != nullptr) uct_ep_destroy(ep_);
  if (iface_ != nullptr) uct_iface_close(iface_);
  if (md_ != nullptr) uct_md_close(md_);
  if (worker_ != nullptr) uct_worker_destroy(worker_);
  if (async_ != nullptr) ucs_async_context_destroy(async_);
}

bool UctStack::try_memory_domain(uct_component_h component, const char* name) {
  uct_md_config_t* config = nullptr;
  if (uct_md_config_read(component, nullptr, nullptr, &config) != UCS_OK) return false;
  uct_md_h md = nullptr;
  const ucs_status_t status = uct_md_open(component, name, config, &md);
  uct_config_release(config);
  if (status != UCS_OK) return false;
  uct_tl_resource_desc_t* resources = nullptr;
  unsigned count = 0;
  (void)uct_md_query_tl_resources(md, &resources, &count);
  for (unsigned i = 0; i < count; ++i) {
    if (transport_ != resources[i].tl_name) continue;
    // Both processes are on this host: loopback is the device that always works.
    if (device_.empty() || std::strcmp(resources[i].dev_name, "lo") == 0) {
      device_ = resources[i].dev_name;
    }
    md_ = md;
  }
  if (resources != nullptr) uct_release_tl_resource_list(resources);
  if (md_ != md) uct_md_close(md);
  return md_ == md;
}

void UctStack::open_memory_domain() {
  uct_component_h* components = nullptr;
  unsigned count = 0;
  check_uct(uct_query_components(&components, &count), "components");
  for (unsigned i = 0; i < count && md_ == nullptr; ++i) {
    uct_component_attr_t attr;
    attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
    if (uct_component_query(components[i], &attr) != UCS_OK) continue;
    std::vector<uct_md_resource_desc_t> resources(attr.md_resource_count);
    attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
    attr.md_resources = resources.data();
    if (resources.empty() || uct_component_query(components[i], &attr) != UCS_OK) continue;
    for (const auto& resource : resources) {
      if (try_memory_domain(components[i], resource.md_name)) break;
    }
  }
  uct_release_component_list(components);
  if (md_ == nullptr) throw std::runtime_error("UCX offers no transport " + transport_);
  check_uct(uct_md_query(md_, &md_attr_), transport_ + ": memory domain");
}

void UctStack::open_interface() {
  uct_iface_config_t* config = nullptr;
  check_uct(uct_md_iface_config_read(md_, transport_.c_str(), nullptr, nullptr, &config),
            transport_ + ": configuration");
  uct_iface_params_t params{};
  params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE |
                      UCT_IFACE_PARAM_FIELD_RX_HEADROOM | UCT_IFACE_PARAM_FIELD_CPU_MASK;
  params.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
  params.mode.device.tl_name = transport_.c_str();
  params.mode.device.dev_name = device_.c_str();
  const ucs_status_t status = uct_iface_open(md_, worker_, &params, config, &iface_);
  uct_config_release(config);
  check_uct(status, transport_ + "/" + device_);
  check_uct(uct_iface_query(iface_, &attr_), transport_ + ": attributes");
  check_uct(uct_iface_set_am_handler(iface_, kAmId, on_message, this, 0), transport_ + ": handler");
  uct_iface_progress_enable(iface_, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
}

std::string UctStack::address() {
  std::string device(attr_.device_addr_len, '\0');
  std::string iface(attr_.iface_addr_len, '\0');
  std::string ep;
  check_uct(
      uct_iface_get_device_address(iface_, reinterpret_cast<uct_device_addr_t*>(device.data())),
      "device address");
  if (has(UCT_IFACE_FLAG_CONNECT_TO_IFACE)) {
    check_uct(uct_iface_get_address(iface_, reinterpret_cast<uct_iface_addr_t*>(iface.data())),
              "interface address");
  } else {
    uct_ep_params_t params{};
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE;
    params.iface = iface_;
    check_uct(uct_ep_create(&params, &ep_), "endpoint");
    ep.resize(attr_.ep_addr_len);
    check_uct(uct_ep_get_address(ep_, reinterpret_cast<uct_ep_addr_t*>(ep.data())),
              "endpoint address");
  }
  std::string all;
  append_blob(&all, device);
  append_blob(&all, iface);
  append_blob(&all, ep);
  return all;
}

void UctStack::connect(const std::string& peer) {
  std::string_view rest = peer;
  const std::string device = take_blob(&rest);
  const std::string iface = take_blob(&rest);
  const std::string ep = take_blob(&rest);
  const auto* device_address = reinterpret_cast<const uct_device_addr_t*>(device.data());
  if (ep_ != nullptr) {
    check_uct(uct_ep_connect_to_ep(ep_, device_address,
                                   reinterpret_cast<const uct_ep_addr_t*>(ep.data())),
              transport_ + ": connect");
    return;
  }
  uct_ep_params_t params{};
  params.field_mask =
      UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR | UCT_EP_PARAM_FIELD_IFACE_ADDR;
  params.iface = iface_;
  params.dev_addr = device_address;
  params.iface_addr = reinterpret_cast<const uct_iface_addr_t*>(iface.data());
  check_uct(uct_ep_create(&params, &ep_), transport_ + ": connect");
}

Capability UctStack::capability() const {
  Capability result;
  if (has(UCT_IFACE_FLAG_AM_SHORT)) result.max_short = attr_.cap.am.max_short;
  if (has(UCT_IFACE_FLAG_AM_BCOPY)) result.max_bcopy = attr_.cap.am.max_bcopy;
  if (has(UCT_IFACE_FLAG_AM_ZCOPY)) result.max_zcopy = attr_.cap.am.max_zcopy;
  return result;
}

std::unique_ptr<Stack> open_uct_stack(const std::string& transport) {
  return std::make_unique<UctStack>(transport);
}

}  // namespace verity::tools::bench
