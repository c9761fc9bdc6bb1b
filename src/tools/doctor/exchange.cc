// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/exchange.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

namespace verity::tools {

namespace {

using Clock = std::chrono::steady_clock;

constexpr ucp_tag_t kMessage = 1;
constexpr ucp_tag_t kVerdict = 2;
constexpr auto kLongest = std::chrono::seconds(20);

void check(ucs_status_t status, const char* what) {
  if (status != UCS_OK)
    throw std::runtime_error(std::string(what) + ": " + ucs_status_string(status));
}

// One process's end.
class End {
 public:
  End() : give_up_(Clock::now() + kLongest) {
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_TAG;
    ucp_config_t* config = nullptr;
    check(ucp_config_read(nullptr, nullptr, &config), "UCX's settings");
    const ucs_status_t status = ucp_init(&params, config, &context_);
    ucp_config_release(config);
    check(status, "UCX");
    ucp_worker_params_t worker{};
    worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    worker.thread_mode = UCS_THREAD_MODE_SINGLE;
    check(ucp_worker_create(context_, &worker, &worker_), "UCX worker");
  }
  ~End() {
    if (ep_ != nullptr) close();
    if (worker_ != nullptr) ucp_worker_destroy(worker_);
    if (context_ != nullptr) ucp_cleanup(context_);
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  std::string address() {
    ucp_address_t* address = nullptr;
    std::size_t length = 0;
    check(ucp_worker_get_address(worker_, &address, &length), "worker address");
    std::string copy(reinterpret_cast<const char*>(address), length);
    ucp_worker_release_address(worker_, address);
    return copy;
  }
  void connect(const std::string& peer) {
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    params.address = reinterpret_cast<const ucp_address_t*>(peer.data());
    check(ucp_ep_create(worker_, &params, &ep_), "connect");
  }
  void send(const void* data, std::size_t size, ucp_tag_t tag) {
    const ucp_request_param_t param{};
    wait(ucp_tag_send_nbx(ep_, data, size, tag, &param));
  }
  void receive(void* data, std::size_t size, ucp_tag_t tag) {
    const ucp_request_param_t param{};
    wait(ucp_tag_recv_nbx(worker_, data, size, tag, ~ucp_tag_t{0}, &param));
  }
  std::string describe() {
    char* text = nullptr;
    std::size_t length = 0;
    std::FILE* stream = open_memstream(&text, &length);
    if (stream == nullptr) return {};
    ucp_ep_print_info(ep_, stream);
    std::fclose(stream);
    std::string description(text, length);
    std::free(text);
    return description;
  }
  void close() {
    const ucp_request_param_t param{};
    const auto ep = ep_;
    ep_ = nullptr;
    try {
      wait(ucp_ep_close_nbx(ep, &param));
    } catch (const std::exception&) {  // the message is through
    }
  }

 private:
  void wait(ucs_status_ptr_t request) {
    if (request == nullptr) return;
    if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), "message");
    ucs_status_t status;
    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) {
      if (Clock::now() > give_up_) throw std::runtime_error("the message does not arrive");
      (void)ucp_worker_progress(worker_);
    }
    ucp_request_free(request);
    check(status, "message");
  }

  Clock::time_point give_up_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h ep_ = nullptr;
};

void write_text(int socket, const std::string& text) {
  const std::uint64_t size = text.size();
  if (::send(socket, &size, sizeof(size), MSG_NOSIGNAL) != static_cast<ssize_t>(sizeof(size)) ||
      ::send(socket, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error("the other process ended");
  }
}

std::string read_text(int socket) {
  std::uint64_t size = 0;
  if (recv(socket, &size, sizeof(size), MSG_WAITALL) != static_cast<ssize_t>(sizeof(size)) ||
      size > (1U << 20)) {
    throw std::runtime_error("the other process ended");
  }
  std::string text(size, '\0');
  if (recv(socket, text.data(), size, MSG_WAITALL) != static_cast<ssize_t>(size))
    throw std::runtime_error("the other process ended");
  return text;
}

std::vector<std::uint8_t> pattern(std::size_t bytes) {
  std::vector<std::uint8_t> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(i * 131 + (i >> 8));
  return data;
}

void exchange_addresses(End* end, int socket) {
  write_text(socket, end->address());
  end->connect(read_text(socket));
}

void take_message(int socket, std::size_t bytes) {
  End end;
  exchange_addresses(&end, socket);
  std::vector<std::uint8_t> data(bytes);
  end.receive(data.data(), data.size(), kMessage);
  const std::vector<std::uint8_t> wanted = pattern(bytes);
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < bytes; ++i) wrong += data[i] != wanted[i] ? 1 : 0;
  end.send(&wrong, sizeof(wrong), kVerdict);
}

void give_message(int socket, std::size_t bytes, Exchange* result) {
  End end;
  exchange_addresses(&end, socket);
  const std::vector<std::uint8_t> data = pattern(bytes);
  end.send(data.data(), data.size(), kMessage);
  std::uint64_t wrong = 0;
  end.receive(&wrong, sizeof(wrong), kVerdict);
  result->wrong = wrong;
  result->endpoint = end.describe();  // final, as the answer came
}

[[noreturn]] void be_peer(int socket, std::size_t bytes) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int status = EXIT_SUCCESS;
  try {
    take_message(socket, bytes);
  } catch (const std::exception&) {  // the other side notices
    status = EXIT_FAILURE;
  }
  std::exit(status);  // and not _exit(): the plugin finishes its health file at exit
}

}  // namespace

Exchange exchange_message(std::size_t bytes) {
  Exchange result;
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return {"no socket pair", 0, ""};
  const pid_t child = fork();
  if (child == 0) {
    ::close(sockets[0]);
    be_peer(sockets[1], bytes);
  }
  ::close(sockets[1]);
  try {
    if (child < 0) throw std::runtime_error("no second process");
    give_message(sockets[0], bytes, &result);
  } catch (const std::exception& error) { result.error = error.what(); }
  ::close(sockets[0]);
  if (child > 0) waitpid(child, nullptr, 0);
  return result;
}

}  // namespace verity::tools
