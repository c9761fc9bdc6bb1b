// SPDX-License-Identifier: BSD-3-Clause
//
// Two processes that talk through UCP, with the transports that UCX_TLS names.
#ifndef VERITY_TEST_UCX_UCP_PEER_H
#define VERITY_TEST_UCX_UCP_PEER_H

#include <sys/types.h>
#include <ucp/api/ucp.h>

#include <functional>

#include "peer.h"

namespace verity::test {

// A context, a worker and an endpoint to the other process. Not copyable.
class UcpPeer {
 public:
  struct Setup {
    uint64_t features = UCP_FEATURE_TAG;
    bool error_handling = false;
  };
  UcpPeer(Channel& channel, const Setup& setup);
  ~UcpPeer();
  UcpPeer(const UcpPeer&) = delete;
  UcpPeer& operator=(const UcpPeer&) = delete;

  [[nodiscard]] ucp_worker_h worker() const { return worker_; }
  [[nodiscard]] ucp_ep_h ep() const { return ep_; }
  // What the error handler got, UCS_OK while it was not called.
  [[nodiscard]] ucs_status_t failure() const { return failure_; }

  // Nonblocking tagged operations: UCS_OK when complete at once, else a request in *request_p.
  ucs_status_t send(const void* data, size_t length, uint64_t tag, void** request_p);
  ucs_status_t receive(void* data, size_t length, uint64_t tag, void** request_p);
  // Calls `idle` between rounds of progress until the request is done (nullptr: done already).
  // Returns its status. Throws after `seconds`.
  ucs_status_t wait(void* request, double seconds, const std::function<void()>& idle = {});
  // Closes the endpoint: waits for what was sent, unless it failed.
  void close();

 private:
  static void on_error(void* self, ucp_ep_h ep, ucs_status_t status);
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h ep_ = nullptr;
  ucs_status_t failure_ = UCS_OK;
};

// Runs `body` in two new processes with a channel between them; returns their pids in pids[2].
// Their exit status is the body's result, 1 after Failure (printed), 77 after Skip.
void start_pair(const std::function<int(Channel& channel, int role)>& body, pid_t* pids);

}  // namespace verity::test

#endif
