// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <set>

#include "health/counters.h"

namespace verity::health {
namespace {

TEST(HealthCounters, EveryCounterIsDescribedOnce) {
  std::set<std::string_view> names;
  for (const CounterInfo& info : kCounterInfo) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.help.empty()) << info.name;
    EXPECT_FALSE(info.unit.empty()) << info.name;
  }
  // No field outside the list: the structure is nothing but its counters.
  EXPECT_EQ(sizeof(Counters), kCounterInfo.size() * sizeof(std::uint64_t));
}

TEST(HealthCounters, SumAddsEveryField) {
  Counters a, b;
  std::uint64_t value = 1;
  for (const CounterInfo& info : kCounterInfo) {
    a.*info.field = value;
    b.*info.field = 1000 * value++;
  }
  a += b;
  value = 1;
  for (const CounterInfo& info : kCounterInfo)
    EXPECT_EQ(a.*info.field, 1001 * value++) << info.name;
}

}  // namespace
}  // namespace verity::health
