// SPDX-License-Identifier: BSD-3-Clause
#include "tools/ucp_end.h"

#include <sched.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace verity::tools {

namespace {

void check(ucs_status_t status, const char* what) {
  if (status != UCS_OK)
    throw std::runtime_error(std::string(what) + ": " + ucs_status_string(status));
}

}  // namespace

UcpEnd::UcpEnd(int seconds, bool notices_death)
    : give_up_(Clock::now() + std::chrono::seconds(seconds)), notices_death_(notices_death) {
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

UcpEnd::~UcpEnd() {
  if (failed_) return;
  if (ep_ != nullptr) close();
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

std::string UcpEnd::address() {
  ucp_address_t* address = nullptr;
  std::size_t length = 0;
  check(ucp_worker_get_address(worker_, &address, &length), "worker address");
  std::string copy(reinterpret_cast<const char*>(address), length);
  ucp_worker_release_address(worker_, address);
  return copy;
}

void UcpEnd::connect(const std::string& peer) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  params.address = reinterpret_cast<const ucp_address_t*>(peer.data());
  if (notices_death_) {
    params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler = {.cb = peer_failed, .arg = this};
  }
  check(ucp_ep_create(worker_, &params, &ep_), "connect");
}

void UcpEnd::peer_failed(void* end, ucp_ep_h, ucs_status_t status) {
  static_cast<UcpEnd*>(end)->peer_error_ = ucs_status_string(status);
}

void UcpEnd::send(const void* data, std::size_t size, ucp_tag_t tag) {
  const ucp_request_param_t param{};
  wait(ucp_tag_send_nbx(ep_, data, size, tag, &param));
}

void UcpEnd::receive(void* data, std::size_t size, ucp_tag_t tag) {
  const ucp_request_param_t param{};
  wait(ucp_tag_recv_nbx(worker_, data, size, tag, ~ucp_tag_t{0}, &param));
}

std::string UcpEnd::describe() {
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

void UcpEnd::close() {
  ucp_request_param_t param{};
  if (notices_death_) {  // a peer that is gone takes nothing any more
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  }
  const auto ep = ep_;
  ep_ = nullptr;
  peer_error_.clear();
  try {
    wait(ucp_ep_close_nbx(ep, &param));
  } catch (const std::exception&) {  // the messages are through
  }
}

// Where many processes want this processor, the peer may wait for it.
void UcpEnd::progress() {
  if (ucp_worker_progress(worker_) == 0) (void)sched_yield();
}

void UcpEnd::wait(ucs_status_ptr_t request) {
  if (request == nullptr) return;
  failed_ = true;  // unless this returns
  if (UCS_PTR_IS_ERR(request)) check(UCS_PTR_STATUS(request), "message");
  ucs_status_t status;
  while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS) {
    if (!peer_error_.empty()) throw std::runtime_error(peer_error_);
    if (is_late()) throw std::runtime_error("the message does not arrive");
    progress();
  }
  ucp_request_free(request);
  check(status, "message");
  failed_ = false;
}

}  // namespace verity::tools
