// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tools/bench/cpus.h"
#include "tools/bench/hashing.h"
#include "tools/bench/report.h"

namespace verity::tools::bench {
namespace {

// `count` openings with normal errors.
Comparison openings_of(int count, double raw, double wrapped, double noise) {
  std::mt19937 random(1);
  std::normal_distribution<double> error(0, noise);
  std::vector<double> raws, wrappeds;
  for (int i = 0; i < count; ++i) {
    raws.push_back(raw + error(random));
    wrappeds.push_back(wrapped + error(random));
  }
  return compare(raws, wrappeds);
}

TEST(BenchCpus, ListsOfTheKernel) {
  EXPECT_EQ(cpus_of("0-3,8"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(cpus_of("5\n"), std::vector<int>{5});
  for (const char* bad : {"", "\n", "x", "-1", "1-", "3-1", "0-99999999", "1,x"})
    EXPECT_EQ(cpus_of(bad), std::vector<int>{}) << bad;
}

TEST(BenchCpus, APairHasTwoCoresWhereItMay) {
  const auto pairs = [](int cpu) {
    return cpu % 2 == 0 ? std::to_string(cpu) + "-" + std::to_string(cpu + 1) : "?";
  };
  EXPECT_EQ(choose_pair({0, 1, 2, 3}, pairs), (std::vector<int>{0, 2}));
  EXPECT_EQ(choose_pair({0, 1}, pairs), (std::vector<int>{0, 1})) << "one core is all there is";
  EXPECT_EQ(choose_pair({4, 6}, pairs), (std::vector<int>{4, 6}));
  EXPECT_EQ(choose_pair({1, 2}, pairs), (std::vector<int>{1, 2})) << "not known";
  EXPECT_EQ(choose_pair({7}, pairs), std::vector<int>{});
}

TEST(BenchStatistics, Percentiles) {
  EXPECT_EQ(percentile({}, 0.5), 0);
  EXPECT_EQ(percentile({3}, 0.999), 3);
  EXPECT_EQ(percentile({5, 1, 4, 2, 3}, 0.5), 3);
  EXPECT_EQ(percentile({5, 1, 4, 2, 3}, 0), 1);
  EXPECT_EQ(percentile({5, 1, 4, 2, 3}, 1), 5);
}

TEST(BenchStatistics, MedianOfAnEvenNumberIsBetweenTheTwoInTheMiddle) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({5, 1, 4, 2, 3}), 3);
  EXPECT_EQ(median({8, 1}), 4.5);
  EXPECT_EQ(median({9, 1, 4, 2}), 3);
  EXPECT_EQ(estimate_median({9, 1, 4, 2}).value, 3);
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

TEST(BenchStatistics, MediansOfTheOpenings) {
  // One opening of three is unlucky for wrapped: it moves nothing.
  const Comparison c = compare({100, 110, 104}, {150, 900, 130});
  EXPECT_EQ(c.raw, 104);
  EXPECT_EQ(c.wrapped, 150);
  EXPECT_EQ(c.difference.value, 50);  // of 50, 790, 26: within each opening, then the median
  EXPECT_DOUBLE_EQ(c.ratio.value, 1.5);
  EXPECT_DOUBLE_EQ(c.ratio.low, 1.25);
  EXPECT_DOUBLE_EQ(c.ratio.high, 900.0 / 110);
  EXPECT_EQ(c.openings, 3U);
}

TEST(BenchStatistics, SpreadIsTheMiddleHalf) {
  const Comparison c = compare({1, 2, 3, 4, 5}, {10, 20, 30, 40, 500});
  EXPECT_EQ(c.raw_spread, 2);
  EXPECT_EQ(c.wrapped_spread, 20);
}

TEST(BenchVerdict, WithinAndBeyondALimit) {
  const Limit limit{Limit::Kind::kDifferenceAtMost, 45};
  EXPECT_EQ(verdict_of(openings_of(50, 150, 180, 2), limit), Verdict::kOk);
  EXPECT_EQ(verdict_of(openings_of(50, 150, 260, 2), limit), Verdict::kOver);
  // A limit right on the measured figure: within its range.
  const Comparison close = openings_of(50, 150, 195, 2);
  const Limit on_it{Limit::Kind::kDifferenceAtMost, close.difference.value};
  EXPECT_EQ(verdict_of(close, on_it), Verdict::kUndecided);
  EXPECT_EQ(verdict_of(openings_of(50, 150, 180, 2), std::nullopt), Verdict::kNoLimit);
  EXPECT_EQ(verdict_of(Comparison{}, limit), Verdict::kUndecided);
}

TEST(BenchVerdict, UndecidedWhereRawVariesMoreThanTheLimit) {
  const Limit limit{Limit::Kind::kRatioAtMost, 1.03};
  EXPECT_EQ(verdict_of(openings_of(200, 1000, 1000, 2), limit), Verdict::kOk);
  EXPECT_EQ(verdict_of(openings_of(200, 1000, 1000, 100), limit), Verdict::kUndecided);
}

TEST(BenchVerdict, RatesHaveALeast) {
  const Limit limit{Limit::Kind::kRatioAtLeast, 0.55};
  EXPECT_EQ(verdict_of(openings_of(50, 20, 14, 0.1), limit), Verdict::kOk);
  EXPECT_EQ(verdict_of(openings_of(50, 20, 9, 0.1), limit), Verdict::kOver);
  EXPECT_EQ(limit_text(limit), ">= x0.55");
}

TEST(BenchSend, TheSameWayOnAll) {
  const Capability raw{.max_short = 100, .max_bcopy = 8192, .max_zcopy = 1 << 20};
  const Capability wrapped{.max_short = 60, .max_bcopy = 8000, .max_zcopy = 1 << 20};
  EXPECT_EQ(common_send({raw, wrapped}, 8), Send::kShort);
  EXPECT_EQ(common_send({raw, wrapped}, 61), Send::kBcopy);
  EXPECT_EQ(common_send({raw, raw, wrapped}, 8001), Send::kZcopy);
  EXPECT_EQ(common_send({raw, wrapped}, 2 << 20), Send::kAny);
  EXPECT_EQ(common_send({raw, wrapped}, 4), Send::kBcopy);  // a short one has 8 bytes at least
}

Result result_of(bench::Test test, std::size_t size, std::vector<Series> series) {
  Result result;
  result.traffic = {Level::kUcp, "posix", test, size};
  conclude(&result, std::move(series), false);
  return result;
}

const About kAbout{.method = "m",
                   .machine = "A <CPU> & more",
                   .versions = "UCX 1",
                   .date = "2026-01-31",
                   .command = "ucx-verity bench"};

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++found;
  return found;
}

TEST(BenchResult, RatesAreMessagesOrBytes) {
  const Result small = result_of(bench::Test::kRate, 8, {{{2e6}, {}}, {{1e6}, {}}});
  EXPECT_EQ(small.test() + " " + small.unit(), "rate Mmsg/s");
  EXPECT_EQ(small.comparison.raw, 2);
  const Result large = result_of(bench::Test::kRate, 1000000, {{{2000}, {}}, {{1000}, {}}});
  EXPECT_EQ(large.test() + " " + large.unit(), "bandwidth MB/s");
  EXPECT_EQ(large.comparison.wrapped, 1000);
}

TEST(BenchResult, TheOlderPluginIsComparedWithTheNewerOne) {
  EXPECT_FALSE(result_of(bench::Test::kLatency, 8, {{{100}, {}}, {{150}, {}}}).against_old);
  const Result result =
      result_of(bench::Test::kLatency, 8, {{{100}, {}}, {{150}, {}}, {{200}, {}}});
  EXPECT_EQ(result.comparison.ratio.value, 1.5);
  ASSERT_TRUE(result.against_old);
  EXPECT_EQ(result.against_old->raw, 200);
  EXPECT_EQ(result.against_old->ratio.value, 0.75);
}

Result with_passes(bench::Test test, std::size_t size, double raw, double hash_ns) {
  Result result = result_of(test, size, {{{raw}, {}}, {{raw}, {}}});
  result.hash_ns = hash_ns;
  return result;
}

TEST(BenchHashing, BothSidesOfAMessageHashItOneAfterTheOther) {
  EXPECT_EQ(bench::with_hash(with_passes(bench::Test::kLatency, 4096, 300, 60)), 420);
  EXPECT_EQ(bench::with_hash(with_passes(bench::Test::kLatency, 65536, 5000, 1000)), 6250)
      << "of the second pass only the last frame's is waited for";
  EXPECT_EQ(bench::with_hash(with_passes(bench::Test::kAllreduce, 65536, 5000, 1000)), 7000)
      << "each rank sends and receives";
}

TEST(BenchHashing, InARateTheyHashAtTheSameTime) {
  // 100 ns for each message, and 25 ns for its hash.
  EXPECT_DOUBLE_EQ(bench::with_hash(with_passes(bench::Test::kRate, 8, 10e6, 25)), 8);
  EXPECT_DOUBLE_EQ(bench::with_hash(with_passes(bench::Test::kRate, 1000000, 1000, 250000)), 800);
  Result self = with_passes(bench::Test::kRate, 8, 10e6, 25);
  self.traffic.transport = "self";
  EXPECT_NEAR(bench::with_hash(self), 10 / 1.5, 1e-9);
}

TEST(BenchHashing, WithoutAMeasurementOrForMoreRanksThereIsNoModel) {
  Result result = with_passes(bench::Test::kAllreduce, 4096, 300, 60);
  EXPECT_NE(table_line(result, false).find("raw+hash"), std::string::npos);
  result.ranks = 4;
  EXPECT_EQ(bench::with_hash(result), 0);
  EXPECT_EQ(table_line(result, false).find("raw+hash"), std::string::npos);
  EXPECT_EQ(bench::with_hash(with_passes(bench::Test::kLatency, 8, 100, 0)), 0);
}

TEST(BenchHashing, LongerBytesTakeLonger) {
  EXPECT_EQ(bench::hash_ns(0), 0);
  const double small = bench::hash_ns(8);
  EXPECT_GT(small, 0);
  EXPECT_GT(bench::hash_ns(1 << 20), 100 * small);
}

TEST(BenchReport, ALargeRatioKeepsTheColumns) {
  Result result = result_of(bench::Test::kRate, 128, {{{3.07e6}, {}}, {{4e6}, {}}});
  result.traffic.level = bench::Level::kMpi;
  result.ranks = 4;
  const std::string usual = table_line(result, true);
  result.comparison.ratio = {111.474, 111.474, 1111.474};
  const std::string large = table_line(result, true);
  EXPECT_NE(large.find(" 111.5 111.5-1111 "), std::string::npos) << large;
  EXPECT_LE(large.size(), usual.size() + 2);
}

TEST(BenchReport, CsvHasTheColumnsOfItsHeading) {
  Result result = result_of(bench::Test::kLatency, 8, {{{100}, {300}}, {{150}, {450}}});
  const std::string heading = csv_heading();
  EXPECT_EQ(heading.find("level,transport,test,send,ranks,segment,size,unit,raw,wrapped,difference,"
                         "difference_low,difference_high,ratio,ratio_low,ratio_high,raw_spread,"
                         "raw_p999_ns,wrapped_p999_ns,blocks,disturbed,messages,limit,verdict,"
                         "problem,openings,"),
            0U);
  EXPECT_EQ(count(csv_line(result), ","), count(heading, ","));
  EXPECT_NE(csv_line(result).find(",8,ns,100.0000,150.0000,50.0000,"), std::string::npos);
  result.problem = "a \"b\", c";
  EXPECT_NE(csv_line(result).find(",\"a \"\"b\"\", c\","), std::string::npos);
}

TEST(BenchReport, MarkdownHasTheUnitsOfRaw) {
  const std::string text =
      render_markdown({result_of(bench::Test::kLatency, 8, {{{129}, {}}, {{177}, {}}}),
                       result_of(bench::Test::kLatency, 4096, {{{4700}, {}}, {{9400}, {}}}),
                       result_of(bench::Test::kRate, 8, {{{22.2e6}, {}}, {{11.1e6}, {}}}),
                       result_of(bench::Test::kRate, 1 << 20, {{{32000}, {}}, {{8000}, {}}})},
                      kAbout);
  EXPECT_NE(text.find("| | raw | wrapped | |\n|---|---|---|---|\n"
                      "| posix, latency 8 B | 129 ns | 177 ns | +48 ns |\n"
                      "| posix, latency 4 KiB | 4700 ns | 9400 ns | x2.00 |\n"
                      "| posix, message rate 8 B | 22.2 M/s | 11.1 M/s | x0.50 |\n"
                      "| posix, bandwidth 1 MiB | 33.6 GB/s | 8.4 GB/s | x0.25 |\n"),
            std::string::npos)
      << text;
}

TEST(BenchReport, HtmlDrawsRawWrappedAndOld) {
  const auto one = [](std::size_t size, double wrapped) {
    return result_of(bench::Test::kLatency, size, {{{100}, {}}, {{wrapped}, {}}, {{300}, {}}});
  };
  const std::string page = render_html({one(8, 150), one(64, 200)}, kAbout);
  EXPECT_EQ(count(page, "<svg "), 1U);
  EXPECT_EQ(count(page, "<line class=\"raw\""), 1U);
  EXPECT_EQ(count(page, "<circle class=\"new\""), 2U);
  EXPECT_EQ(count(page, "<circle class=\"old\""), 2U);
  EXPECT_NE(page.find(">x1.50</text>"), std::string::npos);
  EXPECT_NE(page.find("A &lt;CPU&gt; &amp; more"), std::string::npos);
  EXPECT_EQ(
      count(render_html({result_of(bench::Test::kLatency, 8, {{{1}, {}}, {{2}, {}}})}, kAbout),
            "<circle class=\"old\""),
      0U);
}

}  // namespace
}  // namespace verity::tools::bench
