// SPDX-License-Identifier: BSD-3-Clause
//
// Two threads share a worker: one sleeps on its event descriptor whenever there is nothing to do,
// the other one sends to that worker itself, reads and writes its memory, and flushes. What the
// calls leave for progress must wake the sleeping thread.
//
//   own_worker [ROUNDS]
//
// Prints 'rounds N wrong N slept N'; exit status 0, 1 wrong or never asleep, 3 an operation did not
// end for 10 s.
#include <poll.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "flow.h"
#include "peer.h"

namespace verity::test {
namespace {

constexpr double kSeconds = 10;
constexpr unsigned kHandler = 1;
constexpr useconds_t kPause = 300;  // us, after which the other thread is asleep

class OwnWorker {
 public:
  explicit OwnWorker(size_t most) : memory_(most), received_(most) {
    ucp_config_t* config;
    check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_WAKEUP;
    check(ucp_init(&params, config, &context_), "ucp_init");
    ucp_config_release(config);
    ucp_worker_params_t worker_params{};
    worker_params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker_params.thread_mode = UCS_THREAD_MODE_MULTI;
    check(ucp_worker_create(context_, &worker_params, &worker_), "ucp_worker_create");
    ucp_am_handler_param_t handler{};
    handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                         UCP_AM_HANDLER_PARAM_FIELD_ARG;
    handler.id = kHandler;
    handler.cb = arrived;
    handler.arg = this;
    check(ucp_worker_set_am_recv_handler(worker_, &handler), "ucp_worker_set_am_recv_handler");
    check(ucp_worker_get_efd(worker_, &fd_), "ucp_worker_get_efd");
    connect();
  }

  // The whole life of the thread that sleeps.
  void progress() {
    while (!end_) {
      while (ucp_worker_progress(worker_) != 0) {}
      const ucs_status_t status = ucp_worker_arm(worker_);
      if (status == UCS_ERR_BUSY) continue;
      check(status, "ucp_worker_arm");
      pollfd waiting = {fd_, POLLIN, 0};
      slept_ += ::poll(&waiting, 1, -1) > 0;
    }
  }
  void end() {
    end_ = true;
    check(ucp_worker_signal(worker_), "ucp_worker_signal");
  }

  void send(const Bytes& data, bool rendezvous) {
    arrived_ = false;
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = rendezvous ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
    wait(ucp_am_send_nbx(ep_, kHandler, nullptr, 0, data.data(), data.size(), &param), "send");
    until([&] { return arrived_.load(); }, "the message");
    compare(data, received_.data());
  }
  void write(const Bytes& data, bool of_worker) {
    const ucp_request_param_t param{};
    wait(ucp_put_nbx(ep_, data.data(), data.size(), address(), rkey_, &param), "put");
    wait(of_worker ? ucp_worker_flush_nbx(worker_, &param) : ucp_ep_flush_nbx(ep_, &param),
         "flush");
    compare(data, memory_.data());
  }
  void read(size_t length) {
    const ucp_request_param_t param{};
    Bytes data(length);
    wait(ucp_get_nbx(ep_, data.data(), length, address(), rkey_, &param), "get");
    compare(data, memory_.data());
  }

  [[nodiscard]] unsigned slept() const { return slept_; }
  [[nodiscard]] unsigned wrong() const { return wrong_; }

 private:
  [[nodiscard]] uint64_t address() const { return reinterpret_cast<uint64_t>(memory_.data()); }

  void connect() {
    ucp_address_t* own;
    size_t length;
    check(ucp_worker_get_address(worker_, &own, &length), "ucp_worker_get_address");
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address = own;
    check(ucp_ep_create(worker_, &params, &ep_), "ucp_ep_create");
    ucp_worker_release_address(worker_, own);
    ucp_mem_map_params_t map{};
    map.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    map.address = memory_.data();
    map.length = memory_.size();
    ucp_mem_h handle;
    check(ucp_mem_map(context_, &map, &handle), "ucp_mem_map");
    void* packed;
    check(ucp_rkey_pack(context_, handle, &packed, &length), "ucp_rkey_pack");
    check(ucp_ep_rkey_unpack(ep_, packed, &rkey_), "ucp_ep_rkey_unpack");
    ucp_rkey_buffer_release(packed);
  }

  // In progress, or in the other thread's send.
  static ucs_status_t arrived(void* arg, const void*, size_t, void* data, size_t length,
                              const ucp_am_recv_param_t* message) {
    auto* self = static_cast<OwnWorker*>(arg);
    if ((message->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) == 0) {
      std::memcpy(self->received_.data(), data, length);
      self->arrived_ = true;
      return UCS_OK;
    }
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
    param.user_data = self;
    param.cb.recv_am = [](void* request, ucs_status_t status, size_t, void* user) {
      check(status, "ucp_am_recv_data_nbx");
      static_cast<OwnWorker*>(user)->arrived_ = true;
      ucp_request_free(request);
    };
    const ucs_status_ptr_t request =
        ucp_am_recv_data_nbx(self->worker_, data, self->received_.data(), length, &param);
    if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), "ucp_am_recv_data_nbx");
    if (request == nullptr) self->arrived_ = true;
    return UCS_INPROGRESS;
  }

  // Makes no progress: that is the other thread's.
  template <typename Done>
  static void until(Done&& done, const char* what) {
    for (const double begin = seconds_now(); !done(); ::usleep(10)) {
      if (seconds_now() - begin < kSeconds) continue;
      std::fprintf(stderr, "HANG: %s has not ended\n", what);
      std::_Exit(3);
    }
  }
  static void wait(ucs_status_ptr_t request, const char* what) {
    if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), what);
    if (request == nullptr) return;
    until([&] { return ucp_request_check_status(request) != UCS_INPROGRESS; }, what);
    check(ucp_request_check_status(request), what);
    ucp_request_free(request);
  }
  void compare(const Bytes& data, const uint8_t* there) {
    wrong_ += std::memcmp(data.data(), there, data.size()) != 0;
  }

  Bytes memory_, received_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h ep_ = nullptr;
  ucp_rkey_h rkey_ = nullptr;
  int fd_ = -1;
  std::atomic<bool> arrived_ = false;
  std::atomic<bool> end_ = false;
  unsigned slept_ = 0;
  unsigned wrong_ = 0;
};

int run(int rounds) {
  const std::vector<size_t> sizes = {1, 100, 3000, 40000, 300000};
  OwnWorker own(sizes.back());
  std::thread sleeper([&] { own.progress(); });
  for (int i = 0; i < rounds; ++i) {
    const auto number = static_cast<size_t>(i);
    Bytes data(sizes[number % sizes.size()]);
    fill(data.data(), data.size(), 0, number);
    if (i % 3 != 0) ::usleep(kPause);
    switch (number / sizes.size() % 5) {
      case 0: own.send(data, false); break;
      case 1: own.send(data, true); break;
      case 2: own.write(data, false); break;
      case 3: own.write(data, true); break;
      default: own.read(data.size());
    }
  }
  own.end();
  sleeper.join();
  std::printf("rounds %d wrong %u slept %u\n", rounds, own.wrong(), own.slept());
  std::fflush(stdout);
  std::_Exit(own.wrong() == 0 && own.slept() != 0 ? 0 : 1);
}

}  // namespace
}  // namespace verity::test

int main(int argc, char** argv) { return verity::test::run(argc > 1 ? std::atoi(argv[1]) : 500); }
