// SPDX-License-Identifier: BSD-3-Clause
//
// Tagged messages through UCP, the context held to one transport.
#include <ucp/api/ucp.h>

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

#include "tools/bench/buffer.h"
#include "tools/bench/clock.h"
#include "tools/bench/stack.h"
#include "tools/env/transports.h"

namespace verity::tools::bench {

namespace {

constexpr ucp_tag_t kTag = 7;
constexpr ucp_tag_t kDoneTag = 8;
constexpr unsigned kWindow = 32;

void check(ucs_status_t status, const std::string& what) {
  if (status != UCS_OK) throw std::runtime_error(what + ": " + ucs_status_string(status));
}

class UcpStack final : public Stack {
 public:
  explicit UcpStack(const std::string& transport);
  ~UcpStack() override;

  std::string address() override;
  void connect(const std::string& peer) override;
  Capability capability() const override {
    const std::size_t any = std::numeric_limits<std::size_t>::max();
    return {.max_short = any, .max_bcopy = any, .max_zcopy = any};
  }
  void lead(const Batch& batch, std::vector<std::uint64_t>* ticks_out) override;
  void follow(const Batch& batch) override;
  void idle() override { progress(); }
  void loop_back(const Batch& batch, std::vector<std::uint64_t>* ticks_out) override;
  void disconnect() override;

 private:
  using Request = ucs_status_ptr_t;

  void progress() { (void)ucp_worker_progress(worker_); }
  Request start_send(std::size_t size, ucp_tag_t tag) {
    return ucp_tag_send_nbx(ep_, send_buffer_.data(), size, tag, &param_);
  }
  Request start_receive(std::size_t size, ucp_tag_t tag) {
    return ucp_tag_recv_nbx(worker_, receive_buffer_.data(), size, tag, ~ucp_tag_t{0}, &param_);
  }
  void finish(Request request);
  // A receive that is posted before the send that makes the peer answer.
  void ping(std::size_t size);
  void pong(std::size_t size);
  void send_window(std::size_t size, unsigned count);
  void receive_window(std::size_t size, unsigned count);
  void send_word() { finish(start_send(8, kDoneTag)); }
  void receive_word() { finish(start_receive(8, kDoneTag)); }
  void grow(std::size_t size) {
    (void)send_buffer_.grow(size);
    (void)receive_buffer_.grow(size);
  }

  std::string transport_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h ep_ = nullptr;
  ucp_request_param_t param_{};
  Buffer send_buffer_;
  Buffer receive_buffer_;
};

UcpStack::UcpStack(const std::string& transport) : transport_(transport) {
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

UcpStack::~UcpStack() {
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

std::string UcpStack::address() {
  ucp_address_t* address = nullptr;
  std::size_t length = 0;
  check(ucp_worker_get_address(worker_, &address, &length), "worker address");
  std::string copy(reinterpret_cast<const char*>(address), length);
  ucp_worker_release_address(worker_, address);
  return copy;
}

void UcpStack::connect(const std::string& peer) {
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

void UcpStack::ping(std::size_t size) {
  const Request receive = start_receive(size, kTag);
  const Request send = start_send(size, kTag);
  finish(receive);
  finish(send);
}

void UcpStack::pong(std::size_t size) {
  finish(start_receive(size, kTag));
  finish(start_send(size, kTag));
}

void UcpStack::send_window(std::size_t size, unsigned count) {
  std::array<Request, kWindow> requests{};
  for (unsigned i = 0; i < count; ++i) {
    Request& slot = requests[i % kWindow];
    finish(slot);
    slot = start_send(size, kTag);
  }
  for (const Request request : requests) finish(request);
}

void UcpStack::receive_window(std::size_t size, unsigned count) {
  std::array<Request, kWindow> requests{};
  const unsigned ahead = std::min(count, kWindow);
  for (unsigned i = 0; i < ahead; ++i) requests[i] = start_receive(size, kTag);
  for (unsigned i = 0; i < count; ++i) {
    Request& slot = requests[i % kWindow];
    finish(slot);
    slot = i + ahead < count ? start_receive(size, kTag) : nullptr;
  }
}

void UcpStack::lead(const Batch& batch, std::vector<std::uint64_t>* ticks_out) {
  grow(batch.size);
  if (batch.test == Test::kRate) {
    if (batch.warm_up > 0) {
      send_window(batch.size, batch.warm_up);
      receive_word();
    }
    const std::uint64_t start = ticks();
    send_window(batch.size, batch.count);
    receive_word();
    ticks_out->push_back(ticks() - start);
    return;
  }
  for (unsigned i = 0; i < batch.warm_up; ++i) ping(batch.size);
  std::uint64_t last = ticks();
  for (unsigned i = 0; i < batch.count; ++i) {
    ping(batch.size);
    const std::uint64_t now = ticks();
    ticks_out->push_back(now - last);
    last = now;
  }
}

void UcpStack::follow(const Batch& batch) {
  grow(batch.size);
  if (batch.test == Test::kRate) {
    if (batch.warm_up > 0) {
      receive_window(batch.size, batch.warm_up);
      send_word();
    }
    receive_window(batch.size, batch.count);
    send_word();
    return;
  }
  for (unsigned i = 0; i < batch.warm_up + batch.count; ++i) pong(batch.size);
}

void UcpStack::loop_back(const Batch& batch, std::vector<std::uint64_t>* ticks_out) {
  grow(batch.size);
  for (unsigned i = 0; i < batch.warm_up; ++i) ping(batch.size);
  const std::uint64_t start = ticks();
  std::uint64_t last = start;
  for (unsigned i = 0; i < batch.count; ++i) {
    ping(batch.size);
    if (batch.test == Test::kRate) continue;
    const std::uint64_t now = ticks();
    ticks_out->push_back(now - last);
    last = now;
  }
  if (batch.test == Test::kRate) ticks_out->push_back(ticks() - start);
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

std::unique_ptr<Stack> open_ucp_stack(const std::string& transport) {
  return std::make_unique<UcpStack>(transport);
}

}  // namespace verity::tools::bench
