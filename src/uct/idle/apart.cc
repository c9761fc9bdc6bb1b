// SPDX-License-Identifier: BSD-3-Clause
// Interfaces whose worker is not progressed. A program with several workers may wait on one and leave
// the others alone: Open MPI's one-sided component does, with what its point-to-point component sent
// last still on the way. A raw transport needs no more progress for that. Here a frame may have been
// damaged, its repair needs this side, and the peer whose answer is waited for may wait for the repair:
// so each interface looks after the others of its thread.
//
// Only the links are served. Messages are kept until the interface's own progress, like every other
// upper callback: the program did not ask for that worker's.
#include <algorithm>
#include <atomic>
#include <mutex>

#include "uct/iface/verity_ep.h"

namespace verity::uct {

namespace {

constexpr uint64_t kLeftAlone = 1'000'000;  // ns without progress

// Programs hand workers from one thread to another, or guard them with locks of their own: nobody may be
// looked after from outside then. So it is done only where the upper layer said that a single thread uses
// each worker, and only as long as one thread has used them all. Every call of the upper layer looks at its
// thread first, and the first one of a second thread waits until nobody is looked after any more.
constinit std::atomic<pthread_t> only_thread{};
constinit std::atomic<bool> several_threads = false;
constinit std::atomic<bool> several_workers = false;  // most programs have one, and take no lock then

struct Neighbours {
  std::mutex mutex;
  std::vector<VerityIface*> ifaces;  // under the lock

