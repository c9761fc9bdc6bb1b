// SPDX-License-Identifier: BSD-3-Clause
//
// A callback in the worker's progress queue.
#ifndef VERITY_UCT_PROGRESS_WORKER_CALLBACK_H
#define VERITY_UCT_PROGRESS_WORKER_CALLBACK_H

#include "uct/compat/ucx.h"

namespace verity::uct {

class WorkerCallback {
 public:
  // `flags`: as of uct_iface_progress_enable().
  void add(uct_priv_worker_t* worker, unsigned flags, ucs_callback_t callback, void* arg) noexcept {
    if (id_ != UCS_CALLBACKQ_ID_NULL) return;
    queue_ = &worker->super.progress_q;
    const bool safe = (flags & UCT_PROGRESS_THREAD_SAFE) != 0;
    id_ = safe ? ucs_callbackq_add_safe(queue_, callback, arg, UCS_CALLBACKQ_FLAG_FAST)
               : ucs_callbackq_add(queue_, callback, arg, UCS_CALLBACKQ_FLAG_FAST);
  }

  void remove(unsigned flags) noexcept {
    if (id_ == UCS_CALLBACKQ_ID_NULL) return;
    const bool safe = (flags & UCT_PROGRESS_THREAD_SAFE) != 0;
    safe ? ucs_callbackq_remove_safe(queue_, id_) : ucs_callbackq_remove(queue_, id_);
    id_ = UCS_CALLBACKQ_ID_NULL;
  }

 private:
  ucs_callbackq_t* queue_ = nullptr;
  uct_worker_cb_id_t id_ = UCS_CALLBACKQ_ID_NULL;
};

}  // namespace verity::uct

#endif
