// SPDX-License-Identifier: BSD-3-Clause
//
// UCX's units of time, in which its timers are set, and a clock that costs less than the system's.
// The same from 1.13 to 1.23.
#ifndef VERITY_UCT_COMPAT_INTERNAL_TIME_H
#define VERITY_UCT_COMPAT_INTERNAL_TIME_H

#include "uct/compat/internal/installed.h"

extern "C" {
double ucs_get_cpu_clocks_per_sec();
#ifdef __x86_64__
// UCS_TRY until the first use of UCX's clock; UCS_NO: the processor's counter is not used.
extern ucs_ternary_auto_value_t ucs_arch_x86_enable_rdtsc;
void ucs_x86_init_tsc_freq();
#endif
}

namespace verity::uct {

// For ucs_async_add_timer.
[[nodiscard]] inline ucs_time_t timer_interval(double seconds) noexcept {
  return static_cast<ucs_time_t>(seconds * ucs_get_cpu_clocks_per_sec() + 0.5);
}

// Only the difference of two readings has a meaning.
struct Ticks {
  uint64_t count;
  [[nodiscard]] static Ticks now() noexcept;
  [[nodiscard]] double ns_until(Ticks end) const noexcept;
};

#ifdef __x86_64__

[[nodiscard]] inline bool counts_cycles() noexcept {
  if (ucs_arch_x86_enable_rdtsc == UCS_TRY) [[unlikely]]
    ucs_x86_init_tsc_freq();
  return ucs_arch_x86_enable_rdtsc != UCS_NO;
}

inline Ticks Ticks::now() noexcept {
  if (!counts_cycles()) [[unlikely]] {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return {static_cast<uint64_t>(now.tv_sec) * 1000000u +
            static_cast<uint64_t>(now.tv_nsec) / 1000u};
  }
  return {__builtin_ia32_rdtsc()};
}

inline double Ticks::ns_until(Ticks end) const noexcept {
  return static_cast<double>(end.count - count) / ucs_get_cpu_clocks_per_sec() * 1e9;
}

#else

inline Ticks Ticks::now() noexcept {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return {static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec)};
}

inline double Ticks::ns_until(Ticks end) const noexcept {
  return static_cast<double>(end.count - count);
}

#endif

}  // namespace verity::uct

#endif
