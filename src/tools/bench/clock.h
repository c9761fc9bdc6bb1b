// SPDX-License-Identifier: BSD-3-Clause
//
// A clock that costs a few nanoseconds, its scale, and what reading it costs.
#ifndef VERITY_TOOLS_BENCH_CLOCK_H
#define VERITY_TOOLS_BENCH_CLOCK_H

#include <time.h>

#include <algorithm>
#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace verity::tools::bench {

inline std::uint64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

// Cycles of a constant-rate counter, the same for all processes of a host.
inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __rdtsc();
#elif defined(__aarch64__)
  std::uint64_t value;
  asm volatile("mrs %0, cntvct_el0" : "=r"(value));
  return value;
#else
  return monotonic_ns();
#endif
}

// Measured once (20 ms).
class TickScale {
 public:
  TickScale() {
    const std::uint64_t start_ns = monotonic_ns();
    const std::uint64_t start = ticks();
    while (monotonic_ns() - start_ns < 20'000'000) {
      const std::uint64_t first = ticks();
      overhead_ = std::min(overhead_, ticks() - first);
    }
    const std::uint64_t stop = ticks();
    ns_per_tick_ = static_cast<double>(monotonic_ns() - start_ns) /
                   static_cast<double>(std::max<std::uint64_t>(1, stop - start));
  }

  // Of an interval between two readings; the cost of one reading is taken off. One tick at least.
  [[nodiscard]] double ns(std::uint64_t interval) const {
    return static_cast<double>(interval > overhead_ ? interval - overhead_ : 1) * ns_per_tick_;
  }

 private:
  double ns_per_tick_ = 1;
  std::uint64_t overhead_ = UINT64_MAX;
};

}  // namespace verity::tools::bench

#endif
