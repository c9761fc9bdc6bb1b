// SPDX-License-Identifier: BSD-3-Clause
//
// Which threads may be at work on an interface, and the guard that keeps the others out.
//
//   the program's    one at a time, by UCX's rules
//   asynchronous     UCX's own: where the lower transport calls back from there (has_async), and
//   where it serves an interface
//                    whose worker is idle (threaded, idle_progress.h). Blocked by the asynchronous
//                    context.
//   siblings         the thread of another interface, while all workers of the process belong to
//   one thread (is_sibling)
#ifndef VERITY_UCT_IDLE_THREAD_RULES_H
#define VERITY_UCT_IDLE_THREAD_RULES_H

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "uct/compat/ucx.h"

namespace verity::uct {

struct ThreadRules {
  ucs_async_context_t* async = nullptr;
  bool has_async = false;   // the lower transport calls us in the asynchronous thread
  bool threaded = false;    // that thread also serves the interface while its worker is idle
  bool shared = false;      // either of them
  bool is_sibling = false;  // other interfaces of its thread may serve it

  void set_threaded() noexcept { threaded = shared = true; }
  // With `context`, and for a lower transport that can receive there (`receives`). In UCX's
  // asynchronous mode "signal" it is no thread but a handler, which may interrupt anything, be it
  // the allocation of memory: nothing of this layer runs there. Our handlers are then synchronous
  // ones, and the lower transport keeps what comes for them until it is progressed.
  void set_async(ucs_async_context_t* context, bool receives) noexcept {
    async = context;
    has_async = shared = receives && context->mode != UCS_ASYNC_MODE_SIGNAL;
  }
};

// Names the calling thread among those that are alive; never 0. Where the compiler can, without a
// call: this is in the path of each message.
using ThreadId = uintptr_t;
[[nodiscard]] inline ThreadId this_thread() noexcept {
#if __has_builtin(__builtin_thread_pointer)
  return reinterpret_cast<ThreadId>(__builtin_thread_pointer());
#else
  return (ThreadId)pthread_self();  // a number or a pointer
#endif
}

// The one thread that has used all sibling interfaces so far, 0: none has; see idle_progress.cc.
extern constinit std::atomic<ThreadId> only_thread;
extern constinit std::atomic<bool> several_threads;
[[gnu::cold]] void note_other_thread() noexcept;

// A call of the upper layer, in this thread.
inline void note_thread(const ThreadRules& rules) noexcept {
  if (!rules.is_sibling || several_threads.load(std::memory_order_relaxed)) return;
  if (only_thread.load(std::memory_order_relaxed) != this_thread()) [[unlikely]]
    note_other_thread();
}

// Keeps UCX's asynchronous thread out where it may be at work on the interface. Elsewhere it notes
// the thread, for the siblings: one comparison.
class AsyncGuard {
 public:
  explicit AsyncGuard(const ThreadRules& rules) noexcept
      : async_(rules.shared ? rules.async : nullptr) {
    if (async_ != nullptr) [[unlikely]] {
      block_async(async_);
    } else {
      note_thread(rules);
    }
  }
  ~AsyncGuard() {
    if (async_ != nullptr) unblock_async(async_);
  }
  AsyncGuard(const AsyncGuard&) = delete;
  AsyncGuard& operator=(const AsyncGuard&) = delete;

 private:
  ucs_async_context_t* async_;
};

}  // namespace verity::uct

#endif
