// SPDX-License-Identifier: BSD-3-Clause
//
// A callback in the worker's queue, once for what was received, which receives: so does UCX's tcp
// with what it had read when two connections become one. Like all of the transport it must be kept
// from running in two threads at a time: where UCX's thread may progress the interface, with the
// asynchronous context blocked.
#include <cstdio>
#include <cstdlib>

#include "fault/iface.h"
#include "uct/compat/callbacks.h"

namespace verity::fault {
namespace {

// Whether this thread keeps UCX's out, where that can be seen.
bool is_kept_out(ucs_async_context_t& async) noexcept {
  return async.mode != UCS_ASYNC_MODE_THREAD_SPINLOCK ||
         async.thread.spinlock.owner == pthread_self();
}

}  // namespace

void FaultIface::queue_progress() noexcept {
  constexpr unsigned kMost = 2000;  // more than one call of progress receives
  if (queue_id_ != UCS_CALLBACKQ_ID_NULL) {
    if (++waited_ < kMost) { return; }
    std::fprintf(stderr, "UCX_FAULT_QUEUE: the worker's queue is not served\n");
    std::abort();
  }
  waited_ = 0;
  const auto run = [](void* arg) noexcept -> unsigned {
    auto& self = *static_cast<FaultIface*>(arg);
    self.leave_queue();
    if (!is_kept_out(*self.worker->async)) {
      std::fprintf(stderr, "UCX_FAULT_QUEUE: UCX's thread may be at work on the interface\n");
      std::abort();
    }
    return uct_iface_progress(self.lower());
  };
  queue_id_ = uct::add_callback(worker, run, this, uct::CallbackFrom::kAnyThread);
}

void FaultIface::leave_queue() noexcept {
  if (queue_id_ == UCS_CALLBACKQ_ID_NULL) { return; }
  uct::remove_callback(worker, queue_id_, uct::CallbackFrom::kAnyThread);
  queue_id_ = UCS_CALLBACKQ_ID_NULL;
}

}  // namespace verity::fault
