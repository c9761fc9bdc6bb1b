// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <limits>

#include "policy/policy.h"
#include "policy/quantity.h"

namespace verity::policy {
namespace {

std::string error_of(std::string_view text) {
  const Policy policy = parse(text, "f");
  EXPECT_TRUE(policy.entries.empty() && policy.limits.empty());
  EXPECT_EQ(policy.errors.size(), 1U);
  return policy.errors.empty() ? "" : policy.errors.front();
}

TEST(PolicyLimit, Quantities) {
  EXPECT_EQ(quantity(Kind::kSize, "64k"), 65536);
  EXPECT_EQ(quantity(Kind::kSize, "64KB"), 65536);
  EXPECT_EQ(quantity(Kind::kSize, "1m"), 1 << 20);
  EXPECT_EQ(quantity(Kind::kSize, "2G"), 2147483648.0);
  EXPECT_EQ(quantity(Kind::kSize, "512"), 512);
  EXPECT_EQ(quantity(Kind::kSize, "INF"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(quantity(Kind::kCount, "0"), 0);
  EXPECT_EQ(quantity(Kind::kTime, "2m"), 120);
  EXPECT_EQ(quantity(Kind::kTime, "1.5s"), 1.5);
  EXPECT_EQ(quantity(Kind::kTime, "3"), 3);
  EXPECT_EQ(quantity(Kind::kTime, "20ms"), 0.02);
  EXPECT_LT(*quantity(Kind::kMode, "off"), *quantity(Kind::kMode, "Observe"));
  EXPECT_LT(*quantity(Kind::kMode, "observe"), *quantity(Kind::kMode, "verify"));
  for (const char* none : {"", "k", "x", "-1", "1.5k", "1kk", "0x10", "1e3", "1 k", "nan"})
    EXPECT_FALSE(quantity(Kind::kSize, none)) << none;
  for (const char* none : {"", "1k", "1.5", "-1", "+1"})
    EXPECT_FALSE(quantity(Kind::kCount, none)) << none;
  for (const char* none : {"", "s", ".", "1h", "1.2.3", "nan", "-1s", "inf"})
    EXPECT_FALSE(quantity(Kind::kTime, none)) << none;
  EXPECT_FALSE(quantity(Kind::kMode, "2"));
}

TEST(PolicyLimit, Kinds) {
  EXPECT_EQ(kind_of("UCX_VERITY_CHUNK"), Kind::kSize);
  EXPECT_EQ(kind_of("UCX_VERITY_LINGER"), Kind::kTime);
  EXPECT_EQ(kind_of("UCX_VERITY_ATTEST"), std::nullopt);
  EXPECT_EQ(kind_of("CHUNK"), std::nullopt);
  EXPECT_EQ(names_with_order().find("MODE, SEGMENT_SIZE, WINDOW, "), 0U);
}

TEST(PolicyLimit, Lines) {
  const Policy policy = parse(
      "UCX_VERITY_WINDOW=300\n"
      "limit UCX_VERITY_WINDOW=16..512\n"
      " limit\tUCX_VERITY_LINGER = .. 2s \n"
      "limit UCX_VERITY_MODE=observe..\n"
      "UCX_VERITY_MODE=observe\n",
      "f");
  ASSERT_TRUE(policy.errors.empty()) << policy.errors.front();
  EXPECT_EQ(policy.entries.size(), 2U);
  const std::vector<Limit> wanted = {
      {"UCX_VERITY_WINDOW", "16", "512", "f", 2},
      {"UCX_VERITY_LINGER", "", "2s", "f", 3},
      {"UCX_VERITY_MODE", "observe", "", "f", 4},
  };
  EXPECT_EQ(policy.limits, wanted);
  EXPECT_EQ(policy.find_limit("UCX_VERITY_LINGER")->range(), "..2s");
  EXPECT_EQ(policy.find_limit("UCX_VERITY_LINGER")->place(), "f:3");
  EXPECT_EQ(policy.find_limit("UCX_VERITY_CHUNK"), nullptr);
}

TEST(PolicyLimit, ErrorsNameWhatIsExpected) {
  const std::string form = ": expected LOWEST..HIGHEST, LOWEST.. or ..HIGHEST";
  EXPECT_EQ(error_of("\nlimit UCX_VERITY_WINDOW=16"), "f:2: UCX_VERITY_WINDOW=16" + form);
  EXPECT_EQ(error_of("limit UCX_VERITY_WINDOW="), "f:1: UCX_VERITY_WINDOW=" + form);
  EXPECT_EQ(error_of("limit UCX_VERITY_WINDOW=.."), "f:1: UCX_VERITY_WINDOW=.." + form);
  EXPECT_EQ(error_of("limit UCX_VERITY_WINDOW=16..1k"),
            "f:1: UCX_VERITY_WINDOW=16..1k: '1k': expected a number, such as 16");
  EXPECT_EQ(error_of("limit UCX_VERITY_CHUNK=many.."),
            "f:1: UCX_VERITY_CHUNK=many..: 'many': expected a size, such as 64k");
  EXPECT_EQ(error_of("limit UCX_VERITY_LINGER=1s...2h"),
            "f:1: UCX_VERITY_LINGER=1s...2h: '.2h': expected a time, such as 20ms");
  EXPECT_EQ(error_of("limit UCX_VERITY_MODE=on.."),
            "f:1: UCX_VERITY_MODE=on..: 'on': expected off, observe or verify");
  EXPECT_EQ(error_of("limit UCX_VERITY_CHUNK=1m..64k"),
            "f:1: UCX_VERITY_CHUNK=1m..64k: the lowest value is above the highest");
  EXPECT_EQ(error_of("limit UCX_VERITY_ATTEST=auto..never"),
            "f:1: UCX_VERITY_ATTEST: its values have no order: lock it, or limit one of " +
                names_with_order());
  EXPECT_NE(error_of("limit lock UCX_VERITY_MODE=off..").find("'limit lock UCX_VERITY_MODE=off..'"),
            std::string::npos);
}

TEST(PolicyLimit, OneDefaultAndOneLimit) {
  const std::string twice =
      " is about it already: expected one line for each variable, or a default and a limit";
  EXPECT_EQ(error_of("limit UCX_VERITY_WINDOW=2..\nlimit UCX_VERITY_WINDOW=..9"),
            "f:2: UCX_VERITY_WINDOW: line 1" + twice);
  EXPECT_EQ(error_of("lock UCX_VERITY_WINDOW=2\nlimit UCX_VERITY_WINDOW=..9"),
            "f:2: UCX_VERITY_WINDOW: line 1" + twice);
  EXPECT_EQ(error_of("limit UCX_VERITY_WINDOW=..9\nlock UCX_VERITY_WINDOW=2"),
            "f:2: UCX_VERITY_WINDOW: line 1" + twice);
  const std::string outside = "the default of line 1, 10, is outside the limit of line 2, ..9";
  EXPECT_EQ(error_of("UCX_VERITY_WINDOW=10\nlimit UCX_VERITY_WINDOW=..9"),
            "f:2: UCX_VERITY_WINDOW: " + outside);
  EXPECT_EQ(
      error_of("limit UCX_VERITY_WINDOW=..9\nUCX_VERITY_WINDOW=10"),
      "f:2: UCX_VERITY_WINDOW: the default of line 2, 10, is outside the limit of line 1, ..9");
}

TEST(PolicyLimit, Bounds) {
  const Policy policy = parse("limit UCX_VERITY_CHUNK=64k..1m", "f");
  const Limit& limit = policy.limits.at(0);
  EXPECT_EQ(bound_for(limit, "64k"), nullptr);
  EXPECT_EQ(bound_for(limit, "65536"), nullptr);
  EXPECT_EQ(bound_for(limit, "1m"), nullptr);
  EXPECT_EQ(bound_for(limit, "nonsense"), nullptr);
  EXPECT_EQ(*bound_for(limit, "65535"), "64k");
  EXPECT_EQ(*bound_for(limit, "inf"), "1m");
  EXPECT_EQ(refusal(limit, "2m\n", "1m"),
            "ucx-verity: UCX_VERITY_CHUNK=2m? is not used: f:1 limits it to 64k..1m; 1m is used");
}

TEST(PolicyLimit, Merge) {
  Policy policy = parse("limit UCX_VERITY_WINDOW=2..9\nlimit UCX_VERITY_MODE=observe..\n", "a");
  merge(&policy, parse("UCX_VERITY_WINDOW=100\nlock UCX_VERITY_MODE=verify", "b"));
  ASSERT_EQ(policy.limits.size(), 1U);  // a lock takes the place of a limit, a default does not
  EXPECT_EQ(policy.limits[0].range(), "2..9");
  merge(&policy, parse("limit UCX_VERITY_WINDOW=3..\nlimit UCX_VERITY_MODE=off..", "c"));
  ASSERT_EQ(policy.limits.size(), 1U);
  EXPECT_EQ(policy.limits[0].place(), "c:1");
  drop_file(&policy, "c", "c:1: wrong");
  EXPECT_TRUE(policy.limits.empty());
  EXPECT_EQ(policy.find("UCX_VERITY_MODE")->place(), "c:1, which is not usable,");
  EXPECT_EQ(policy.find("UCX_VERITY_WINDOW")->value, "100");
}

}  // namespace
}  // namespace verity::policy
