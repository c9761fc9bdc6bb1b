// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TEST_PERF_COUNTS_CASE_H
#define VERITY_TEST_PERF_COUNTS_CASE_H

#include <span>

namespace verity::perf {

// One operation whose instructions are counted. `prepare` (memory, warm-up) is not counted; `run`
// is called many times and must cost the same each time.
struct Case {
  const char* name;
  void (*prepare)();
  void (*run)();
};

// One list per layer; driver.cc joins them.
std::span<const Case> merkle_cases();
std::span<const Case> link_cases();
std::span<const Case> health_cases();

// Hides a value from the optimizer.
template <typename T>
inline void consume(T value) {
  asm volatile("" : : "r"(value) : "memory");
}

}  // namespace verity::perf

#endif
