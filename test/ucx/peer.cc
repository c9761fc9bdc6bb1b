// SPDX-License-Identifier: BSD-3-Clause
#include "peer.h"

#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cctype>
#include <chrono>
#include <cstring>

namespace verity::test {

void require(bool condition, const std::string& text) {
  if (!condition) { throw Failure(text); }
}

void check(ucs_status_t status, const std::string& what) {
  if (status != UCS_OK && status != UCS_INPROGRESS) {
    throw Failure(what + ": " + ucs_status_string(status));
  }
}

double seconds_now() {
  using std::chrono::steady_clock;
  return std::chrono::duration<double>(steady_clock::now().time_since_epoch()).count();
}

// ---- Channel -----------------------------------------------------------------------------------

void Channel::put(const void* data, size_t length) const {
  require(::send(fd_, data, length, MSG_NOSIGNAL) == static_cast<ssize_t>(length),
          "the other process has gone");
}

void Channel::get(void* data, size_t length) const {
  require(::recv(fd_, data, length, MSG_WAITALL) == static_cast<ssize_t>(length),
          "the other process has gone");
}

void Channel::put_block(const void* data, size_t length) const {
  const auto bytes = static_cast<uint32_t>(length);
  put(&bytes, sizeof(bytes));
  put(data, length);
}

Bytes Channel::get_block() const {
  uint32_t length;
  get(&length, sizeof(length));
  Bytes block(length);
  get(block.data(), block.size());
  return block;
}

void Channel::put_step(Step step) const { put(&step, sizeof(step)); }

void Channel::get_step(Step wanted) const {
  Step step;
  get(&step, sizeof(step));
  if (step == Step::kSkip) {
    const Bytes reason = get_block();
    throw Skip(std::string(reason.begin(), reason.end()));
  }
  require(step == wanted, "the processes are out of step");
}

Bytes Channel::exchange(const Bytes& mine) {
  if (alone()) { return mine; }
  put_step(Step::kExchange);
  put_block(mine.data(), mine.size());
  get_step(Step::kExchange);
  return get_block();
}

void Channel::barrier(const std::function<void()>& progress) {
  if (alone()) { return; }
  put_step(Step::kBarrier);
  pollfd waiting = {fd_, POLLIN, 0};
  while (progress && ::poll(&waiting, 1, 0) == 0) {
    for (int i = 0; i < 100; ++i) { progress(); }
    sched_yield();
  }
  get_step(Step::kBarrier);
}

void Channel::skip(const std::string& reason) const {
  if (alone()) { return; }
  try {
    put_step(Step::kSkip);
    put_block(reason.data(), reason.size());
  } catch (const Failure&) { return; }  // the other side is through with the case
  // What is left unread when the socket closes would be an error to the other side, before it has
  // read the reason.
  (void)::shutdown(fd_, SHUT_WR);
  char unread[64];
  while (::recv(fd_, unread, sizeof(unread), 0) > 0) {}
}

// ---- Iface -------------------------------------------------------------------------------------

Iface::Iface(const Options& options, Iface* other) {
  if (other != nullptr) {
    worker_ = other->worker_;
    async_ = other->async_;
    owns_worker_ = false;
  } else {
    check(ucs_async_context_create(options.async_mode, &async_), "async context");
    check(uct_worker_create(async_, UCS_THREAD_MODE_SINGLE, &worker_), "worker");
  }
  uct_component_h* components;
  unsigned count;
  check(uct_query_components(&components, &count), "uct_query_components");
  bool found = false;
  for (unsigned i = 0; i < count && !found; ++i) {
    found = open_component(components[i], options);
    component_ = components[i];
  }
  uct_release_component_list(components);
  if (!found) { throw Skip("no transport " + options.transport + " " + options.device); }
}

void Iface::close() {
  if (iface_ != nullptr) {
    uct_iface_close(iface_);
    iface_ = nullptr;
  }
  if (md_ != nullptr) {
    uct_md_close(md_);
    md_ = nullptr;
  }
  if (worker_ != nullptr && owns_worker_) {
    uct_worker_destroy(worker_);
    worker_ = nullptr;
  }
  if (async_ != nullptr && owns_worker_) {
    ucs_async_context_destroy(async_);
    async_ = nullptr;
  }
}

bool Iface::open_component(uct_component_h component, const Options& options) {
  uct_component_attr_t attr = {};
  attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT;
  check(uct_component_query(component, &attr), "uct_component_query");
  std::vector<uct_md_resource_desc_t> resources(attr.md_resource_count);
  attr.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
  attr.md_resources = resources.data();
  check(uct_component_query(component, &attr), "uct_component_query");
  for (const uct_md_resource_desc_t& resource : resources) {
    if (open_md(component, resource.md_name, options)) { return true; }
  }
  return false;
}

bool Iface::open_md(uct_component_h component, const char* md_name, const Options& options) {
  uct_md_config_t* config;
  check(uct_md_config_read(component, nullptr, nullptr, &config), "uct_md_config_read");
  ucs_status_t status = uct_md_open(component, md_name, config, &md_);
  uct_config_release(config);
  if (status != UCS_OK) {
    md_ = nullptr;
    return false;
  }
  check(uct_md_query(md_, &md_attr_), "uct_md_query");
  uct_tl_resource_desc_t* resources;
  unsigned count;
  check(uct_md_query_tl_resources(md_, &resources, &count), "uct_md_query_tl_resources");
  for (unsigned i = 0; i < count && iface_ == nullptr; ++i) {
    if (options.transport == resources[i].tl_name &&
        (options.device.empty() || options.device == resources[i].dev_name)) {
      open_iface(resources[i].dev_name, options);
    }
  }
  uct_release_tl_resource_list(resources);
  if (iface_ == nullptr) {
    uct_md_close(md_);
    md_ = nullptr;
  }
  return iface_ != nullptr;
}

namespace {

// From UCX 1.17 on the name of a transport's own option has its prefix: TCP_ for vftcp.
void set_option(uct_iface_config_t* config, std::string_view transport, const std::string& name,
                const std::string& value) {
  if (uct_config_modify(config, name.c_str(), value.c_str()) == UCS_OK) return;
  if (transport.starts_with('v')) transport.remove_prefix(1);
  if (transport.starts_with('f')) transport.remove_prefix(1);
  std::string full;
  for (const char letter : transport) full += static_cast<char>(std::toupper(letter));
  (void)uct_config_modify(config, (full + "_" + name).c_str(), value.c_str());
}

}  // namespace

void Iface::open_iface(const char* device, const Options& options) {
  uct_iface_config_t* config;
  check(uct_md_iface_config_read(md_, options.transport.c_str(), nullptr, nullptr, &config),
        "uct_md_iface_config_read");
  for (const auto& [name, value] : options.settings)
    set_option(config, options.transport, name, value);
  uct_iface_params_t params = {};
  params.field_mask = UCT_IFACE_PARAM_FIELD_OPEN_MODE | UCT_IFACE_PARAM_FIELD_DEVICE |
                      UCT_IFACE_PARAM_FIELD_RX_HEADROOM | UCT_IFACE_PARAM_FIELD_ERR_HANDLER |
                      UCT_IFACE_PARAM_FIELD_ERR_HANDLER_ARG |
                      UCT_IFACE_PARAM_FIELD_ERR_HANDLER_FLAGS | UCT_IFACE_PARAM_FIELD_STATS_ROOT |
                      UCT_IFACE_PARAM_FIELD_CPU_MASK;
  params.open_mode = UCT_IFACE_OPEN_MODE_DEVICE;
  params.mode.device.tl_name = options.transport.c_str();
  params.mode.device.dev_name = device;
  params.rx_headroom = options.rx_headroom;
  params.err_handler = failed;
  params.err_handler_arg = this;
  if (options.am_alignment != 0) {
    params.field_mask |= UCT_IFACE_PARAM_FIELD_AM_ALIGNMENT;
    params.am_alignment = options.am_alignment;
    params.field_mask |= UCT_IFACE_PARAM_FIELD_AM_ALIGN_OFFSET;
    params.am_align_offset = options.am_align_offset;
  }
  if (options.event_cb != nullptr) {
    params.field_mask |=
        UCT_IFACE_PARAM_FIELD_ASYNC_EVENT_CB | UCT_IFACE_PARAM_FIELD_ASYNC_EVENT_ARG;
    params.async_event_cb = options.event_cb;
    params.async_event_arg = options.event_arg;
  }
  ucs_status_t status = uct_iface_open(md_, worker_, &params, config, &iface_);
  uct_config_release(config);
  check(status, "uct_iface_open");
  uct_iface_progress_enable(iface_, UCT_PROGRESS_SEND | UCT_PROGRESS_RECV);
  check(uct_iface_query(iface_, &attr_), "uct_iface_query");
}

ucs_status_t Iface::failed(void* self, uct_ep_h, ucs_status_t) {
  auto& iface = *static_cast<Iface*>(self);
  ++iface.errors_;
  if (iface.on_error_) { iface.on_error_(); }
  return UCS_OK;
}

void Iface::progress_until(const std::function<bool()>& condition, const std::string& what,
                           double seconds) {
  double limit = seconds_now() + seconds;
  for (unsigned round = 1; !condition(); ++round) {
    progress();
    if (round % 1024 == 0) {
      sched_yield();  // on a busy machine the other process may need this core
      require(seconds_now() < limit, "no end of: " + what);
    }
  }
}

bool Iface::is_reachable(const Address& peer) {
  return uct_iface_is_reachable(iface_,
                                reinterpret_cast<const uct_device_addr_t*>(peer.device.data()),
                                reinterpret_cast<const uct_iface_addr_t*>(peer.iface.data())) != 0;
}

ucs_status_t Iface::try_connect_to_iface(const Address& peer, uct_ep_h* ep_p) {
  uct_ep_params_t params = {};
  params.field_mask =
      UCT_EP_PARAM_FIELD_IFACE | UCT_EP_PARAM_FIELD_DEV_ADDR | UCT_EP_PARAM_FIELD_IFACE_ADDR;
  params.iface = iface_;
  params.dev_addr = reinterpret_cast<const uct_device_addr_t*>(peer.device.data());
  params.iface_addr = reinterpret_cast<const uct_iface_addr_t*>(peer.iface.data());
  return uct_ep_create(&params, ep_p);
}

uct_ep_h Iface::connect_to_iface(const Address& peer) {
  uct_ep_h ep;
  check(try_connect_to_iface(peer, &ep), "uct_ep_create");
  return ep;
}

void Iface::connect_to_ep(Channel& channel, uct_ep_h ep, const Bytes& device) {
  Bytes mine(attr_.ep_addr_len);
  check(uct_ep_get_address(ep, reinterpret_cast<uct_ep_addr_t*>(mine.data())),
        "uct_ep_get_address");
  Bytes theirs = channel.exchange(mine);
  check(uct_ep_connect_to_ep(ep, reinterpret_cast<const uct_device_addr_t*>(device.data()),
                             reinterpret_cast<const uct_ep_addr_t*>(theirs.data())),
        "uct_ep_connect_to_ep");
}

Iface::Address Iface::exchange_addresses(Channel& channel) {
  Address mine{Bytes(attr_.device_addr_len + 1), Bytes(attr_.iface_addr_len + 1)};
  check(uct_iface_get_device_address(iface_,
                                     reinterpret_cast<uct_device_addr_t*>(mine.device.data())),
        "uct_iface_get_device_address");
  if (has(UCT_IFACE_FLAG_CONNECT_TO_IFACE)) {
    check(uct_iface_get_address(iface_, reinterpret_cast<uct_iface_addr_t*>(mine.iface.data())),
          "uct_iface_get_address");
  }
  Bytes device = channel.exchange(mine.device);
  return {device, channel.exchange(mine.iface)};
}

std::vector<uct_ep_h> Iface::connect(Channel& channel, size_t count) {
  Address peer = exchange_addresses(channel);
  require(is_reachable(peer), "the other process is not reachable");
  std::vector<uct_ep_h> eps;
  for (size_t i = 0; i < count; ++i) {
    if (has(UCT_IFACE_FLAG_CONNECT_TO_IFACE)) {
      eps.push_back(connect_to_iface(peer));
      continue;
    }
    uct_ep_params_t params = {};
    params.field_mask = UCT_EP_PARAM_FIELD_IFACE;
    params.iface = iface_;
    uct_ep_h ep;
    check(uct_ep_create(&params, &ep), "uct_ep_create");
    connect_to_ep(channel, ep, peer.device);
    eps.push_back(ep);
  }
  return eps;
}

void Iface::flush(uct_ep_h ep, double seconds) {
  // Left behind when a flush never ends: UCT may still write to it.
  Flushed& flushed = *new Flushed;
  ucs_status_t status = UCS_ERR_NO_RESOURCE;
  progress_until(
      [&] {
        status = uct_ep_flush(ep, UCT_FLUSH_FLAG_LOCAL, &flushed.completion);
        return status != UCS_ERR_NO_RESOURCE;
      },
      "resources for a flush", seconds);
  check(status, "uct_ep_flush");
  if (status == UCS_INPROGRESS) {
    progress_until([&] { return flushed.done; }, "completion of a flush", seconds);
    check(flushed.completion.status, "completion of a flush");
  }
  delete &flushed;
}

}  // namespace verity::test
