// SPDX-License-Identifier: BSD-3-Clause
//
// The context that keeps UCX's asynchronous thread, or signal, out of what the program's threads
// are at. The same from 1.13 to 1.23; assertions make the mutex longer, and what is behind it.
#ifndef VERITY_UCT_COMPAT_INTERNAL_ASYNC_H
#define VERITY_UCT_COMPAT_INTERNAL_ASYNC_H

#include <atomic>

#include "uct/compat/internal/log.h"

extern "C" {
int ucs_get_tid(void);

// The begin of it. UCX alone makes contexts, and what follows is its own.
struct ucs_async_context {
  union {
    union {
      ucs_recursive_spinlock_t spinlock;
      struct {
        pthread_mutex_t lock;
#if VERITY_UCX_ASSERTIONS
        pthread_t owner;
        unsigned count;
#endif
      } mutex;
    } thread;
    struct {
      pid_t tid;
      int block_count;
      pthread_t pthread;
      timer_t timer;
    } signal;
    int poll_block;
  };
  ucs_async_mode_t mode;
};
}

namespace verity::uct {

// As UCX's own transports do it; a thread may block a context more than once.
inline void block_async(ucs_async_context_t* async) noexcept {
  if (async->mode == UCS_ASYNC_MODE_THREAD_SPINLOCK) {
    ucs_recursive_spin_lock(&async->thread.spinlock);
  } else if (async->mode == UCS_ASYNC_MODE_THREAD_MUTEX) {
    auto& mutex = async->thread.mutex;
    (void)pthread_mutex_lock(&mutex.lock);
#if VERITY_UCX_ASSERTIONS
    if (mutex.count++ == 0) mutex.owner = pthread_self();
#endif
  } else if (async->mode == UCS_ASYNC_MODE_SIGNAL) {
    VERITY_UCX_ASSERT(async->signal.tid == ucs_get_tid(), "blocked by another thread");
    ++async->signal.block_count;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  } else {
    ++async->poll_block;
  }
}

inline void unblock_async(ucs_async_context_t* async) noexcept {
  if (async->mode == UCS_ASYNC_MODE_THREAD_SPINLOCK) {
    ucs_recursive_spin_unlock(&async->thread.spinlock);
  } else if (async->mode == UCS_ASYNC_MODE_THREAD_MUTEX) {
    auto& mutex = async->thread.mutex;
#if VERITY_UCX_ASSERTIONS
    VERITY_UCX_ASSERT(mutex.owner == pthread_self(), "unblocked by a thread that did not block");
    if (--mutex.count == 0) mutex.owner = UCS_ASYNC_PTHREAD_ID_NULL;
#endif
    (void)pthread_mutex_unlock(&mutex.lock);
  } else if (async->mode == UCS_ASYNC_MODE_SIGNAL) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    --async->signal.block_count;
  } else {
    --async->poll_block;
  }
}

}  // namespace verity::uct

#endif
