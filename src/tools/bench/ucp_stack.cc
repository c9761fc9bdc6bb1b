// SPDX-License-Identifier: BSD-3-Clause
//
// Tagged messages through UCP, the context held to one transport.
#include <ucp/api/ucp.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "tools/bench/clock.h"
#include "tools/bench/stack.h"
#include "tools/env/transports.h"

namespace verity::tools::bench {

void check(int status, const std::string& what) {
  if (status == UCS_OK) return;
  throw std::runtime_error(what + ": " + ucs_status_string(static_cast<ucs_status_t>(status)));
}

namespace {

constexpr ucp_tag_t kTag = 7;
constexpr ucp_tag_t kDoneTag = 8;
constexpr unsigned kWindow = 32;

class UcpStack final : public Stack {
 public:
  UcpStack(const std::string& transport, std::size_t size);
  ~UcpStack() override {
    if (worker_ != nullptr) ucp_worker_destroy(worker_);
    if (context_ != nullptr) ucp_cleanup(context_);
  }

  std::string address() override;
  void connect(const std::string& peer, Send how, bool loopback) override;
  // The receive is posted before the send that makes the peer answer.
  void ping() override {
    const Request receive = start_receive(size_, kTag);
    const Request send = start_send(size_, kTag);
    finish(receive);
    finish(send);
  }
  void pong() override {
    finish(start_receive(size_, kTag));
    finish(start_send(size_, kTag));
  }
  void send_all(unsigned count) override;
  void receive_all(unsigned count) override;
  void progress() override { (void)ucp_worker_progress(worker_); }
  void disconnect() override;

 private:
  using Request = ucs_status_ptr_t;

  Request start_send(std::size_t size, ucp_tag_t tag) {
    return ucp_tag_send_nbx(ep_, out_.get(), size, tag, &param_);
  }
  Request start_receive(std::size_t size, ucp_tag_t tag) {
    return ucp_tag_recv_nbx(worker_, in_.get(), size, tag, ~ucp_tag_t{0}, &param_);
  }
  void finish(Request request);

  std::string transport_;
  std::size_t size_;
  bool loopback_ = false;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h ep_ = nullptr;
  ucp_request_param_t param_{};
  std::shared_ptr<void> out_;
  std::shared_ptr<void> in_;
};

UcpStack::UcpStack(const std::string& transport, std::size_t size)
    : transport_(transport), size_(size), out_(make_buffer(size)), in_(make_buffer(size)) {
  ucp_config_t* config = nullptr;
  check(ucp_config_read(nullptr, nullptr, &config), "UCP configuration");
  ucs_status_t status = ucp_config_modify(config, "TLS", with_set_up_transport(transport).c_str());
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_TAG;
  if (status == UCS_OK) status = ucp_init(&params, config, &context_);
  ucp_config_release(config);
  check(status, "UCP on " + transport);
  ucp_worker_params_t worker_params{};
  worker_params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker_params.thread_mode = UCS_THREAD_MODE_SINGLE;
  check(ucp_worker_create(context_, &worker_params, &worker_), "UCP worker on " + transport);
}

std::string UcpStack::address() {
  ucp_address_t* address = nullptr;
  std::size_t length = 0;
  check(ucp_worker_get_address(worker_, &address, &length), "worker address");
  std::string copy(reinterpret_cast<const char*>(address), length);
  ucp_worker_release_address(worker_, address);
  return copy;
}

void UcpStack::connect(const std::string& peer, Send, bool loopback) {
  loopback_ = loopback;
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  params.address = reinterpret_cast<const ucp_address_t*>(peer.data());
  check(ucp_ep_create(worker_, &params, &ep_), transport_ + ": connect");
}

void UcpStack::finish(Request request) {
  if (request == nullptr) return;
  if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), transport_);
  ucs_status_t status;
  while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) progress();
  ucp_request_free(request);
  check(status, transport_);
}

void UcpStack::send_all(unsigned count) {
  std::array<Request, kWindow> requests{};
  for (unsigned i = 0; i < count; ++i) {
    if (loopback_) {
      ping();
      continue;
    }
    finish(requests[i % kWindow]);
    requests[i % kWindow] = start_send(size_, kTag);
  }
  for (const Request request : requests) finish(request);
  if (!loopback_) finish(start_receive(8, kDoneTag));
}

void UcpStack::receive_all(unsigned count) {
  std::array<Request, kWindow> requests{};
  const unsigned ahead = std::min(count, kWindow);
  for (unsigned i = 0; i < ahead; ++i) requests[i] = start_receive(size_, kTag);
  for (unsigned i = 0; i < count; ++i) {
    Request& slot = requests[i % kWindow];
    finish(slot);
    slot = i + ahead < count ? start_receive(size_, kTag) : nullptr;
  }
  finish(start_send(8, kDoneTag));
}

void UcpStack::disconnect() {
  if (ep_ == nullptr) return;
  ucp_request_param_t flush{};
  const Request request = ucp_ep_close_nbx(ep_, &flush);
  ep_ = nullptr;
  if (request == nullptr || UCS_PTR_IS_ERR(request)) return;
  const std::uint64_t give_up = monotonic_ns() + 5'000'000'000;
  while (ucp_request_check_status(request) == UCS_INPROGRESS && monotonic_ns() < give_up) {
    progress();
  }
  ucp_request_free(request);
}

}  // namespace

std::unique_ptr<Stack> open_ucp_stack(const std::string& transport, std::size_t size) {
  return std::make_unique<UcpStack>(transport, size);
}

}  // namespace verity::tools::bench
