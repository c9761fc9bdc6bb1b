// SPDX-License-Identifier: BSD-3-Clause
//
// Tagged messages through UCP, the context held to one transport.
#include <algorithm>
#include <array>

#include "tools/bench/clock.h"
#include "tools/bench/stack.h"
#include "tools/env/transports.h"
#include "tools/ucp_end.h"

namespace verity::tools::bench {

namespace {

constexpr ucp_tag_t kTag = 7;
constexpr ucp_tag_t kDoneTag = 8;
constexpr unsigned kWindow = 32;

class UcpStack final : public Stack {
 public:
  UcpStack(const std::string& transport, std::size_t size)
      : transport_(transport),
        size_(size),
        out_(make_buffer(size)),
        in_(make_buffer(size)),
        ucp_(with_set_up_transport(transport), "UCP on " + transport) {}

  std::string address() override { return ucp_.address(); }
  void connect(const std::string& peer, Send, bool loopback) override {
    loopback_ = loopback;
    ucp_.connect(peer, {}, transport_ + ": connect");
  }
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
  void progress() override { (void)ucp_worker_progress(ucp_.worker); }
  void disconnect() override;

 private:
  using Request = ucs_status_ptr_t;

  Request start_send(std::size_t size, ucp_tag_t tag) {
    return ucp_tag_send_nbx(ucp_.ep, out_.get(), size, tag, &param_);
  }
  Request start_receive(std::size_t size, ucp_tag_t tag) {
    return ucp_tag_recv_nbx(ucp_.worker, in_.get(), size, tag, ~ucp_tag_t{0}, &param_);
  }
  void finish(Request request);

  std::string transport_;
  std::size_t size_;
  bool loopback_ = false;
  ucp_request_param_t param_{};
  std::shared_ptr<void> out_;
  std::shared_ptr<void> in_;
  UcpHandles ucp_;  // the last: its worker is destroyed before the buffers of what is unfinished
};

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
  if (ucp_.ep == nullptr) return;
  ucp_request_param_t flush{};
  const Request request = ucp_ep_close_nbx(ucp_.ep, &flush);
  ucp_.ep = nullptr;
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
