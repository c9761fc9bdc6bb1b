// SPDX-License-Identifier: BSD-3-Clause
#include "uct/hash_pool.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <system_error>

namespace verity::uct {

namespace {

// The program's signals are not for these threads. Faults at memory that the program took away are: a blocked one would end it.
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
  std::vector<std::thread> last;
  {
    const std::lock_guard lock(mutex_);
    if (users_ == 0 || --users_ != 0) return;  // in a child the parent's interfaces were never opened
    wanted_ = 0;
    ends_ = true;
    last.swap(threads_);
  }
  more_.notify_all();
  for (std::thread& thread : last) thread.join();
  const std::lock_guard lock(mutex_);
  ends_ = false;
}

// With the lock. Fewer than wanted will do.
void HashPool::start() noexcept {
  sigset_t before;
  block_signals(&before);
  try {
    threads_.reserve(wanted_);
    while (threads_.size() < wanted_) threads_.emplace_back([this] { work(); });
  } catch (const std::exception&) {
    wanted_ = static_cast<unsigned>(threads_.size());
  }
  (void)pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool HashPool::submit(std::span<rma::HashSlice> slices) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (ends_) return false;
    if (threads_.size() < wanted_) start();
    if (threads_.empty()) return false;
    for (rma::HashSlice& slice : slices) waiting_.push_back(slice.node);
  }
  slices.size() == 1 ? more_.notify_one() : more_.notify_all();
  return true;
}

void HashPool::withdraw(rma::HashSlice& slice) noexcept {
  std::unique_lock lock(mutex_);
  if (users_ == 0) return;  // in a child nobody is at it
  slice.node.unlink();
  // Neither waiting nor done: a thread is in the middle of it, unless it never began.
  fewer_.wait(lock, [&] { return !slice.begun || slice.done.load(std::memory_order_relaxed); });
}

void HashPool::work() noexcept {
  (void)pthread_setname_np(pthread_self(), "verity-hash");
  std::vector<uint8_t> scratch;
  std::unique_lock lock(mutex_);
  for (;;) {
    more_.wait(lock, [this] { return ends_ || waiting_.linked(); });
    if (ends_) return;
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
