// SPDX-License-Identifier: BSD-3-Clause
//
// Two UCP workers of one process, each for several threads, whose UCP calls are those of
// libverity_mpi, linked in.
#ifndef VERITY_TEST_UCX_TWO_UCP_WORKERS_H
#define VERITY_TEST_UCX_TWO_UCP_WORKERS_H

#include <ucp/api/ucp.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "mpi/ucp/attach.h"

namespace verity::test {

// Ends the process with 2.
inline void check(ucs_status_t status, const char* what) {
  if (status == UCS_OK) return;
  std::printf("# %s: %s\n", what, ucs_status_string(status));
  std::exit(2);
}

struct TwoUcpWorkers {
  // No rendezvous: what is sent is flushed by the sender's own progress.
  explicit TwoUcpWorkers(uint64_t features) {
    alarm(30);
    verity::mpi::enable_ucp_calls(true);
    ucp_config_t* config;
    check(ucp_config_read(nullptr, nullptr, &config), "ucp_config_read");
    check(ucp_config_modify(config, "RNDV_THRESH", "inf"), "ucp_config_modify");
    ucp_params_t params = {};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = features;
    check(ucp_init(&params, config, &context), "ucp_init");
    ucp_config_release(config);
    worker = make_worker();
    peer = make_worker();
  }
  ~TwoUcpWorkers() {
    ucp_worker_destroy(worker);
    ucp_worker_destroy(peer);
    ucp_cleanup(context);
  }
  TwoUcpWorkers(const TwoUcpWorkers&) = delete;
  TwoUcpWorkers& operator=(const TwoUcpWorkers&) = delete;

  // From the worker to the peer.
  [[nodiscard]] ucp_ep_h connect(ucp_err_handling_mode_t errors) const {
    ucp_address_t* address;
    size_t length;
    check(ucp_worker_get_address(peer, &address, &length), "ucp_worker_get_address");
    ucp_ep_params_t params = {};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.address = address;
    params.err_mode = errors;
    ucp_ep_h ep;
    check(ucp_ep_create(worker, &params, &ep), "ucp_ep_create");
    ucp_worker_release_address(peer, address);
    return ep;
  }

  ucp_context_h context;
  ucp_worker_h worker, peer;

 private:
  [[nodiscard]] ucp_worker_h make_worker() const {
    ucp_worker_params_t params = {};
    params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
    params.thread_mode = UCS_THREAD_MODE_MULTI;
    ucp_worker_h made;
    check(ucp_worker_create(context, &params, &made), "ucp_worker_create");
    return made;
  }
};

}  // namespace verity::test

#endif
