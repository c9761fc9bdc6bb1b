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

#include "uct/verity_ep.h"

namespace verity::uct {

namespace {

constexpr uint64_t kLeftAlone = 1'000'000;  // ns without progress

// An interface is served by the thread that progresses it, and only where the upper layer said that a
// single thread uses the worker.
struct Neighbours {
  std::mutex mutex;
  std::vector<VerityIface*> ifaces;   // under the lock
  std::atomic<bool> several = false;  // workers: most programs have one, and take no lock then

  void changed() noexcept {
    const bool one = std::all_of(ifaces.begin(), ifaces.end(), [&](const VerityIface* iface) {
      return iface->worker == ifaces.front()->worker;
    });
    several.store(!one, std::memory_order_relaxed);
  }
};

Neighbours& neighbours() noexcept {
  static Neighbours* const instance = new Neighbours;  // outlives every static destructor
  return *instance;
}

}  // namespace

void VerityIface::enter_neighbours() {
  if (is_off() || worker->thread_mode != UCS_THREAD_MODE_SINGLE) return;
  owner_ = pthread_self();
  Neighbours& all = neighbours();
  const std::lock_guard lock(all.mutex);
  all.ifaces.push_back(this);
  all.changed();
}

void VerityIface::leave_neighbours() noexcept {
  Neighbours& all = neighbours();
  const std::lock_guard lock(all.mutex);
  std::erase(all.ifaces, this);
  all.changed();
}

void VerityIface::serve_neighbours() noexcept {
  if (worker->thread_mode != UCS_THREAD_MODE_SINGLE) return;
  owner_ = pthread_self();
  Neighbours& all = neighbours();
  const uint64_t now = hub_->now();
  if (!all.several.load(std::memory_order_relaxed) || now - neighbours_at_ < kLeftAlone) return;
  neighbours_at_ = now;
  const std::unique_lock lock(all.mutex, std::try_to_lock);
  if (!lock.owns_lock()) return;
  for (VerityIface* other : all.ifaces) {
    if (other->worker != worker && pthread_equal(other->owner_, owner_) != 0) other->serve_apart(now);
  }
}

void VerityIface::serve_apart(uint64_t now) noexcept {
  if (progressing_ != 0 || upcalls_ != 0 || now - hub_->now() < kLeftAlone) return;
  const AsyncGuard guard(*this);
  if (!hub_->owes() && hub_->next_deadline() == UINT64_MAX) return;
  if (deferred_bytes_ < hub_->config().held_limit) {
    apart_ = unusual_ = true;
    (void)uct_iface_progress(lower());
    apart_ = false;
    unusual_ = closing_ || !deferred_.empty();
  }
  (void)hub_->poll();
  (void)hub_->flush_owed();
  hub_->tick(now);
}

}  // namespace verity::uct
