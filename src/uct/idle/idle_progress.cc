// SPDX-License-Identifier: BSD-3-Clause
#include "uct/idle/idle_progress.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "uct/process/clock.h"

namespace verity::uct {

// Programs hand workers from one thread to another, or guard them with locks of their own: no
// sibling may serve another then. So it is done only where the upper layer said that a single
// thread uses each worker, and only as long as one thread has used them all. Every call of the
// upper layer notes its thread first, and the first one of a second thread waits until no sibling
// is served any more.
constinit std::atomic<ThreadId> only_thread = 0;
constinit std::atomic<bool> several_threads = false;

namespace {

constinit std::atomic<bool> several_workers =
    false;  // most programs have one, and take no lock then

}  // namespace

struct Siblings {
  std::mutex mutex;
  std::vector<IdleProgress*> all;  // under the lock

  void changed() noexcept {
    const bool one = std::all_of(all.begin(), all.end(), [&](const IdleProgress* member) {
      return member->worker_ == all.front()->worker_;
    });
    several_workers.store(!one, std::memory_order_relaxed);
  }
};

namespace {

// Outlives every static destructor. A child made by fork() has its own: the parent's interfaces are
// not its to serve, and the lock may be held by a thread that it does not have.
Siblings* siblings = new Siblings;

void forget() noexcept {
  siblings = new Siblings;
  only_thread = 0;
  several_threads = several_workers = false;
}

}  // namespace

// Not in a thread that holds the lock: that is the only one.
void note_other_thread() noexcept {
  const std::lock_guard lock(siblings->mutex);
  ThreadId seen = 0;
  if (only_thread.compare_exchange_strong(seen, this_thread()) || seen == this_thread()) return;
  several_threads.store(true, std::memory_order_relaxed);
}

void IdleProgress::open(uct_priv_worker_t* worker) {
  static const int forks = pthread_atfork(nullptr, nullptr, forget);
  worker_ = worker;
  if (forks != 0 || worker->thread_mode != UCS_THREAD_MODE_SINGLE) return;
  rules_.is_sibling = true;
  note_thread(rules_);
  const std::lock_guard lock(siblings->mutex);
  siblings->all.push_back(this);
  siblings->changed();
}

void IdleProgress::detach_siblings() noexcept {
  if (!rules_.is_sibling) return;
  const std::lock_guard lock(siblings->mutex);
  std::erase(siblings->all, this);
  siblings->changed();
}

void IdleProgress::close() noexcept {
  detach_siblings();
  stop_thread();
}

void IdleProgress::serve_siblings_in_turn(uint64_t now) noexcept {
  if (!several_workers.load(std::memory_order_relaxed) ||
      several_threads.load(std::memory_order_relaxed))
    return;
  if (now - siblings_at_ < IdleLimits::kIdleAfter) return;
  siblings_at_ = now;
  serve_siblings(now, IdleLimits::kIdleAfter);
}

void IdleProgress::serve_siblings(uint64_t now, uint64_t idle) noexcept {
  if (worker_ == nullptr || worker_->thread_mode != UCS_THREAD_MODE_SINGLE) return;
  const std::unique_lock lock(siblings->mutex, std::try_to_lock);
  if (!lock.owns_lock() || several_threads.load(std::memory_order_relaxed)) return;
  for (IdleProgress* other : siblings->all) {
    if (other->worker_ == worker_ || other->rules_.threaded) continue;
    (void)other->served_.serve_idle(now, idle);
  }
}

bool IdleProgress::has_thread() const noexcept {
  if (is_thread(rules_.async->mode)) return true;
  ucs_warn(
      "ucx-verity: UCX_VERITY_PROGRESS_THREAD: the program's asynchronous context has no thread: "
      "not served by one");
  return false;
}

void IdleProgress::start_thread() noexcept {
  rules_.set_threaded();
  const auto fired = [](int, ucs_event_set_types_t, void* arg) noexcept {
    static_cast<IdleProgress*>(arg)->thread_fired();
  };
  const ucs_time_t interval = timer_interval(IdleLimits::kThreadEvery);
  if (ucs_async_add_timer(rules_.async->mode, interval, fired, this, rules_.async,
                          &thread_timer_) != UCS_OK)
    thread_timer_ = -1;
}

void IdleProgress::stop_thread() noexcept {
  if (thread_timer_ >= 0) (void)ucs_async_remove_handler(thread_timer_, 1);
  thread_timer_ = -1;
}

// In UCX's thread, with the asynchronous context blocked.
void IdleProgress::thread_fired() noexcept {
  const uint64_t begin = monotonic_ns();
  if (!served_.serve_idle(begin, IdleLimits::kIdleAfter)) return;
  while (served_.serve_digests() && monotonic_ns() - begin < IdleLimits::kThreadSlice) {}
}

}  // namespace verity::uct
