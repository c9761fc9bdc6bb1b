// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/result.h"

namespace verity::tools::bench {

std::string Result::test() const {
  if (traffic.test != Test::kRate) return name_of(traffic.test);
  return counts_bytes(traffic.size) ? "bandwidth" : "rate";
}

std::string Result::unit() const {
  return is_time() ? "ns" : counts_bytes(traffic.size) ? "MB/s" : "Mmsg/s";
}

bool counts_bytes(std::size_t size) { return size >= 1024; }

std::optional<Limit> limit_for(const Traffic& traffic) {
  if (traffic.level != Level::kUcp) return std::nullopt;
  using Kind = Limit::Kind;
  const std::string& transport = traffic.transport;
  const std::size_t size = traffic.size;
  if (traffic.test == Test::kLatency) {
    if (transport == "posix" && size == 8) return Limit{Kind::kDifferenceAtMost, 45};
    if (transport == "posix" && size == 4096) return Limit{Kind::kDifferenceAtMost, 150};
    if (transport == "self" && size == 8) return Limit{Kind::kDifferenceAtMost, 40};
    if (transport == "tcp") return Limit{Kind::kRatioAtMost, 1.03};
    return std::nullopt;
  }
  if (transport == "posix" && size == 8) return Limit{Kind::kRatioAtLeast, 0.55};
  if (transport == "posix" && size == 1U << 20) return Limit{Kind::kRatioAtLeast, 0.72};
  if (transport == "tcp" && size >= 65536) return Limit{Kind::kRatioAtLeast, 0.97};
  return std::nullopt;
}

void conclude(Result* result, std::vector<Series> series, bool null_test) {
  if (!result->is_time()) {
    // Messages per second become what people compare: millions of them, or megabytes.
    const std::size_t size = result->traffic.size;
    const double factor = counts_bytes(size) ? static_cast<double>(size) / 1e6 : 1e-6;
    for (Series& one : series) {
      for (double& value : one.values) value *= factor;
    }
  }
  result->comparison = compare(series[0].values, series[1].values);
  if (series.size() > 2) result->against_old = compare(series[2].values, series[1].values);
  result->raw_p999 = median(series[0].p999);
  result->wrapped_p999 = median(series[1].p999);
  if (!null_test) result->limit = limit_for(result->traffic);
  result->verdict = verdict_of(result->comparison, result->limit);
  if (result->too_disturbed && result->limit) result->verdict = Verdict::kUndecided;
}

}  // namespace verity::tools::bench
