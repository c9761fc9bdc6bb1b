// SPDX-License-Identifier: BSD-3-Clause
// UCP's own functions, behind the wrappers of the same names.
#ifndef VERITY_MPI_UCP_FUNCTION_H
#define VERITY_MPI_UCP_FUNCTION_H

#include <ucp/api/ucp.h>

#include <atomic>

namespace verity::mpi {

// Looked up at the first call; without a guard, as a static in a function would have: this is on
// the way of each message.
class UcpFunction {
 public:
  constexpr explicit UcpFunction(const char* name) noexcept : name_(name) {}

  // Never nullptr: ends the process when there is no such function.
  template <typename Function>
  [[nodiscard]] Function as() noexcept {
    void* function = function_.load(std::memory_order_relaxed);
    if (function == nullptr) [[unlikely]]
      function = resolve();
    return reinterpret_cast<Function>(function);
  }

 private:
  void* resolve() noexcept;

  std::atomic<void*> function_{nullptr};
  const char* name_;
};

#define VERITY_UCP_FUNCTIONS(X) \
  X(ucp_am_send_nb)             \
  X(ucp_am_send_nbx)            \
  X(ucp_context_query)          \
  X(ucp_disconnect_nb)          \
  X(ucp_ep_close_nb)            \
  X(ucp_ep_close_nbx)           \
  X(ucp_ep_destroy)             \
  X(ucp_ep_flush)               \
  X(ucp_ep_flush_nbx)           \
  X(ucp_request_cancel)         \
  X(ucp_request_check_status)   \
  X(ucp_request_free)           \
  X(ucp_request_release)        \
  X(ucp_request_test)           \
  X(ucp_tag_msg_recv_nb)        \
  X(ucp_tag_msg_recv_nbx)       \
  X(ucp_tag_probe_nb)           \
  X(ucp_tag_recv_nb)            \
  X(ucp_tag_recv_nbr)           \
  X(ucp_tag_recv_nbx)           \
  X(ucp_tag_recv_request_test)  \
  X(ucp_tag_send_nb)            \
  X(ucp_tag_send_nbr)           \
  X(ucp_tag_send_nbx)           \
  X(ucp_tag_send_sync_nb)       \
  X(ucp_tag_send_sync_nbx)      \
  X(ucp_worker_create)          \
  X(ucp_worker_destroy)         \
  X(ucp_worker_flush)           \
  X(ucp_worker_flush_nbx)       \
  X(ucp_worker_progress)

#define VERITY_DECLARE(function) extern constinit UcpFunction next_##function;
VERITY_UCP_FUNCTIONS(VERITY_DECLARE)
#undef VERITY_DECLARE

// UCP's own function.
#define VERITY_NEXT(function) (::verity::mpi::next_##function.as<decltype(&::function)>())

}  // namespace verity::mpi

#endif
