// SPDX-License-Identifier: BSD-3-Clause
//
// From interleaved batches to a figure that can be trusted, or to "undecided".
#ifndef VERITY_TOOLS_BENCH_STATISTICS_H
#define VERITY_TOOLS_BENCH_STATISTICS_H

#include <optional>
#include <string>
#include <vector>

namespace verity::tools::bench {

// Of `values` in any order; `q` from 0 to 1. The nearest of them, not interpolated: a percentile of
// latencies is one that occurred. 0 for no values.
[[nodiscard]] double percentile(std::vector<double> values, double q);

[[nodiscard]] double median(const std::vector<double>& values);

// Mean of the values between the 25th and the 75th percentile: as deaf to outliers as the median,
// and finer than the clock's steps.
[[nodiscard]] double middle_mean(std::vector<double> values);

// An estimate and the range that holds the true median with 95 % probability (by ranks, so no
// distribution is assumed). With less than 6 values the range is that of the values.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
};
[[nodiscard]] Estimate estimate_median(std::vector<double> values);

// One block A B B A: raw, wrapped, wrapped, raw. What drifts evenly through it cancels.
struct Block {
  double raw_first = 0;
  double wrapped_first = 0;
  double wrapped_second = 0;
  double raw_second = 0;

  [[nodiscard]] double raw() const { return (raw_first + raw_second) / 2; }
  [[nodiscard]] double wrapped() const { return (wrapped_first + wrapped_second) / 2; }
};

struct Comparison {
  double raw = 0;         // median of the batches
  double wrapped = 0;     // median of the batches
  Estimate difference;    // wrapped - raw, over the blocks
  Estimate ratio;         // wrapped / raw, over the blocks
  double raw_spread = 0;  // middle half of the raw batches: 75th minus 25th percentile
  std::size_t blocks = 0;
};
[[nodiscard]] Comparison compare(const std::vector<Block>& blocks);

// What is allowed: a most for the difference (same unit as the batches), or a most or a least for
// the ratio.
struct Limit {
  enum class Kind { kDifferenceAtMost, kRatioAtMost, kRatioAtLeast } kind;
  double value;
};

enum class Verdict { kNoLimit, kOk, kOver, kUndecided };

// kUndecided where raw itself varies by more than the limit leaves room for, or where the limit
// lies within the 95 % range.
[[nodiscard]] Verdict verdict_of(const Comparison& comparison, const std::optional<Limit>& limit);

[[nodiscard]] const char* verdict_name(Verdict verdict);

// "+45 ns", "x1.03", as it is printed beside the verdict.
[[nodiscard]] std::string limit_text(const Limit& limit);

}  // namespace verity::tools::bench

#endif
