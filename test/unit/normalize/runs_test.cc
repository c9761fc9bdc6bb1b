// SPDX-License-Identifier: BSD-3-Clause
//
// The runs of layouts against their bytes, one by one.
#include "normalize/runs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace verity::normalize {
namespace {

using Places = std::vector<int64_t>;  // of each byte
using List = std::vector<Run>;

Places bytes_of(const Pattern& pattern) {
  Places inner;
  for (const Run& run : pattern.list) {
    for (uint64_t i = 0; i < run.length; ++i) inner.push_back(run.offset + static_cast<int64_t>(i));
  }
  for (auto node = pattern.around.rbegin(); node != pattern.around.rend(); ++node) {
    Places all;
    for (uint64_t copy = 0; copy < node->count; ++copy) {
      const int64_t base = node->kind == Kind::kIndexed ? node->indices[copy]
                                                        : static_cast<int64_t>(copy) * node->stride;
      for (const int64_t place : inner) all.push_back(base + place);
    }
    inner = std::move(all);
  }
  return inner;
}

Runs runs_of(const Pattern& pattern) {
  const std::optional<RunsKey> key = runs_key(pattern);
  EXPECT_TRUE(key.has_value());
  std::optional<Runs> runs = make_runs(*key);
  EXPECT_TRUE(runs.has_value());
  return *runs;
}

Pattern random_pattern(std::mt19937_64& random) {
  static constexpr uint64_t kLengths[] = {1, 2, 3, 4, 8, 8, 8, 12, 16, 24};
  Pattern pattern;
  const uint64_t equal = random() % 2 == 0 ? kLengths[random() % 10] : 0;
  for (uint64_t i = 0, n = 1 + random() % 6; i < n; ++i) {
    const uint64_t length = equal != 0 ? equal : kLengths[random() % 10];
    pattern.list.push_back({static_cast<int64_t>(random() % 400) - 200, length});
  }
  for (uint64_t i = 0, n = random() % 4; i < n; ++i) {
    const uint64_t count = 1 + random() % (i == 0 ? 90 : 5);
    const auto stride = static_cast<int64_t>(random() % 64) - 8;
    Displacements indices(count);
    for (int64_t& index : indices) index = static_cast<int64_t>(random() % 1000);
    pattern.around.insert(pattern.around.begin(),
                          random() % 2 == 0 ? vector(count, stride) : indexed(indices));
  }
  return pattern;
}

// Bytes of memory around `kOrigin`, which no two places within 256 of each other share.
class RunsTest : public ::testing::Test {
 protected:
  static constexpr int64_t kOrigin = 1 << 16;
  static constexpr uint64_t kCopies = 3;
  RunsTest() : memory_(2 * kOrigin) {
    for (std::size_t i = 0; i < memory_.size(); ++i)
      memory_[i] = static_cast<uint8_t>(i * 2654435761U >> 13);
  }

  // In pieces of random lengths, from a random byte on.
  void check(const Pattern& pattern, std::mt19937_64& random) {
    const Runs runs = runs_of(pattern);
    const Places places = bytes_of(pattern);
    ASSERT_EQ(runs.bytes, places.size());
    ASSERT_EQ(runs.low, *std::ranges::min_element(places));
    ASSERT_EQ(runs.high, *std::ranges::max_element(places) + 1);
    const int64_t extent = static_cast<int64_t>(random() % 128) + 1;
    std::vector<uint8_t> expected;
    for (uint64_t copy = 0; copy < kCopies; ++copy) {
      for (const int64_t place : places)
        expected.push_back(memory_[static_cast<std::size_t>(kOrigin + place +
                                                            static_cast<int64_t>(copy) * extent)]);
    }
    const uint64_t from = random() % expected.size();
    RunsCursor cursor(runs, memory_.data() + kOrigin, extent);
    if (from != 0) cursor.seek(from);
    std::vector<uint8_t> got(expected.size() - from);
    for (uint64_t done = 0; done < got.size();) {
      const uint64_t piece = std::min<uint64_t>(1 + random() % 300, got.size() - done);
      if (random() % 4 == 0) {
        const uint64_t here = std::min(piece, cursor.left());
        std::copy_n(cursor.here(), here, got.data() + done);
        cursor.advance(here);
        done += here;
      } else {
        cursor.gather(got.data() + done, piece);
        done += piece;
      }
    }
    expected.erase(expected.begin(), expected.begin() + static_cast<int64_t>(from));
    ASSERT_EQ(got, expected);
  }

