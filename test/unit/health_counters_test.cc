// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <set>

#include "health/registry.h"

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

TEST(HealthRegistry, SumsLiveAndClosedInterfaces) {
  CounterRegistry registry;
  Counters first, second;
  registry.attach(&first);
  registry.attach(&second);
  first.frames_sent = 3;
  second.frames_sent = 4;
  EXPECT_EQ(registry.snapshot().frames_sent, 7U);
  registry.detach(&first);
  first.frames_sent = 100;  // no longer ours
  second.frames_sent = 5;
  EXPECT_EQ(registry.snapshot().frames_sent, 8U);
  EXPECT_EQ(registry.live(), 1U);
}

TEST(HealthRegistry, DetachOfAStrangerChangesNothing) {
  CounterRegistry registry;
  Counters stranger;
  stranger.gaps = 9;
  registry.detach(&stranger);
  EXPECT_EQ(registry.snapshot().gaps, 0U);
}

TEST(HealthRegistry, TheSameMemoryMayComeAgain) {
  CounterRegistry registry;
  for (int i = 0; i < 3; ++i) {
    Counters counters;
    registry.attach(&counters);
    counters.links_opened = 2;
    registry.detach(&counters);
  }
  EXPECT_EQ(registry.snapshot().links_opened, 6U);
}

}  // namespace
}  // namespace verity::health
