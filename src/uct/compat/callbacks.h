// SPDX-License-Identifier: BSD-3-Clause
//
// Callbacks in the progress queue of a worker. Up to 1.15 the caller chose the fast kind by a flag;
// from 1.16 on there is no other.
#ifndef VERITY_UCT_COMPAT_CALLBACKS_H
#define VERITY_UCT_COMPAT_CALLBACKS_H

#include "uct/compat/ucx.h"

namespace verity::uct {

enum class CallbackFrom {
  kOwnThread,  // the one that progresses the worker
  kAnyThread,
};

[[nodiscard]] inline uct_worker_cb_id_t add_callback(uct_priv_worker_t* worker,
                                                     ucs_callback_t callback, void* arg,
                                                     CallbackFrom from) noexcept {
  ucs_callbackq_t* queue = &worker->super.progress_q;
#if VERITY_UCX_AT_LEAST(1, 16)
  return from == CallbackFrom::kAnyThread ? ucs_callbackq_add_safe(queue, callback, arg)
                                          : ucs_callbackq_add(queue, callback, arg);
#else
  constexpr unsigned kFlags = UCS_CALLBACKQ_FLAG_FAST;
  return from == CallbackFrom::kAnyThread ? ucs_callbackq_add_safe(queue, callback, arg, kFlags)
                                          : ucs_callbackq_add(queue, callback, arg, kFlags);
#endif
}

inline void remove_callback(uct_priv_worker_t* worker, uct_worker_cb_id_t id,
                            CallbackFrom from) noexcept {
  ucs_callbackq_t* queue = &worker->super.progress_q;
  if (from == CallbackFrom::kAnyThread) {
    (void)ucs_callbackq_remove_safe(queue, id);
  } else {
    (void)ucs_callbackq_remove(queue, id);
  }
}

}  // namespace verity::uct

#endif
