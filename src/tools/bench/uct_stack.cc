// SPDX-License-Identifier: BSD-3-Clause
//
// Active messages straight on a UCT interface.
#include <uct/api/uct.h>

#include <stdexcept>

#include "tools/bench/clock.h"
#include "tools/bench/stack.h"
#include "tools/ucp_end.h"

namespace verity::tools::bench {

namespace {

constexpr std::uint8_t kAmId = 5;
constexpr int kMostUnderWay = 32;  // zero-copy sends

// More than 15 fields: UCT has a handle for each of six objects, and attributes of its own for two.
class UctStack final : public Stack {
 public:
  UctStack(const std::string& transport, std::size_t size);
  ~UctStack() override;

  std::string address() override;
  Capability capability() const override;
  void connect(const std::string& peer, Send how, bool loopback) override;
  void ping() override {
    send(how_, size_);
    wait_for(1);
  }
  void pong() override {
    wait_for(1);
    send(how_, size_);
  }
  void send_all(unsigned count) override {
    for (unsigned i = 0; i < count; ++i) send(how_, size_);
    wait_for(loopback_ ? count : 1);
  }
  void receive_all(unsigned count) override {
    wait_for(count);
    send(Send::kBcopy, 8);
  }
  void progress() override { (void)uct_worker_progress(worker_); }
  void disconnect() override;

 private:
  struct PackSource {
    const void* data;
    std::size_t size;
  };

  void open_memory_domain();
  bool try_memory_domain(uct_component_h component, const char* name);
  void open_interface();
  bool has(std::uint64_t flag) const { return (attr_.cap.flags & flag) != 0; }
  void wait_for(unsigned messages) {
    awaited_ += messages;
    while (received_ < awaited_) progress();
  }
  // Returns when the transport has taken the message.
  void send(Send how, std::size_t size);

