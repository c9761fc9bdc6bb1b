// SPDX-License-Identifier: BSD-3-Clause
// The functions behind the wrappers: those that the program would have called without us.
#ifndef VERITY_MPI_INTERPOSE_NEXT_H
#define VERITY_MPI_INTERPOSE_NEXT_H

#include <atomic>
#include <cstdint>

namespace verity::mpi {

// The definition of `name` that comes after this library: another tool's, or the MPI library's.
// nullptr: there is none.
[[nodiscard]] void* find_next(const char* name) noexcept;
// The data object of that name which the whole process uses: a program may hold the MPI library's
// (a copy relocation).
[[nodiscard]] void* find_data(const char* name) noexcept;

// One argument of any C function with integers and pointers only, as wide as a register: what is
// handed on so keeps all of its bits, whichever MPI library's types it has.
using Word = uintptr_t;

// The function after `name`, looked up at the first call.
class Next {
 public:
  constexpr explicit Next(const char* name) noexcept : name_(name) {}

  // Where nothing is checked: the function, once forward() was called. Else nullptr.
  template <typename Function>
  [[nodiscard]] Function forwarded() const noexcept {
    return reinterpret_cast<Function>(forwarded_.load(std::memory_order_relaxed));
  }
  // From now on nothing is done around it. Returns as().
  template <typename Function>
  [[nodiscard, gnu::cold]] Function forward() noexcept {
    const auto function = as<Function>();
    forwarded_.store(reinterpret_cast<void*>(function), std::memory_order_relaxed);
    return function;
  }
  // Never nullptr: ends the process when there is no such function.
  template <typename Function>
  [[nodiscard]] Function as() noexcept {
    void* function = function_.load(std::memory_order_acquire);
    if (function == nullptr) [[unlikely]]
      function = resolve();
    return reinterpret_cast<Function>(function);
  }

 private:
  [[gnu::cold]] void* resolve() noexcept;

  std::atomic<void*> forwarded_{nullptr};
  std::atomic<void*> function_{nullptr};
  const char* name_;
};

}  // namespace verity::mpi

#endif
