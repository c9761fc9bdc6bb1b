// SPDX-License-Identifier: BSD-3-Clause
//
// UCP's calls for workers, interposed: which ones there are, and the lock around those that make
// progress where several threads may. (Sends: sends.cc; receives: receives.cc.)
#include "mpi/ucp/worker_calls.h"

#include <algorithm>

#include "mpi/ucp/abi.h"
#include "mpi/ucp/wrap.h"

namespace verity::mpi {

constinit thread_local Attachments attachments __attribute__((tls_model("initial-exec")));

namespace {

bool (*in_mpi_call)() noexcept = nullptr;

thread_local Worker* creating __attribute__((tls_model("initial-exec"))) = nullptr;

// Whether a worker that is made by a call from there is MPI's, or may be: a library between MPI and
// UCP is known by the call around it. Such a one may also be used for other ends, in other threads.
bool may_be_mpis(const void* return_address) noexcept {
  const Origin origin = origin_of(return_address);
  if (origin == Origin::kMpi || in_mpi_call == nullptr) return true;
  const bool in_call = in_mpi_call();
  if (!in_call && origin == Origin::kOther) return false;
  if (in_call) regard_as_mpi(return_address);
  if (!Workers::shared) Workers::shared = true;
  return true;
}

}  // namespace

Worker* worker_in_creation() noexcept { return creating; }

// UCP's functions that are not wrapped call others that are: with the lock they may do so for
// anybody, without it only where this thread is MPI's now.
bool is_others_call(const void* return_address) noexcept {
  const Origin origin = origin_of(return_address);
  if (origin != Origin::kUcp) return origin == Origin::kOther;
  if (OthersCall::is_any()) return true;
  return !Workers::shared && in_mpi_call != nullptr && !in_mpi_call();
}

namespace {

// The worker of an endpoint, if it is one of ours.
ucp_worker_h worker_of(ucp_ep_h ep) noexcept {
  const ucp_worker_h worker = abi::worker_of(ep);
  const Locked lock;
  return workers().find(worker) != nullptr ? worker : nullptr;
}

// Starts what has to be waited for, and progresses the worker until it is complete.
template <typename Start>
ucs_status_t await(ucp_worker_h worker, Start start) noexcept {
  ucs_status_ptr_t request;
  {
    const Locked lock;
    request = start();
  }
  if (!UCS_PTR_IS_PTR(request)) return UCS_PTR_STATUS(request);
  ucs_status_t status;
  do {
    ucp_worker_progress(worker);
    status = VERITY_NEXT(ucp_request_check_status)(request);
  } while (status == UCS_INPROGRESS);
  ucp_request_free(request);
  return status;
}

}  // namespace

void know_mpi_calls(bool (*in_call)() noexcept) noexcept { in_mpi_call = in_call; }

void on_arrival(void (*arrived)(const uint8_t* signature, size_t length) noexcept,
                size_t least) noexcept {
  workers().on_arrival = arrived;
  workers().least_arrival = std::clamp(least, kHead, kMaxSignature + 1);
}

void on_change(void (*changed)(const ChangedSend& send) noexcept) noexcept {
  workers().on_change = changed;
}
void on_collective(void (*begins)() noexcept) noexcept { workers().on_collective = begins; }

}  // namespace verity::mpi

using namespace verity::mpi;

VERITY_UCP_WRAP_AS(, wrapped_ucp_worker_create, ucs_status_t, ucp_worker_create,
                   (ucp_context_h context, const ucp_worker_params_t* params,
                    ucp_worker_h* worker_p),
                   (context, params, worker_p))
ucs_status_t wrapped_ucp_worker_create(ucp_context_h context, const ucp_worker_params_t* params,
                                       ucp_worker_h* worker_p) {
  if (!may_be_mpis(__builtin_return_address(0))) {
    UcpWrapper::enable(UcpCalls::kWrappedForMpi);
    const OthersCall others;
    return VERITY_OWN(ucp_worker_create)(context, params, worker_p);
  }
  const Locked lock;
  const size_t request_size = abi::request_size(VERITY_NEXT(ucp_context_query), context);
  if (request_size != 0) workers().sends.set_request_size(request_size);
  Worker* worker = creating = workers().create();
  const ucs_status_t status = VERITY_OWN(ucp_worker_create)(context, params, worker_p);
  creating = nullptr;
  if (worker == nullptr) return status;
  worker->handle = worker;  // not UCP's, if it failed
  if (status == UCS_OK) worker->handle = *worker_p;
  if (status != UCS_OK) workers().destroy(worker);
  return status;
}

