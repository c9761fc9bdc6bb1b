// SPDX-License-Identifier: BSD-3-Clause
//
// From several openings to a figure that can be trusted, or to "undecided".
#ifndef VERITY_TOOLS_BENCH_STATISTICS_H
#define VERITY_TOOLS_BENCH_STATISTICS_H

#include <optional>
#include <string>
#include <vector>

namespace verity::tools::bench {

// Of `values` in any order; `q` from 0 to 1. The nearest of them, not interpolated: a percentile of
// latencies is one that occurred. 0 for no values.
[[nodiscard]] double percentile(std::vector<double> values, double q);

// The mean of the two in the middle where their number is even: the upper one would be biased. 0
// for no values.
[[nodiscard]] double median(std::vector<double> values);

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

// Of two series with a value for each opening of the transports: `raw` and `wrapped`, or an older
// plugin and this one.
struct Comparison {
  double raw = 0;  // medians
  double wrapped = 0;
  Estimate difference;    // wrapped - raw, within each opening
  Estimate ratio;         // wrapped / raw, within each opening
  double raw_spread = 0;  // middle half of the openings: 75th minus 25th percentile
  double wrapped_spread = 0;
  std::size_t openings = 0;
};
[[nodiscard]] Comparison compare(const std::vector<double>& raw,
                                 const std::vector<double>& wrapped);

// What is allowed: a most for the difference (same unit as the values), or a most or a least for
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
