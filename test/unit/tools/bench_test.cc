// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tools/bench/stack.h"
#include "tools/bench/statistics.h"

namespace verity::tools::bench {
namespace {

std::vector<Block> blocks_of(int count, double raw, double wrapped, double noise) {
  std::mt19937 random(1);
  std::normal_distribution<double> error(0, noise);
  std::vector<Block> blocks;
  for (int i = 0; i < count; ++i) {
    blocks.push_back({raw + error(random), wrapped + error(random), wrapped + error(random),
                      raw + error(random)});
  }
  return blocks;
}

TEST(BenchStatistics, Percentiles) {
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(percentile({3}, 0.999), 3);
  EXPECT_EQ(percentile({5, 1, 4, 2, 3}, 0.5), 3);
  EXPECT_EQ(percentile({5, 1, 4, 2, 3}, 0), 1);
  EXPECT_EQ(percentile({5, 1, 4, 2, 3}, 1), 5);
}

TEST(BenchStatistics, MiddleMeanIsDeafToOutliersAndFinerThanSteps) {
  EXPECT_EQ(middle_mean({}), 0);
  EXPECT_EQ(middle_mean({7}), 7);
  EXPECT_EQ(middle_mean({10, 10, 20, 20, 20, 20, 1000, 0}), 17.5);
}

TEST(BenchStatistics, MedianRangeHoldsTheTruth) {
  std::mt19937 random(7);
  std::exponential_distribution<double> skewed(1);
  int held = 0;
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<double> values(25);
    std::generate(values.begin(), values.end(), [&] { return skewed(random); });
    const Estimate estimate = estimate_median(values);
    held += estimate.low <= 0.6931 && 0.6931 <= estimate.high;
  }
  EXPECT_GE(held, 0.95 * 400);
}

TEST(BenchStatistics, FewValuesHaveTheirWholeRange) {
  const Estimate estimate = estimate_median({3, 1, 2});
  EXPECT_EQ(estimate.value, 2);
  EXPECT_EQ(estimate.low, 1);
  EXPECT_EQ(estimate.high, 3);
}

TEST(BenchStatistics, DriftCancelsWithinABlock) {
  // Everything gets slower by 10 from batch to batch; the true difference is 5.
  const Block block{100, 115, 125, 130};
  const Comparison comparison = compare({block});
  EXPECT_DOUBLE_EQ(comparison.difference.value, 5);
}

TEST(BenchVerdict, WithinAndBeyondALimit) {
  const Limit limit{Limit::Kind::kDifferenceAtMost, 45};
  EXPECT_EQ(verdict_of(compare(blocks_of(50, 150, 180, 2)), limit), Verdict::kOk);
  EXPECT_EQ(verdict_of(compare(blocks_of(50, 150, 260, 2)), limit), Verdict::kOver);
  // A limit right on the measured figure: within its range.
  const Comparison close = compare(blocks_of(50, 150, 195, 2));
  const Limit on_it{Limit::Kind::kDifferenceAtMost, close.difference.value};
  EXPECT_EQ(verdict_of(close, on_it), Verdict::kUndecided);
  EXPECT_EQ(verdict_of(compare(blocks_of(50, 150, 180, 2)), std::nullopt), Verdict::kNoLimit);
  EXPECT_EQ(verdict_of(compare({}), limit), Verdict::kUndecided);
}

TEST(BenchVerdict, UndecidedWhereRawVariesMoreThanTheLimit) {
  const Limit limit{Limit::Kind::kRatioAtMost, 1.03};
  EXPECT_EQ(verdict_of(compare(blocks_of(200, 1000, 1000, 2)), limit), Verdict::kOk);
  EXPECT_EQ(verdict_of(compare(blocks_of(200, 1000, 1000, 100)), limit), Verdict::kUndecided);
}

TEST(BenchVerdict, RatesHaveALeast) {
  const Limit limit{Limit::Kind::kRatioAtLeast, 0.55};
  EXPECT_EQ(verdict_of(compare(blocks_of(50, 20, 14, 0.1)), limit), Verdict::kOk);
  EXPECT_EQ(verdict_of(compare(blocks_of(50, 20, 9, 0.1)), limit), Verdict::kOver);
  EXPECT_EQ(limit_text(limit), ">= x0.55");
}

TEST(BenchSend, TheSameWayOnBoth) {
  const Capability raw{.max_short = 100, .max_bcopy = 8192, .max_zcopy = 1 << 20};
  const Capability wrapped{.max_short = 60, .max_bcopy = 8000, .max_zcopy = 1 << 20};
  EXPECT_EQ(common_send(raw, wrapped, 8), Send::kShort);
  EXPECT_EQ(common_send(raw, wrapped, 61), Send::kBcopy);
  EXPECT_EQ(common_send(raw, wrapped, 8001), Send::kZcopy);
  EXPECT_EQ(common_send(raw, wrapped, 2 << 20), Send::kAny);
  EXPECT_EQ(common_send(raw, wrapped, 4), Send::kBcopy);  // a short one has 8 bytes at least
}

}  // namespace
}  // namespace verity::tools::bench
