// SPDX-License-Identifier: BSD-3-Clause
#include "ucp_peer.h"

#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace verity::test {

UcpPeer::UcpPeer(Channel& channel, const Setup& setup) {
  ucp_config_t* config;
  check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
  ucp_params_t params = {};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = setup.features;
  ucs_status_t status = ucp_init(&params, config, &context_);
  ucp_config_release(config);
  check(status, "ucp_init");
  ucp_worker_params_t worker_params = {};
  check(ucp_worker_create(context_, &worker_params, &worker_), "ucp_worker_create");

  ucp_address_t* address;
  size_t length;
  check(ucp_worker_get_address(worker_, &address, &length), "ucp_worker_get_address");
  const auto* bytes = reinterpret_cast<const uint8_t*>(address);
  Bytes theirs = channel.exchange(Bytes(bytes, bytes + length));
  ucp_worker_release_address(worker_, address);

  ucp_ep_params_t ep_params = {};
  ep_params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  ep_params.address = reinterpret_cast<const ucp_address_t*>(theirs.data());
  if (setup.error_handling) {
    ep_params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    ep_params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    ep_params.err_handler.cb = on_error;
    ep_params.err_handler.arg = this;
  }
  check(ucp_ep_create(worker_, &ep_params, &ep_), "ucp_ep_create");
}

void UcpPeer::close() {
  if (ep_ == nullptr) return;
  ucp_request_param_t param = {};
  if (failure_ != UCS_OK) {
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  }
  ucs_status_ptr_t request = ucp_ep_close_nbx(ep_, &param);
  ep_ = nullptr;
  if (UCS_PTR_IS_PTR(request)) {
    double limit = seconds_now() + 20;
    while (ucp_request_check_status(request) == UCS_INPROGRESS && seconds_now() < limit) {
      ucp_worker_progress(worker_);
    }
    ucp_request_free(request);
  }
}

UcpPeer::~UcpPeer() {
  close();
  if (worker_ != nullptr) { ucp_worker_destroy(worker_); }
  if (context_ != nullptr) { ucp_cleanup(context_); }
}

void UcpPeer::on_error(void* self, ucp_ep_h, ucs_status_t status) {
  static_cast<UcpPeer*>(self)->failure_ = status;
}

ucs_status_t UcpPeer::send(const void* data, size_t length, uint64_t tag, void** request_p) {
  ucp_request_param_t param = {};
  ucs_status_ptr_t request = ucp_tag_send_nbx(ep_, data, length, tag, &param);
  *request_p = UCS_PTR_IS_PTR(request) ? request : nullptr;
  return UCS_PTR_IS_PTR(request) ? UCS_INPROGRESS : UCS_PTR_STATUS(request);
}

ucs_status_t UcpPeer::receive(void* data, size_t length, uint64_t tag, void** request_p) {
  ucp_request_param_t param = {};
  ucs_status_ptr_t request = ucp_tag_recv_nbx(worker_, data, length, tag, ~0ull, &param);
  *request_p = UCS_PTR_IS_PTR(request) ? request : nullptr;
  return UCS_PTR_IS_PTR(request) ? UCS_INPROGRESS : UCS_PTR_STATUS(request);
}

ucs_status_t UcpPeer::wait(void* request, double seconds, const std::function<void()>& idle) {
  if (request == nullptr) { return UCS_OK; }
  double limit = seconds_now() + seconds;
  ucs_status_t status;
  unsigned rounds = 0;
  while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) {
    if (ucp_worker_progress(worker_) == 0 && idle &&
        ucp_request_check_status(request) == UCS_INPROGRESS) {
      idle();
    }
    if (++rounds % 1024 == 0) { sched_yield(); }
    require(seconds_now() < limit, "a request never completed");
  }
  ucp_request_free(request);
  return status;
}

void start_pair(const std::function<int(Channel& channel, int role)>& body, pid_t* pids) {
  int fds[2];
  require(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0, "socketpair");
  for (int role = 0; role < 2; ++role) {
    std::fflush(stdout);
    pids[role] = fork();
    if (pids[role] != 0) { continue; }
    close(fds[1 - role]);
    int status = 1;
    try {
      Channel channel(fds[role]);
      status = body(channel, role);
    } catch (const Skip& skip) {
      std::printf("# side %d: %s\n", role, skip.what());
      status = 77;
    } catch (const std::exception& error) { std::printf("# side %d: %s\n", role, error.what()); }
    std::fflush(stdout);
    std::exit(status);
  }
  close(fds[0]);
  close(fds[1]);
}

}  // namespace verity::test
