// SPDX-License-Identifier: BSD-3-Clause
//
// The samples, the counting and the fit behind the tables of `verity-types sig`.
#include <gtest/gtest.h>

#include <cmath>

#include "types/tables/census.h"
#include "types/tables/timing.h"

namespace verity::types {
namespace {

using tables::Growth;
using tables::HashPtr;

std::vector<Sequence> sequences_of(const SampleSet& set) {
  std::vector<Sequence> sequences;
  for (const Sample& sample : set.samples) sequences.push_back(expand(sample));
  return sequences;
}

TEST(TypesSamples, HaveThePapersSizesAndNoSequenceTwice) {
  EXPECT_EQ(langou_samples().samples.size(), 6994U);
  EXPECT_EQ(count_distinct(sequences_of(langou_samples())), 6994U);
  EXPECT_EQ(gropp_samples().samples.size(), 4625U);
  EXPECT_EQ(count_distinct(sequences_of(gropp_samples())), 4625U);
}

TEST(TypesSamples, AreExpandedInOrder) {
  EXPECT_EQ(expand({{{7, 2}, {3, 1}}, 2}), (Sequence{7, 7, 3, 7, 7, 3}));
  EXPECT_EQ(expand({{{7, 2}}}), (Sequence{7, 7}));
}

// Keeps of a sequence its last code only, so that the counts below can be made by hand.
class LastCode final : public Hash {
 public:
  LastCode() : Hash({.name = "last", .bits = 8, .source = "test"}) {}
  [[nodiscard]] Value basic(uint64_t code) const noexcept override { return {code, 1}; }
  [[nodiscard]] Value concat(Value a, Value b) const noexcept override {
    return {b.hash, a.count + b.count};
  }
};

TEST(TypesCensus, CountsAsThePapersDo) {
  const SampleSet set{.source = "test",
                      .about = "four that end in 1, two in 2, one in 3",
                      .samples = {{{{1, 1}}},
                                  {{{1, 2}}},
                                  {{{1, 3}}},
                                  {{{2, 1}, {1, 1}}},
                                  {{{2, 1}}},
                                  {{{2, 2}}},
                                  {{{3, 1}}}}};
  std::vector<HashPtr> hashes;
  hashes.push_back(std::make_unique<LastCode>());
  const std::vector<Census> rows = take_census(set, hashes);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].samples, 7U);
  EXPECT_EQ(rows[0].distinct, 3U);
  EXPECT_EQ(rows[0].repeated, 2U);
  EXPECT_EQ(rows[0].ambiguous, 0U);
  EXPECT_DOUBLE_EQ(rows[0].collisions(), 100 * 4.0 / 7);
  EXPECT_DOUBLE_EQ(rows[0].duplicates(), 100 * 2.0 / 3);
}

TEST(TypesCensus, OnlyGroppsAdditionDependsOnHowATypeIsBuilt) {
  for (const SampleSet& set : {langou_samples(), gropp_samples()}) {
    for (const Census& row : take_census(set, tables::all_hashes())) {
      EXPECT_EQ(row.ambiguous == 0, row.hash.algebraic) << row.hash.name << ", " << set.source;
    }
  }
}

TEST(TypesCensus, AnIdealHashFollowsTheBirthdays) {
  Census census;
  census.hash.bits = 1;
  census.samples = 2;
  EXPECT_NEAR(census.ideal(), 25, 1e-9);  // two of two values: equal in half of the cases
  census.hash.bits = 61;
  census.samples = 6994;
  EXPECT_GE(census.ideal(), 0);
  EXPECT_LT(census.ideal(), 1e-6);
}

Census row(const char* name, std::size_t distinct, const char* paper_name, double paper) {
  return {.hash = {.name = name, .bits = 16, .source = "test"},
          .samples = 100,
          .distinct = distinct,
          .paper = PaperRow{paper_name, paper}};
}

TEST(TypesCensus, TellsEachPairThatIsOrderedOtherwise) {
  EXPECT_TRUE(order_differences({row("a", 50, "A", 40), row("b", 90, "B", 5)}).empty());
  EXPECT_EQ(order_differences({row("a", 90, "A", 40), row("b", 50, "B", 5)}),
            std::vector<std::string>{"a has fewer than b here, more than in the paper"});
  EXPECT_EQ(order_differences({row("a", 90, "A", 0), row("b", 100, "B", 0)}),
            std::vector<std::string>{"a has more than b here, as many as in the paper"});
  // Two of ours for one row of the paper: the paper does not say which is the better one.
  EXPECT_TRUE(order_differences({row("a/1", 90, "A", 4), row("a/2", 95, "A", 4)}).empty());
}

TEST(TypesTiming, TheFitFindsThePowerOfN) {
  std::vector<double> constant, linear, root;
  for (const unsigned n : timing_sizes()) {
    constant.push_back(12.5);
    linear.push_back(3.0 * n);
    root.push_back(std::sqrt(n));
  }
  EXPECT_NEAR(fitted_exponent(timing_sizes(), constant), 0, 1e-9);
  EXPECT_NEAR(fitted_exponent(timing_sizes(), linear), 1, 1e-9);
  EXPECT_EQ(classify_growth(fitted_exponent(timing_sizes(), constant)), Growth::kConstant);
  EXPECT_EQ(classify_growth(fitted_exponent(timing_sizes(), linear)), Growth::kLinear);
  EXPECT_EQ(classify_growth(fitted_exponent(timing_sizes(), root)), std::nullopt);
}

}  // namespace
}  // namespace verity::types
