// SPDX-License-Identifier: BSD-3-Clause
//
// The one T of this process. A child made by fork() has its own, made when it is used first: the
// parent's stays as it was for what the child inherited, and its lock may be held by a thread that
// the child does not have.
#ifndef VERITY_UCT_PROCESS_PER_PROCESS_H
#define VERITY_UCT_PROCESS_PER_PROCESS_H

#include <pthread.h>

#include <atomic>

namespace verity::uct {

// T may have in_child(), which the child calls on its parent's T before anything else. It allocates
// nothing. T() must not call get().
template <typename T>
class PerProcess {
 public:
  // Never destroyed: interfaces may close after static destructors ran.
  [[nodiscard]] static T& get() noexcept {
    T* made = current_.load(std::memory_order_acquire);
    return made != nullptr ? *made : make();
  }
  // nullptr: it was not used.
  [[nodiscard]] static T* made() noexcept { return current_.load(std::memory_order_acquire); }
  // What the parent had at fork(); nullptr: nothing, or this process was not made so.
  [[nodiscard]] static const T* inherited() noexcept {
    return inherited_.load(std::memory_order_acquire);
  }

 private:
  [[gnu::cold]] static T& make() noexcept {
    [[maybe_unused]] static const int handled = pthread_atfork(nullptr, nullptr, forked);
    auto* fresh = new T;
    T* made = nullptr;
    if (current_.compare_exchange_strong(made, fresh)) return *fresh;
    delete fresh;  // another thread was faster
    return *made;
  }
  static void forked() noexcept {
    T* parents = current_.exchange(nullptr);
    if (parents == nullptr) return;  // of a child that did not use its own
    inherited_.store(parents);
    if constexpr (requires { parents->in_child(); }) parents->in_child();
  }

  static inline constinit std::atomic<T*> current_{nullptr};
  static inline constinit std::atomic<T*> inherited_{nullptr};
};

}  // namespace verity::uct

#endif
