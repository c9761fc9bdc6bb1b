// SPDX-License-Identifier: BSD-3-Clause
#include "types/measure.h"

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <climits>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "normalize/optimal.h"

namespace verity::types {

namespace {

using normalize::Displacements;
using Clock = std::chrono::steady_clock;

// Their layouts of these lengths take longest: each divisor is a length that may be repeated.
// Numbers with more divisors than all smaller ones, each about twice the one before.
constexpr uint64_t kManyDivisors[] = {5040,    10080,    20160,    45360,   83160,
                                      166320,  332640,   720720,   1441440, 2882880,
                                      6486480, 14414400, 32432400, 73513440};

std::vector<uint64_t> many_divisors(uint64_t most) {
  std::vector<uint64_t> lengths;
  for (const uint64_t length : kManyDivisors) {
    if (length <= most) lengths.push_back(length);
  }
  return lengths;
}

std::vector<uint64_t> powers_of_three(uint64_t most) {
  std::vector<uint64_t> lengths;
  for (uint64_t length = 2187; length <= most; length *= 3) lengths.push_back(length);
  return lengths;
}

// Every length that divides it repeats but for the last element: each is tried to its end.
Displacements equal_but_the_last(uint64_t length) {
  Displacements all(length, 0);
  all.back() = 1;
  return all;
}

// The same with two halves: what repeats is found, and what is left is as hard again.
Displacements twice_equal_but_the_last(uint64_t length) {
  Displacements all(length, 0);
  all[length / 2 - 1] = 1;
  for (uint64_t i = length / 2; i < length; ++i) all[i] = all[i - length / 2] + 7;
  return all;
}

// Three copies of three copies of ... at unequal distances: as many nodes as can be.
Displacements nested(uint64_t length) {
  Displacements all(length, 0);
  int64_t distance = 1;
  for (uint64_t inner = 1; inner < length; inner *= 3, distance *= 5) {
    for (uint64_t i = 0; i < length; ++i) {
      static constexpr int64_t kSteps[] = {0, 1, 3};
      all[i] += kSteps[i / inner % 3] * distance;
    }
  }
  return all;
}

Displacements irregular(uint64_t length) {
  std::mt19937_64 random(length);
  Displacements all(length);
  for (int64_t& place : all) place = static_cast<int64_t>(random() % 1'000'000'000);
  return all;
}

struct Case {
  const char* name;
  const char* description;
  std::vector<uint64_t> (*lengths)(uint64_t most);
  Displacements (*make)(uint64_t length);
};
constexpr Case kCases[] = {
    {"equal", "all equal but the last", many_divisors, equal_but_the_last},
    {"halves", "two such halves", many_divisors, twice_equal_but_the_last},
    {"nested", "nested by threes", powers_of_three, nested},
    {"irregular", "irregular", many_divisors, irregular},
};

struct Time {
  uint64_t length;
  double seconds;
};

// Memory that is freed stays the process's: else the kernel's page faults are measured, too, but
// only where a layout is large.
void keep_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
#endif
}

// The shortest of several: what else the machine does only adds.
double seconds_of(const Displacements& layout) {
  constexpr int kLeast = 5;
  constexpr double kEnough = 0.05;
  double shortest = INFINITY, sum = 0;
  for (int i = 0; i < kLeast || sum < kEnough; ++i) {
    const Clock::time_point begin = Clock::now();
    const normalize::Canonical canonical = normalize::canonical(layout);
    const normalize::TypePath path = optimal_path(canonical, 1, normalize::kStorageCost);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    if (path.empty()) return INFINITY;  // never: it keeps the compiler from leaving it out
    shortest = std::min(shortest, seconds);
    sum += seconds;
  }
  return shortest;
}

// The slope of the line that fits the logarithms best: seconds ~ length^slope.
double exponent(const std::vector<Time>& times) {
  double x = 0, y = 0, xx = 0, xy = 0;
  const auto n = static_cast<double>(times.size());
  for (const Time& time : times) {
    const double a = std::log(static_cast<double>(time.length)), b = std::log(time.seconds);
    x += a;
    y += b;
    xx += a * a;
    xy += a * b;
  }
  return (n * xy - x * y) / (n * xx - x * x);
}

void print_text(const Case& one, const std::vector<Time>& times) {
  std::printf("%s\n", one.description);
  for (const Time& time : times) {
    std::printf("  %10" PRIu64 " displacements  %12.1f us  %8.2f ns each\n", time.length,
                time.seconds * 1e6, time.seconds * 1e9 / static_cast<double>(time.length));
  }
  std::printf("  time ~ n^%.2f\n", exponent(times));
}

}  // namespace

void measure_normalization(uint64_t most, bool json) {
  keep_memory();
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const Case& one : kCases) {
    std::vector<Time> times;
    for (const uint64_t length : one.lengths(most))
      times.push_back({length, seconds_of(one.make(length))});
    if (!json) {
      print_text(one, times);
      continue;
    }
    for (const Time& time : times)
      rows.push_back({{"case", one.name}, {"n", time.length}, {"seconds", time.seconds}});
    rows.push_back({{"case", one.name}, {"exponent", exponent(times)}});
  }
  if (json)
    std::printf("%s\n", nlohmann::ordered_json{{"schema", 1}, {"rows", rows}}.dump(2).c_str());
}

}  // namespace verity::types
