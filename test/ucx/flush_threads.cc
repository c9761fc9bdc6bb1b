// SPDX-License-Identifier: BSD-3-Clause
//
// A thread waits until what it sent has been flushed, by each of UCP's calls that wait, and its
// peer is another thread of the process with a worker of its own, whose progress it needs. The UCP
// calls are those of libverity_mpi, linked in.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "two_ucp_workers.h"

namespace {

using verity::test::check;
using verity::test::TwoUcpWorkers;

constexpr size_t kBytes = size_t{16} << 20;  // more than a transport has room for

// Sends to a thread that progresses its worker, and waits for the flush.
void send(const TwoUcpWorkers& workers, const char* name,
          const std::function<void(ucp_ep_h)>& flush) {
  const ucp_worker_h peer = workers.peer;
  static const std::vector<char> data(kBytes, 1);
  std::vector<char> landed(kBytes);
  std::atomic<bool> posted{false};
  std::atomic<bool> flush_ended{false};
  ucp_ep_h ep = workers.connect(UCP_ERR_HANDLING_MODE_NONE);
  std::thread receiving([&] {
    const ucp_request_param_t param = {};
    const ucs_status_ptr_t received =
        ucp_tag_recv_nbx(peer, landed.data(), kBytes, 7, ~uint64_t{0}, &param);
    posted = true;
    while (!flush_ended ||
           (UCS_PTR_IS_PTR(received) && ucp_request_check_status(received) == UCS_INPROGRESS))
      ucp_worker_progress(peer);
    if (UCS_PTR_IS_PTR(received)) ucp_request_free(received);
  });
  while (!posted) {}
  const ucp_request_param_t param = {};
  const ucs_status_ptr_t sent = ucp_tag_send_nbx(ep, data.data(), kBytes, 7, &param);
  flush(ep);
  flush_ended = true;
  const bool flushed = !UCS_PTR_IS_PTR(sent) || ucp_request_check_status(sent) == UCS_OK;
  if (UCS_PTR_IS_PTR(sent)) ucp_request_free(sent);
  receiving.join();
  if (!flushed || landed != data) std::exit(3);
  std::printf("%s ", name);
  std::fflush(stdout);
}

}  // namespace

int main() {
  const TwoUcpWorkers workers(UCP_FEATURE_TAG | UCP_FEATURE_RMA);
  send(workers, "ucp_worker_flush",
       [&](ucp_ep_h) { check(ucp_worker_flush(workers.worker), "ucp_worker_flush"); });
  send(workers, "ucp_ep_flush", [](ucp_ep_h ep) { check(ucp_ep_flush(ep), "ucp_ep_flush"); });
  send(workers, "ucp_ep_destroy", [](ucp_ep_h ep) { ucp_ep_destroy(ep); });
  std::printf("flushed\n");
  return 0;
}