  std::vector<uint8_t> memory_;
};

TEST_F(RunsTest, HoldTheBytesInOrder) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 5000; ++i) {
    SCOPED_TRACE(i);
    check(random_pattern(random), random);
    if (HasFatalFailure()) return;
  }
}

TEST_F(RunsTest, OfAFlattenedPatternAreTheSame) {
  std::mt19937_64 random(12);
  for (int i = 0; i < 2000; ++i) {
    const Pattern pattern = random_pattern(random);
    Pattern flat = pattern;
    ASSERT_TRUE(flatten(&flat, SIZE_MAX));
    ASSERT_EQ(bytes_of(flat), bytes_of(pattern));
    const std::size_t runs = flat.list.size();
    Pattern again = pattern;
    ASSERT_FALSE(flatten(&again, runs - 1)) << i;
  }
}

TEST(Runs, AreMaximal) {
  // Rows of a matrix that are whole are one run; a column is one loop around one run.
  Pattern rows{{vector(100, 800), vector(100, 8)}, {{0, 8}}};
  EXPECT_TRUE(runs_of(rows).is_one_run());
  EXPECT_EQ(runs_of(rows).body[0].length, 80000U);
  Pattern column{{vector(1'000'000, 800)}, {{0, 8}}};
  EXPECT_EQ(runs_of(column).loops.size(), 1U);
  EXPECT_EQ(runs_of(column).body, (List{{0, 8}}));
  // A list that is a vector in truth.
  Pattern list{{}, {}};
  for (int64_t i = 0; i < 1000; ++i) list.list.push_back({40 + i * 100, 20});
  EXPECT_EQ(runs_of(list).loops, (std::vector<Node>{vector(1000, 100)}));
  EXPECT_EQ(runs_of(list).body, (List{{40, 20}}));
  // Pieces that meet within a structure.
  EXPECT_EQ(runs_of({{}, {{0, 4}, {4, 8}, {16, 4}}}).body, (List{{0, 12}, {16, 4}}));
}

TEST(Runs, RefuseWhatNumbersDoNotHold) {
  EXPECT_FALSE(runs_key({{vector(uint64_t{1} << 40, int64_t{1} << 40)}, {{0, 8}}}).has_value());
  const auto huge = runs_key({{vector(uint64_t{1} << 58, 8)}, {{0, 8}}});
  EXPECT_TRUE(!huge || !make_runs(*huge));
}

TEST(RunsCache, EqualLayoutsShareTheirs) {
  RunsCache cache;
  Pattern list{{}, {}};
  for (int64_t i = 0; i < 100; ++i) list.list.push_back({i * 24, 16});
  const auto by_list = cache.find_or_make(*runs_key(list));
  const auto by_vector = cache.find_or_make(*runs_key({{vector(100, 24)}, {{0, 16}}}));
  const auto by_ints = cache.find_or_make(*runs_key({{vector(100, 24), vector(4, 4)}, {{0, 4}}}));
  EXPECT_EQ(by_list, by_vector);
  EXPECT_EQ(by_list, by_ints);
  EXPECT_NE(by_list, cache.find_or_make(*runs_key({{vector(100, 24)}, {{8, 16}}})));
  EXPECT_EQ(cache.size(), 2U);
}

TEST(RunsCache, ForgetsWhatIsNotUsed) {
  RunsCache cache;
  const auto kept = cache.find_or_make(*runs_key({{vector(100, 24)}, {{0, 16}}}));
  for (int64_t i = 0; i < 30'000; ++i)
    ASSERT_NE(cache.find_or_make(*runs_key({{vector(100, 32 + i)}, {{0, 16}}})), nullptr);
  EXPECT_LE(cache.size(), 20'000U);
  EXPECT_EQ(kept, cache.find_or_make(*runs_key({{vector(100, 24)}, {{0, 16}}})));
}

TEST(RunsCache, ForgetsLargeOnesSooner) {
  RunsCache cache;
  for (int64_t i = 0; i < 20; ++i) {
    Pattern list{{}, {}};
    for (int64_t k = 0; k < 100'000; ++k)
      list.list.push_back({k * 64 + k * k % 7, static_cast<uint64_t>(8 + i)});
    ASSERT_NE(cache.find_or_make(*runs_key(list)), nullptr);
    EXPECT_LE(cache.size(), 4U);
  }
}

}  // namespace
}  // namespace verity::normalize
