// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ucp_end.h"

#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace verity::tools {

void check(ucs_status_t status, const std::string& what) {
  if (status != UCS_OK) throw std::runtime_error(what + ": " + ucs_status_string(status));
}

UcpHandles::UcpHandles(const std::string& transports, const std::string& what) {
  ucp_config_t* config = nullptr;
  check(ucp_config_read(nullptr, nullptr, &config), what + ": settings");
  ucs_status_t status = UCS_OK;
  if (!transports.empty()) status = ucp_config_modify(config, "TLS", transports.c_str());
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_TAG;
  if (status == UCS_OK) status = ucp_init(&params, config, &context);
  ucp_config_release(config);
  check(status, what);
  ucp_worker_params_t of_worker{};
  of_worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  of_worker.thread_mode = UCS_THREAD_MODE_SINGLE;
  status = ucp_worker_create(context, &of_worker, &worker);
  if (status != UCS_OK) ucp_cleanup(context);  // no destructor runs after a constructor's exception
  check(status, what + ": worker");
}

UcpHandles::~UcpHandles() {
  if (abandoned) return;
  ucp_worker_destroy(worker);
  ucp_cleanup(context);
}

std::string UcpHandles::address() const {
  ucp_address_t* address = nullptr;
  std::size_t length = 0;
  check(ucp_worker_get_address(worker, &address, &length), "worker address");
  std::string copy(reinterpret_cast<const char*>(address), length);
  ucp_worker_release_address(worker, address);
  return copy;
}

void UcpHandles::connect(const std::string& peer, ucp_ep_params_t params, const std::string& what) {
  params.field_mask |= UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  params.address = reinterpret_cast<const ucp_address_t*>(peer.data());
  check(ucp_ep_create(worker, &params, &ep), what);
}

UcpEnd::UcpEnd(int seconds, bool notices_death)
    : give_up_(Clock::now() + std::chrono::seconds(seconds)), notices_death_(notices_death) {}

UcpEnd::~UcpEnd() {
  if (!ucp_.abandoned && ucp_.ep != nullptr) close();
}

void UcpEnd::connect(const std::string& peer) {
  ucp_ep_params_t params{};
  if (notices_death_) {
    params.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler = {.cb = peer_failed, .arg = this};
  }
  ucp_.connect(peer, params);
}

void UcpEnd::peer_failed(void* end, ucp_ep_h, ucs_status_t status) {
  static_cast<UcpEnd*>(end)->peer_error_ = ucs_status_string(status);
}

void UcpEnd::send(const void* data, std::size_t size, ucp_tag_t tag) {
  const ucp_request_param_t param{};
  wait(ucp_tag_send_nbx(ucp_.ep, data, size, tag, &param));
}

void UcpEnd::receive(void* data, std::size_t size, ucp_tag_t tag) {
  const ucp_request_param_t param{};
  wait(ucp_tag_recv_nbx(ucp_.worker, data, size, tag, ~ucp_tag_t{0}, &param));
}

std::string UcpEnd::describe() {
  char* text = nullptr;
  std::size_t length = 0;
  std::FILE* stream = open_memstream(&text, &length);
  if (stream == nullptr) return {};
  ucp_ep_print_info(ucp_.ep, stream);
  std::fclose(stream);
  std::string description(text, length);
  std::free(text);
  return description;
}

void UcpEnd::close() {
  ucp_request_param_t param{};
  if (notices_death_) {  // a peer that is gone takes nothing any more
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  }
  const auto ep = ucp_.ep;
  ucp_.ep = nullptr;
  peer_error_.clear();
  try {
    wait(ucp_ep_close_nbx(ep, &param));
  } catch (const std::exception&) {  // the messages are through
  }
}

// Where many processes want this processor, the peer may wait for it.
void UcpEnd::progress() {
  if (ucp_worker_progress(ucp_.worker) == 0) (void)sched_yield();
}

void UcpEnd::wait(ucs_status_ptr_t request) {
  if (request == nullptr) return;
  ucp_.abandoned = true;  // unless this returns
  if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), "message");
  ucs_status_t status;
  while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) {
    if (!peer_error_.empty()) throw std::runtime_error(peer_error_);
    if (is_late()) throw std::runtime_error("the message does not arrive");
    progress();
  }
  ucp_request_free(request);
  check(status, "message");
  ucp_.abandoned = false;
}

}  // namespace verity::tools
