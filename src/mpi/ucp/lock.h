// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_MPI_UCP_LOCK_H
#define VERITY_MPI_UCP_LOCK_H

#include <time.h>

#include <atomic>

namespace verity::mpi {

// Recursive. A thread that waits polls, as for UCX's own lock of a worker, and is not woken: for
// that unlock() would take a system call in which it already runs. But an MPI library may yet write
// to the request that its UCP call has returned: Open MPI's MPI_Bsend notes there what the
// completion callback frees, and another thread's progress must not call that before.
class PolledLock {
 public:
  void lock() noexcept {
    if (owner_.load(std::memory_order_relaxed) != self()) take();
    ++depth_;
  }
  void unlock() noexcept {
    if (--depth_ == 0) owner_.store(nullptr, std::memory_order_release);
  }

 private:
  // Before it sleeps between two polls: the owner may be waiting for this processor.
  static constexpr unsigned kPolls = 1000;
  static constexpr long kSleep = 10000;  // ns

  // No two threads have the same.
  [[nodiscard]] static const void* self() noexcept {
    static constinit thread_local char own __attribute__((tls_model("initial-exec"))) = 0;
    return &own;
  }
  [[gnu::noinline]] void take() noexcept {
    for (unsigned polls = 1; !try_take(); ++polls) {
      if (polls % kPolls != 0) {
        pause();
        continue;
      }
      const timespec duration{0, kSleep};
      nanosleep(&duration, nullptr);
    }
  }
  static void pause() noexcept {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
  }
  [[nodiscard]] bool try_take() noexcept {
    const void* none = nullptr;
    return owner_.load(std::memory_order_relaxed) == nullptr &&
           owner_.compare_exchange_weak(none, self(), std::memory_order_acquire,
                                        std::memory_order_relaxed);
  }

  std::atomic<const void*> owner_{nullptr};
  unsigned depth_ = 0;  // the owner's
};

}  // namespace verity::mpi

#endif
