// SPDX-License-Identifier: BSD-3-Clause
//
// A thread closes an endpoint at once, and the callback of a send that ends with it frees its
// request, while another thread progresses the worker: neither may wait for the other. The UCP
// calls are those of libverity_mpi, linked in. UCX_TLS names transports with endpoint errors.
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "mpi/ucp/attach.h"

namespace {

// The peer makes no progress: the last of them wait for room.
constexpr unsigned kMessages = 5000;
constexpr size_t kBytes = 4000;

std::atomic<bool> closes{false};
std::atomic<bool> called{false};      // a callback, inside of the closing call
std::atomic<bool> progresses{false};  // the other thread is about to

void check(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return;
  std::printf("# %s: %s\n", what, ucs_status_string(status));
  std::exit(2);
}

ucp_worker_h make_worker(ucp_context_h context) {
  ucp_worker_params_t params = {};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_MULTI;
  ucp_worker_h worker;
  check(ucp_worker_create(context, &params, &worker), "ucp_worker_create");
  return worker;
}

ucp_ep_h connect(ucp_worker_h worker, ucp_worker_h peer) {
  ucp_address_t* address;
  size_t length;
  check(ucp_worker_get_address(peer, &address, &length), "ucp_worker_get_address");
  ucp_ep_params_t params = {};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
  params.address = address;
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  ucp_ep_h ep;
  check(ucp_ep_create(worker, &params, &ep), "ucp_ep_create");
  ucp_worker_release_address(peer, address);
  return ep;
}

// Inside of the closing call it has UCP's lock of the worker.
void ended(void* request, ucs_status_t, void*) {
  if (closes && !called.exchange(true)) {
    while (!progresses) {}
    usleep(200'000);
  }
  ucp_request_free(request);
}

// Messages until the endpoint has no room.
void send_many(ucp_worker_h worker, ucp_ep_h ep) {
  static const std::vector<char> bytes(kBytes);
  ucp_request_param_t param = {};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK;
  param.cb.send = ended;
  for (unsigned i = 0; i < kMessages; ++i) {
    const ucs_status_ptr_t sent = ucp_tag_send_nbx(ep, bytes.data(), bytes.size(), 1, &param);
    if (UCS_PTR_IS_ERR(sent)) check(UCS_PTR_STATUS(sent), "ucp_tag_send_nbx");
    ucp_worker_progress(worker);
  }
}

}  // namespace

int main() {
  alarm(30);
  verity::mpi::enable_ucp_calls(true);
  ucp_params_t params = {};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_TAG;
  ucp_context_h context;
  check(ucp_init(&params, nullptr, &context), "ucp_init");
  ucp_worker_h worker = make_worker(context);
  ucp_worker_h peer = make_worker(context);
  ucp_ep_h ep = connect(worker, peer);
  for (int i = 0; i < 10'000; ++i) {
    ucp_worker_progress(worker);
    ucp_worker_progress(peer);
  }
  send_many(worker, ep);
  std::thread other([&] {
    while (!called) {}
    progresses = true;
    ucp_worker_progress(worker);
  });
  ucp_request_param_t force = {};
  force.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  force.flags = UCP_EP_CLOSE_FLAG_FORCE;
  closes = true;
  const ucs_status_ptr_t closed = ucp_ep_close_nbx(ep, &force);
  const bool inside = called.exchange(true);
  other.join();
  while (UCS_PTR_IS_PTR(closed) && ucp_request_check_status(closed) == UCS_INPROGRESS)
    ucp_worker_progress(worker);
  if (UCS_PTR_IS_PTR(closed)) ucp_request_free(closed);
  ucp_worker_destroy(worker);
  ucp_worker_destroy(peer);
  ucp_cleanup(context);
  std::printf("closed, the callback came %s the call\n", inside ? "inside of" : "after");
  return 0;
}
