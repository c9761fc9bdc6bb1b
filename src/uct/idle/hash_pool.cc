// SPDX-License-Identifier: BSD-3-Clause
#include "uct/idle/hash_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <time.h>

#include <algorithm>
#include <system_error>

namespace verity::uct {

namespace {

// The program's signals are not for these threads. Faults at memory that the program took away are:
// a blocked one would end it.
void block_signals(sigset_t* before) noexcept {
  sigset_t all;
  sigfillset(&all);
  for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) sigdelset(&all, own);
  (void)pthread_sigmask(SIG_SETMASK, &all, before);
}

}  // namespace

void HashPool::open(unsigned threads) noexcept {
  const std::lock_guard lock(mutex_);
  ++users_;
  wanted_ = std::max(wanted_, threads);
}

void HashPool::close() noexcept {
  std::unique_ptr<Crew> last;
  {
    const std::lock_guard lock(mutex_);
    if (users_ == 0 || --users_ != 0)
      return;  // in a child the parent's interfaces were never opened
    wanted_ = 0;
    last = std::move(crew_);
    if (last == nullptr) return;
    last->ends = true;
  }
  more_.notify_all();
  for (std::thread& thread : last->threads) thread.join();
}

// With the lock. Fewer than wanted will do.
void HashPool::start() noexcept {
  sigset_t before;
  block_signals(&before);
  try {
    if (crew_ == nullptr) crew_ = std::make_unique<Crew>();
    Crew& crew = *crew_;
    crew.threads.reserve(wanted_);
    while (crew.threads.size() < wanted_) crew.threads.emplace_back([this, &crew] { work(crew); });
  } catch (const std::exception&) {
    wanted_ = crew_ == nullptr ? 0 : static_cast<unsigned>(crew_->threads.size());
  }
  (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool HashPool::submit(std::span<rma::HashSlice> slices) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (wanted_ != 0 && (crew_ == nullptr || crew_->threads.size() < wanted_)) start();
    if (crew_ == nullptr || crew_->threads.empty()) return false;
    for (rma::HashSlice& slice : slices) {
      slice.taken_by = this;
      waiting_.push_back(slice.node);
    }
  }
  slices.size() == 1 ? more_.notify_one() : more_.notify_all();
  return true;
}

void HashPool::withdraw(rma::HashSlice& slice) noexcept {
  if (slice.taken_by != this)
    return;  // the parent's, in a child made by fork(): no thread is at it
  std::unique_lock lock(mutex_);
  slice.node.unlink();
  // Neither waiting nor done: a thread is in the middle of it, unless it never began.
  fewer_.wait(lock, [&] { return !slice.begun || slice.done.load(std::memory_order_relaxed); });
}

void HashPool::give_way() noexcept {
  const int policy = sched_getscheduler(0);
  if (policy != SCHED_FIFO && policy != SCHED_RR) return;  // the others get their turn
  const timespec moment{0, 50'000};
  (void)nanosleep(&moment, nullptr);
}

void HashPool::work(const Crew& crew) noexcept {
  (void)pthread_setname_np(pthread_self(), "verity-hash");
  std::vector<uint8_t> scratch;
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [&] { return crew.ends || waiting_.linked(); });
    if (crew.ends) return;
    rma::HashSlice& slice = *VERITY_CONTAINER_OF(waiting_.next, rma::HashSlice, node);
    slice.node.unlink();
    slice.begun = true;
    lock.unlock();
    slice.status = make_(slice, scratch);
    lock.lock();
    slice.done.store(true, std::memory_order_release);  // whose it is hereafter: not to be touched
    fewer_.notify_all();
  }
}

}  // namespace verity::uct