  static ucs_status_t on_message(void* arg, void*, std::size_t, unsigned) {
    ++static_cast<UctStack*>(arg)->received_;
    return UCS_OK;
  }
  static std::size_t pack(void* dest, void* arg) {
    const auto* source = static_cast<PackSource*>(arg);
    std::memcpy(dest, source->data, source->size);
    return source->size;
  }
  std::string transport_;
  std::size_t size_;
  Send how_ = Send::kAny;
  bool loopback_ = false;
  std::string device_;
  ucs_async_context_t* async_ = nullptr;
  uct_worker_h worker_ = nullptr;
  uct_md_h md_ = nullptr;
  uct_md_attr_t md_attr_{};
  uct_iface_h iface_ = nullptr;
  uct_iface_attr_t attr_{};
  uct_ep_h ep_ = nullptr;
  uct_mem_h memory_ = UCT_MEM_HANDLE_NULL;
  std::shared_ptr<void> buffer_;
  uct_iov_t piece_{};
  // Its count is one more than the zero-copy sends under way, so it never ends.
  uct_completion_t zcopy_{.func = [](uct_completion_t*) {}, .count = 1, .status = UCS_OK};
  std::uint64_t awaited_ = 0;
  // Written by the handler, read in loops around uct_worker_progress() which is opaque.
  std::uint64_t received_ = 0;
};

UctStack::UctStack(const std::string& transport, std::size_t size)
    : transport_(transport), size_(size), buffer_(make_buffer(size)) {
  check(ucs_async_context_create(UCS_ASYNC_MODE_THREAD_SPINLOCK, &async_), "async context");
  check(uct_worker_create(async_, UCS_THREAD_MODE_SINGLE, &worker_), "worker");
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
  check(uct_query_components(&components, &count), "components");
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
  check(uct_md_query(md_, &md_attr_), transport_ + ": memory domain");
}

void UctStack::open_interface() {
  uct_iface_config_t* config = nullptr;
  check(uct_md_iface_config_read(md_, transport_.c_str(), nullptr, nullptr, &config),
        transport_ + ": configuration");
  uct_iface_params_t params{};
  params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE |
                      UCT_IFACE_PARAM_FIELD_RX_HEADROOM | UCT_IFACE_PARAM_FIELD_CPU_MASK;
  params.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
  params.mode.device.tl_name = transport_.c_str();
  params.mode.device.dev_name = device_.c_str();
  const ucs_status_t status = uct_iface_open(md_, worker_, &params, config, &iface_);
  uct_config_release(config);
  check(status, transport_ + "/" + device_);
  check(uct_iface_query(iface_, &attr_), transport_ + ": attributes");
  check(uct_iface_set_am_handler(iface_, kAmId, on_message, this, 0), transport_ + ": handler");
  uct_iface_progress_enable(iface_, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
}

// The addresses of device, interface and endpoint one behind the other: the peer's have the same
// lengths.
std::string UctStack::address() {
  std::string all(attr_.device_addr_len + attr_.iface_addr_len + attr_.ep_addr_len, '\0');
  char* const iface = all.data() + attr_.device_addr_len;
  char* const ep = iface + attr_.iface_addr_len;
  check(uct_iface_get_device_address(iface_, reinterpret_cast<uct_device_addr_t*>(all.data())),
        "device address");
  if (has(UCT_IFACE_FLAG_CONNECT_TO_IFACE)) {
    check(uct_iface_get_address(iface_, reinterpret_cast<uct_iface_addr_t*>(iface)),
          "interface address");
    return all;
  }
  uct_ep_params_t params{};
  params.field_mask = UCT_EP_PARAM_FIELD_IFACE;
  params.iface = iface_;
  check(uct_ep_create(&params, &ep_), "endpoint");
  check(uct_ep_get_address(ep_, reinterpret_cast<uct_ep_addr_t*>(ep)), "endpoint address");
  return all;
}

void UctStack::connect(const std::string& peer, Send how, bool loopback) {
  how_ = how;
  loopback_ = loopback;
  if (how == Send::kZcopy && (md_attr_.cap.flags & UCT_MD_FLAG_REG) != 0) {
    check(uct_md_mem_reg(md_, buffer_.get(), size_, UCT_MD_MEM_ACCESS_ALL, &memory_),
          transport_ + ": registration");
  }
  piece_ = {.buffer = buffer_.get(), .length = size_, .memh = memory_, .stride = 0, .count = 1};
  const char* const iface = peer.data() + attr_.device_addr_len;
  const char* const ep = iface + attr_.iface_addr_len;
  uct_ep_params_t params{};
  params.field_mask =
      UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR | UCT_EP_PARAM_FIELD_IFACE_ADDR;
  params.iface = iface_;
  params.dev_addr = reinterpret_cast<const uct_device_addr_t*>(peer.data());
  params.iface_addr = reinterpret_cast<const uct_iface_addr_t*>(iface);
  check(ep_ == nullptr ? uct_ep_create(&params, &ep_)
                       : uct_ep_connect_to_ep(ep_, params.dev_addr,
                                              reinterpret_cast<const uct_ep_addr_t*>(ep)),
        transport_ + ": connect");
}

Capability UctStack::capability() const {
  return {.max_short = has(UCT_IFACE_FLAG_AM_SHORT) ? attr_.cap.am.max_short : 0,
          .max_bcopy = has(UCT_IFACE_FLAG_AM_BCOPY) ? attr_.cap.am.max_bcopy : 0,
          .max_zcopy = has(UCT_IFACE_FLAG_AM_ZCOPY) ? attr_.cap.am.max_zcopy : 0};
}

void UctStack::send(Send how, std::size_t size) {
  PackSource source{buffer_.get(), size};
  for (;; progress()) {
    ssize_t status = UCS_ERR_NO_RESOURCE;
    if (how == Send::kShort) {
      status = uct_ep_am_short(ep_, kAmId, 0, source.data, static_cast<unsigned>(size - 8));
    } else if (how == Send::kBcopy) {
      status = uct_ep_am_bcopy(ep_, kAmId, pack, &source, 0);
    } else if (zcopy_.count <= kMostUnderWay) {
      status = uct_ep_am_zcopy(ep_, kAmId, nullptr, 0, &piece_, 1, 0, &zcopy_);
      if (status == UCS_INPROGRESS) ++zcopy_.count;
    }
    if (status >= 0) return;
    if (status != UCS_ERR_NO_RESOURCE)
      check(static_cast<ucs_status_t>(status), transport_ + ": send");
  }
}

void UctStack::disconnect() {
  if (ep_ == nullptr) return;
  const std::uint64_t give_up = monotonic_ns() + 2'000'000'000;
  while (uct_iface_flush(iface_, 0, nullptr) != UCS_OK && monotonic_ns() < give_up) progress();
  uct_ep_destroy(ep_);
  ep_ = nullptr;
}

}  // namespace

std::unique_ptr<Stack> open_uct_stack(const std::string& transport, std::size_t size) {
  return std::make_unique<UctStack>(transport, size);
}

}  // namespace verity::tools::bench