namespace verity::mpi {

void enable_ucp_calls(bool several_threads) noexcept {
  // Written once, as other threads may be reading it.
  if (several_threads && !Workers::shared) Workers::shared = true;
  if (all_workers != nullptr) return;
  make_workers();
  enable_messages();
  UcpWrapper::enable(UcpCalls::kWrapped);
  const bool others_made_one = VERITY_OWN(ucp_worker_create) != nullptr;
  if (others_made_one) UcpWrapper::enable(UcpCalls::kWrappedForMpi);
}

}  // namespace verity::mpi

VERITY_UCP_WRAP(void, ucp_worker_destroy, (ucp_worker_h handle), (handle)) {
  const Locked lock;
  workers().sends.forget_endpoint(nullptr);  // it closes those that its caller has not
  VERITY_OWN(ucp_worker_destroy)(handle);
  const Worker* worker = workers().find(handle);
  if (worker != nullptr)
    workers().receives_under_way -= worker->receives.under_way();  // they never complete
  workers().destroy(handle);
}

VERITY_UCP_WRAP(unsigned, ucp_worker_progress, (ucp_worker_h handle), (handle)) {
  const Locked lock;
  begin_collective();
  unsigned& in_progress = workers().in_progress;
  ++in_progress;
  const unsigned events = VERITY_OWN(ucp_worker_progress)(handle);
  --in_progress;
  return events;
}

// Calls that wait. What they wait for may need another thread's progress, so that each step of it
// takes the lock for itself; and UCP's own would wait with its lock of the worker.

VERITY_UCP_WRAP(ucs_status_t, ucp_worker_flush, (ucp_worker_h handle), (handle)) {
  return await(handle, [handle] {
    constexpr ucp_request_param_t kPlain = {};
    return VERITY_NEXT(ucp_worker_flush_nbx)(handle, &kPlain);
  });
}

VERITY_UCP_WRAP(ucs_status_t, ucp_ep_flush, (ucp_ep_h ep), (ep)) {
  const ucp_worker_h worker = worker_of(ep);
  if (worker == nullptr) {
    const Locked lock;
    return VERITY_OWN(ucp_ep_flush)(ep);
  }
  return await(worker, [ep] {
    constexpr ucp_request_param_t kPlain = {};
    return VERITY_NEXT(ucp_ep_flush_nbx)(ep, &kPlain);
  });
}

VERITY_UCP_WRAP(void, ucp_ep_destroy, (ucp_ep_h ep), (ep)) {
  const ucp_worker_h worker = worker_of(ep);
  if (worker == nullptr) {
    const Locked lock;
    return VERITY_OWN(ucp_ep_destroy)(ep);
  }
  static_cast<void>(await(worker, [ep] {
    workers().sends.forget_endpoint(ep);
    return VERITY_NEXT(ucp_disconnect_nb)(ep);
  }));
}

// Callbacks of what ends with the endpoint run inside of these, with UCP's lock of the worker.
VERITY_UCP_WRAP(ucs_status_ptr_t, ucp_ep_close_nbx, (ucp_ep_h ep, const ucp_request_param_t* param),
                (ep, param)) {
  const Locked lock;
  workers().sends.forget_endpoint(ep);
  return VERITY_OWN(ucp_ep_close_nbx)(ep, param);
}

VERITY_UCP_WRAP(ucs_status_ptr_t, ucp_ep_close_nb, (ucp_ep_h ep, unsigned mode), (ep, mode)) {
  const Locked lock;
  workers().sends.forget_endpoint(ep);
  return VERITY_OWN(ucp_ep_close_nb)(ep, mode);
}

VERITY_UCP_WRAP(ucs_status_ptr_t, ucp_disconnect_nb, (ucp_ep_h ep), (ep)) {
  const Locked lock;
  workers().sends.forget_endpoint(ep);
  return VERITY_OWN(ucp_disconnect_nb)(ep);
}
