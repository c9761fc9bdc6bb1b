// SPDX-License-Identifier: BSD-3-Clause
//
// Progress of an interface whose worker is idle. A program with several workers may wait on one and
// leave the others alone: Open MPI's one-sided component does, with what its point-to-point
// component sent last still on the way. A raw transport needs no more progress for that. Here a
// frame may have been damaged, its repair needs this side, and the peer whose answer is waited for
// may wait for the repair. And a program that computes answers no peer, while they wait: for
// repairs, for the digests of what they read from it, for one-sided operations. One policy, with
// one set of limits (IdleLimits):
//
//   sibling interfaces  always, where it is safe: each interface serves the others of its thread
//   progress thread     UCX_VERITY_PROGRESS_THREAD: UCX's asynchronous thread serves the interface
//   hash pool           UCX_VERITY_THREADS: threads of the process make large digests (hash_pool.h)
//
// Only links and remote memory access are served. Messages are kept until the interface's own
// progress, like every other upper callback: the program did not call that worker's.
#ifndef VERITY_UCT_IDLE_IDLE_PROGRESS_H
#define VERITY_UCT_IDLE_IDLE_PROGRESS_H

#include <cstdint>

#include "uct/idle/thread_rules.h"

namespace verity::uct {

struct IdleLimits {
  static constexpr uint64_t kIdleAfter =
      1'000'000;  // ns without progress, after which an interface is served
  static constexpr double kThreadEvery = 1e-3;       // s between the looks of the progress thread
  static constexpr uint64_t kThreadSlice = 500'000;  // ns that it works on digests at a time
};

class IdleProgress {
 public:
  // The interface that is served.
  class Served {
   public:
    virtual ~Served() = default;
    // If its worker was not progressed for `idle` ns: serves links and remote memory access,
    // without upper callbacks. False: it was, or has peers in mode off.
    virtual bool serve_idle(uint64_t now, uint64_t idle) noexcept = 0;
    // Works on digests that peers wait for. False: there is nothing more to do now.
    virtual bool serve_digests() noexcept = 0;
  };

  // `rules` are those of the interface, and changed here.
  IdleProgress(Served& served, ThreadRules& rules) noexcept : served_(served), rules_(rules) {}
  ~IdleProgress() { close(); }
  IdleProgress(const IdleProgress&) = delete;
  IdleProgress& operator=(const IdleProgress&) = delete;

  // From here on siblings serve the interface, where they may. Throws std::bad_alloc.
  void open(uct_priv_worker_t* worker);
  [[nodiscard]] static bool is_thread(ucs_async_mode_t mode) noexcept {
    return mode == UCS_ASYNC_MODE_THREAD_SPINLOCK || mode == UCS_ASYNC_MODE_THREAD_MUTEX;
  }
  // Whether UCX has a thread for it; says so on stderr if not.
  [[nodiscard]] bool has_thread() const noexcept;
  // The last step of opening: from here on the thread is at work, if there is memory for it, and
  // the rules are those of one.
  void start_thread() noexcept;
  // Nobody serves it any more. Not with the asynchronous context blocked.
  void close() noexcept;
  void detach_siblings() noexcept;
  void stop_thread() noexcept;

  // Serves the siblings from time to time. `now`: of the last look at the clock.
  void serve_siblings_in_turn(uint64_t now) noexcept;
  // Serves those whose workers were not progressed for `idle` ns.
  void serve_siblings(uint64_t now, uint64_t idle) noexcept;

 private:
  friend struct Siblings;
  void thread_fired() noexcept;

  Served& served_;
  ThreadRules& rules_;
  uct_priv_worker_t* worker_ = nullptr;  // once it is open
  int thread_timer_ = -1;
  uint64_t siblings_at_ = 0;  // ns; when the siblings were served last
};

}  // namespace verity::uct

#endif
