// SPDX-License-Identifier: BSD-3-Clause
#include "types/tables/timing.h"

#include <algorithm>
#include <cmath>

#include "tools/bench/clock.h"
#include "tools/bench/statistics.h"

namespace verity::types {

namespace {

using tables::Hash;
using tables::HashPtr;
using tables::Value;

constexpr uint64_t kBatchNs = 50'000;

// Each call works on the hash that the one before it gave, so that the calls cannot overlap: the
// time is that of one call, and none is left out by the compiler.
struct Probe {
  const Hash& hash;
  bool repeat;
  unsigned n;
  Value operand;

  Probe(const Hash& tested, bool repeated, unsigned size)
      : hash(tested), repeat(repeated), n(size), operand(tested.repeat(tested.basic(5), size)) {}

  [[nodiscard]] uint64_t run(uint64_t calls) const {
    Value last = repeat ? hash.basic(5) : operand;
    const uint64_t count = last.count;
    const uint64_t start = tools::bench::monotonic_ns();
    for (uint64_t i = 0; i < calls; ++i) {
      last = repeat ? hash.repeat(last, n) : hash.concat(last, operand);
      last.count = count;
    }
    const uint64_t elapsed = tools::bench::monotonic_ns() - start;
    volatile uint64_t used = last.hash;
    (void)used;
    return std::max<uint64_t>(1, elapsed);
  }
};

struct Point {
  Probe probe;
  uint64_t calls = 1;
  std::vector<double> batches;

  void calibrate() {
    while (probe.run(calls) < kBatchNs) calls *= 2;
  }
  // The batches of other points have taken the caches: the first run fetches them back.
  void measure() {
    (void)probe.run(calls);
    batches.push_back(static_cast<double>(probe.run(calls)) / static_cast<double>(calls));
  }
};

std::vector<Point> points_of(const std::vector<HashPtr>& hashes) {
  std::vector<Point> points;
  for (const HashPtr& hash : hashes) {
    for (const bool repeat : {false, true}) {
      for (const unsigned n : timing_sizes()) points.push_back({Probe(*hash, repeat, n), 1, {}});
    }
  }
  return points;
}

Series series_of(const Hash::Traits& traits, bool repeat, const Point* points) {
  Series series{.hash = traits,
                .operation = repeat ? "repeat" : "concat",
                .claimed = repeat ? traits.repeat : traits.concat,
                .ns = {},
                .verdict = {}};
  for (std::size_t i = 0; i < timing_sizes().size(); ++i) {
    series.ns.push_back(tools::bench::median(points[i].batches));
  }
  series.exponent = fitted_exponent(timing_sizes(), series.ns);
  series.verdict = classify_growth(series.exponent);
  return series;
}

}  // namespace

const std::vector<unsigned>& timing_sizes() {
  static const std::vector<unsigned> sizes = {61, 251, 1021, 4093, 16381, 65521};
  return sizes;
}

std::vector<Series> measure(const std::vector<HashPtr>& hashes) {
  std::vector<Point> points = points_of(hashes);
  for (Point& point : points) point.calibrate();
  // Round by round, so that a busy moment of the machine falls on one batch of many points.
  for (unsigned batch = 0; batch < kBatches; ++batch) {
    for (Point& point : points) point.measure();
  }
  std::vector<Series> all;
  const Point* next = points.data();
  for (const HashPtr& hash : hashes) {
    for (const bool repeat : {false, true}) {
      all.push_back(series_of(hash->traits(), repeat, next));
      next += timing_sizes().size();
    }
  }
  return all;
}

double fitted_exponent(const std::vector<unsigned>& sizes, const std::vector<double>& ns) {
  double mean_x = 0, mean_y = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    mean_x += std::log(sizes[i]) / static_cast<double>(sizes.size());
    mean_y += std::log(ns[i]) / static_cast<double>(sizes.size());
  }
  double xy = 0, xx = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double x = std::log(sizes[i]) - mean_x;
    xy += x * (std::log(ns[i]) - mean_y);
    xx += x * x;
  }
  return xy / xx;
}

std::optional<Growth> classify_growth(double exponent) {
  if (exponent <= kConstantExponent) return Growth::kConstant;
  if (exponent >= kLinearExponent) return Growth::kLinear;
  return std::nullopt;
}

}  // namespace verity::types
