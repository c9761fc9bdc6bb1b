// SPDX-License-Identifier: BSD-3-Clause
//
// A callback in the worker's progress queue.
#ifndef VERITY_UCT_PROGRESS_WORKER_CALLBACK_H
#define VERITY_UCT_PROGRESS_WORKER_CALLBACK_H

#include "uct/compat/callbacks.h"

namespace verity::uct {

class WorkerCallback {
 public:
  // `flags`: as of uct_iface_progress_enable().
  void add(uct_priv_worker_t* worker, unsigned flags, ucs_callback_t callback, void* arg) noexcept {
    if (id_ != UCS_CALLBACKQ_ID_NULL) return;
    worker_ = worker;
    id_ = add_callback(worker, callback, arg, caller(flags));
  }

  void remove(unsigned flags) noexcept {
    if (id_ == UCS_CALLBACKQ_ID_NULL) return;
    remove_callback(worker_, id_, caller(flags));
    id_ = UCS_CALLBACKQ_ID_NULL;
  }

 private:
  static CallbackFrom caller(unsigned flags) noexcept {
    const bool any = (flags & UCT_PROGRESS_THREAD_SAFE) != 0;
    return any ? CallbackFrom::kAnyThread : CallbackFrom::kOwnThread;
  }

  uct_priv_worker_t* worker_ = nullptr;
  uct_worker_cb_id_t id_ = UCS_CALLBACKQ_ID_NULL;
};

}  // namespace verity::uct

#endif
