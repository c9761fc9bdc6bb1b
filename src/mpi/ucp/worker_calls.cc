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

bool threads = false;
bool worker_for_threads = false;  // one was made that several threads may use

thread_local Worker* creating __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

Worker* worker_in_creation() noexcept { return creating; }

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

void enable_ucp_calls(bool several_threads) noexcept {
  threads = several_threads;
  if (threads && worker_for_threads && !Workers::shared) Workers::shared = true;
  make_workers();
  enable_messages();
  UcpWrapper::enable_all();
}

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

VERITY_UCP_WRAP(ucs_status_t, ucp_worker_create,
                (ucp_context_h context, const ucp_worker_params_t* params, ucp_worker_h* worker_p),
                (context, params, worker_p)) {
  const bool has_mode = (params->field_mask & UCP_WORKER_PARAM_FIELD_THREAD_MODE) != 0;
  // Written once, by the first of them, as other threads may be reading it.
  const bool several = has_mode && params->thread_mode != UCS_THREAD_MODE_SINGLE;
  if (several) worker_for_threads = true;
  if (several && threads && !Workers::shared) Workers::shared = true;
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

VERITY_UCP_WRAP(void, ucp_worker_destroy, (ucp_worker_h handle), (handle)) {
  const Locked lock;
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
  static_cast<void>(await(worker, [ep] { return VERITY_NEXT(ucp_disconnect_nb)(ep); }));
}
