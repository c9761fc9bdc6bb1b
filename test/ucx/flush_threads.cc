// SPDX-License-Identifier: BSD-3-Clause
//
// A thread waits until what it sent has been flushed, by each of UCP's calls that wait, and its
// peer is another thread of the process with a worker of its own, whose progress it needs. The UCP
// calls are those of libverity_mpi, linked in.
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "mpi/ucp/attach.h"

namespace {

constexpr size_t kBytes = size_t{16} << 20;  // more than a transport has room for

void check(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return;
  std::printf("%s: %s\n", what, ucs_status_string(status));
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
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
  params.address = address;
  ucp_ep_h ep;
  check(ucp_ep_create(worker, &params, &ep), "ucp_ep_create");
  ucp_worker_release_address(peer, address);
  return ep;
}

// Sends to a thread that progresses its worker, and waits for the flush.
void send(ucp_worker_h worker, ucp_worker_h peer, const char* name,
          const std::function<void(ucp_ep_h)>& flush) {
  static const std::vector<char> data(kBytes, 1);
  std::vector<char> landed(kBytes);
  std::atomic<bool> posted{false};
  ucp_ep_h ep = connect(worker, peer);
  std::thread receiving([&] {
    const ucp_request_param_t param = {};
    const ucs_status_ptr_t received =
        ucp_tag_recv_nbx(peer, landed.data(), kBytes, 7, ~uint64_t{0}, &param);
    posted = true;
    while (UCS_PTR_IS_PTR(received) && ucp_request_check_status(received) == UCS_INPROGRESS)
      ucp_worker_progress(peer);
    if (UCS_PTR_IS_PTR(received)) ucp_request_free(received);
  });
  while (!posted) {}
  const ucp_request_param_t param = {};
  const ucs_status_ptr_t sent = ucp_tag_send_nbx(ep, data.data(), kBytes, 7, &param);
  flush(ep);
  const bool flushed = !UCS_PTR_IS_PTR(sent) || ucp_request_check_status(sent) == UCS_OK;
  if (UCS_PTR_IS_PTR(sent)) ucp_request_free(sent);
  receiving.join();
  if (!flushed || landed != data) std::exit(3);
  std::printf("%s ", name);
  std::fflush(stdout);
}

}  // namespace

int main() {
  alarm(30);
  verity::mpi::enable_ucp_calls(true);
  ucp_config_t* config;
  check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
  check(ucp_config_modify(config, "RNDV_THRESH", "inf"), "ucp_config_modify");
  ucp_params_t params = {};
  params.field_mask = UCP_PARAM_FIELD_FEATURES;
  params.features = UCP_FEATURE_TAG | UCP_FEATURE_RMA;
  ucp_context_h context;
  check(ucp_init(&params, config, &context), "ucp_init");
  ucp_config_release(config);
  ucp_worker_h worker = make_worker(context), peer = make_worker(context);
  send(worker, peer, "ucp_worker_flush",
       [&](ucp_ep_h) { check(ucp_worker_flush(worker), "ucp_worker_flush"); });
  send(worker, peer, "ucp_ep_flush", [](ucp_ep_h ep) { check(ucp_ep_flush(ep), "ucp_ep_flush"); });
  send(worker, peer, "ucp_ep_destroy", [](ucp_ep_h ep) { ucp_ep_destroy(ep); });
  ucp_worker_destroy(worker);
  ucp_worker_destroy(peer);
  ucp_cleanup(context);
  std::printf("flushed\n");
  return 0;
}
