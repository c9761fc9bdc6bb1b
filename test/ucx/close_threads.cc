// SPDX-License-Identifier: BSD-3-Clause
//
// A thread closes an endpoint at once, and the callback of a send that ends with it frees its
// request, while another thread progresses the worker: neither may wait for the other. The UCP
// calls are those of libverity_mpi, linked in. UCX_TLS names transports with endpoint errors.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include "two_ucp_workers.h"

namespace {

using verity::test::check;
using verity::test::TwoUcpWorkers;

// The peer makes no progress: the last of them wait for room.
constexpr unsigned kMessages = 5000;
constexpr size_t kBytes = 4000;

std::atomic<bool> closes{false};
std::atomic<bool> called{false};      // a callback, inside of the closing call
std::atomic<bool> progresses{false};  // the other thread is about to

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
  const TwoUcpWorkers workers(UCP_FEATURE_TAG);
  const ucp_worker_h worker = workers.worker;
  ucp_ep_h ep = workers.connect(UCP_ERR_HANDLING_MODE_PEER);
  for (int i = 0; i < 10'000; ++i) {
    ucp_worker_progress(worker);
    ucp_worker_progress(workers.peer);
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
  std::printf("closed, the callback came %s the call\n", inside ? "inside of" : "after");
  return inside ? 0 : 1;  // else nothing was shown
}