  void changed() noexcept {
    const bool one = std::all_of(ifaces.begin(), ifaces.end(), [&](const VerityIface* iface) {
      return iface->worker == ifaces.front()->worker;
    });
    several_workers.store(!one, std::memory_order_relaxed);
  }
};

// Outlives every static destructor. A child made by fork() has its own: the parent's interfaces are not
// its to serve, and the lock may be held by a thread that it does not have.
Neighbours* all_ifaces = new Neighbours;

void forget() noexcept {
  all_ifaces = new Neighbours;
  only_thread = pthread_t{};
  several_threads = several_workers = false;
}

}  // namespace

void VerityIface::note_thread() const noexcept {
  if (!is_neighbour_ || several_threads.load(std::memory_order_relaxed)) return;
  if (only_thread.load(std::memory_order_relaxed) != pthread_self()) [[unlikely]] note_other_thread();
}

// Not in a thread that holds the lock: that is the only one.
void VerityIface::note_other_thread() noexcept {
  const std::lock_guard lock(all_ifaces->mutex);
  pthread_t seen{};
  if (only_thread.compare_exchange_strong(seen, pthread_self()) || seen == pthread_self()) return;
  several_threads.store(true, std::memory_order_relaxed);
}

void VerityIface::enter_neighbours() {
  static const int forks = pthread_atfork(nullptr, nullptr, forget);
  if (is_off() || forks != 0 || worker->thread_mode != UCS_THREAD_MODE_SINGLE) return;
  is_neighbour_ = true;
  note_thread();
  const std::lock_guard lock(all_ifaces->mutex);
  all_ifaces->ifaces.push_back(this);
  all_ifaces->changed();
}

void VerityIface::leave_neighbours() noexcept {
  const std::lock_guard lock(all_ifaces->mutex);
  std::erase(all_ifaces->ifaces, this);
  all_ifaces->changed();
}

void VerityIface::serve_neighbours() noexcept {
  if (!several_workers.load(std::memory_order_relaxed) || several_threads.load(std::memory_order_relaxed)) return;
  const uint64_t now = hub_->now();
  if (now - neighbours_at_ < kLeftAlone) return;
  neighbours_at_ = now;
  serve_siblings(now, kLeftAlone);
}

// Serves the interfaces of this thread's other workers that were last progressed `idle` ns ago or earlier.
void VerityIface::serve_siblings(uint64_t now, uint64_t idle) noexcept {
  if (worker->thread_mode != UCS_THREAD_MODE_SINGLE) return;
  const std::unique_lock lock(all_ifaces->mutex, std::try_to_lock);
  if (!lock.owns_lock() || several_threads.load(std::memory_order_relaxed)) return;
  for (VerityIface* other : all_ifaces->ifaces) {
    if (other->worker != worker && !other->threaded_) other->serve_apart(now, idle);
  }
}

// --- a thread for workers that nobody progresses --------------------------------------------------------------------------------

namespace {

constexpr double kThreadEvery = 1e-3;              // s
constexpr uint64_t kThreadSlice = 500'000;         // ns that it works on digests at a time

}  // namespace

// A program that computes answers nobody, and its peers wait: for repairs, for the digests of what they
// read from it, for one-sided operations. With this option UCX's asynchronous thread looks after its
// interfaces then, in the same way: links and remote memory access, no upper callbacks.
void VerityIface::start_thread() noexcept {
  if (!options().progress_thread || is_off()) return;
  const ucs_async_mode_t mode = async()->mode;
  if (mode != UCS_ASYNC_MODE_THREAD_SPINLOCK && mode != UCS_ASYNC_MODE_THREAD_MUTEX) {
    ucs_warn("ucx-verity: UCX_VERITY_PROGRESS_THREAD: the program's asynchronous context has no thread: not served by one");
    return;
  }
  threaded_ = shared_ = true;
  group_.share(async());
  const auto fired = [](int, ucs_event_set_types_t, void* arg) noexcept { static_cast<VerityIface*>(arg)->serve_alone(); };
  if (ucs_async_add_timer(mode, ucs_time_from_sec(kThreadEvery), fired, this, async(), &thread_timer_) != UCS_OK) {
    threaded_ = false;
    shared_ = has_async_;
    thread_timer_ = -1;
  }
}

void VerityIface::stop_thread() noexcept {
  if (thread_timer_ >= 0) (void)ucs_async_remove_handler(thread_timer_, 1);
  thread_timer_ = -1;
}

// In UCX's thread, with the asynchronous context blocked.
void VerityIface::serve_alone() noexcept {
  if (has_off_links_) return;
  const uint64_t begin = monotonic_ns();
  const uint64_t before = hub_->now();
  serve_apart(begin, kLeftAlone);
  if (hub_->now() == before) return;  // not left alone
  while (onesided_->serve() && monotonic_ns() - begin < kThreadSlice) {
  }
}

// An interface that waits for nothing is read all the same: its peers may wait, for what they ask it.
void VerityIface::serve_apart(uint64_t now, uint64_t idle) noexcept {
  const uint64_t before = hub_->now();
  if (before == 0 || now - before < idle) return;  // never progressed: perhaps about to go to another thread
  if (progressing_ != 0 || upcalls_ != 0) return;
  if (idle != 0 && !threaded_ && !links_.linked()) return;  // a thread and a closing interface serve handshakes too
  const AsyncGuard guard(*this);
  if (deferred_bytes_ < hub_->config().held_limit) {
    apart_ = unusual_ = true;
    (void)uct_iface_progress(lower());
    apart_ = false;
    unusual_ = closing_ || !deferred_.empty() || done_first_ != nullptr;
  }
  for (util::ListNode* node = attention_.next; threaded_ && node != &attention_; node = node->next) {
    UctLink& l = UctLink::in_attention(node);
    if (needs_push(l)) push_stored(l);
  }
  if (onesided_ != nullptr) (void)onesided_->serve();
  (void)hub_->poll();
  (void)hub_->flush_owed();
  hub_->tick(now);
  // What now waits for the worker's progress was to wake it, if it sleeps.
  const bool reads = onesided_ != nullptr && onesided_->must_poll();
  if (deferred_.empty() && done_first_ == nullptr && !attention_.linked() && !reads) return;
  if (timer_fd_ >= 0) {
    set_timer_fd(1);
    timer_set_ = true;
  } else if (event_cb_ != nullptr) {
    event_cb_(event_arg_, 0);
  }
}

}  // namespace verity::uct
