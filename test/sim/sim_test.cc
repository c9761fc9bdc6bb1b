// SPDX-License-Identifier: BSD-3-Clause
// Simulations with everything that can happen to frames. VERITY_SIM_SEEDS: how many random worlds
// (default 150); VERITY_SIM_FIRST: the first seed.
#include <gtest/gtest.h>

#include <cstdlib>

#include "sim/world.h"

namespace verity::sim {
namespace {

uint64_t setting(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

health::Counters sum;

void expect_all_delivered(const Plan& plan) {
  World world(plan);
  EXPECT_EQ(world.run(), "") << "seed " << plan.seed;
  EXPECT_EQ(world.close(), "") << "seed " << plan.seed;
  sum += world.total();
}

TEST(Sim, RandomWorlds) {
  const uint64_t first = setting("VERITY_SIM_FIRST", 1);
  const uint64_t count = setting("VERITY_SIM_SEEDS", 150);
  for (uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    const double totals[] = {0, 0.01, 0.05, 0.2, 0.45};
    expect_all_delivered(random_plan(seed, totals[seed % 5]));
  }
  // Worlds in which nothing happens prove nothing.
  if (count < 100 || HasFailure()) return;
  for (const health::CounterInfo& info : health::kCounterInfo) {
    RecordProperty(std::string(info.name), std::to_string(sum.*info.field));
  }
  for (const uint64_t count_of_what :
       {sum.segments_repaired, sum.segments_resent, sum.faults_sent, sum.frames_resent,
        sum.faults_payload, sum.faults_header, sum.faults_length, sum.frames_duplicate,
        sum.frames_held, sum.held_dropped, sum.faults_repaired, sum.probes_sent, sum.late_copies,
        sum.source_changed}) {
    EXPECT_GT(count_of_what, 0u);
  }
  // All but the last ones of each link, which may have hit what was not needed any more, and are
  // looked at when the link is removed: the worlds are summed up before that. Of 100 random worlds
  // that is less than a third.
  const uint64_t faults = sum.faults_payload + sum.faults_header + sum.faults_length;
  EXPECT_LE(sum.faults_repaired + sum.faults_observed, faults);
  EXPECT_GE((sum.faults_repaired + sum.faults_observed) * 100, faults * 60);
}

// So many short messages that the abbreviated numbers of compact frames come round, one way or
// both, among replays of frames from long ago.
TEST(Sim, NumbersComeRound) {
  uint64_t stale = 0;
  for (uint64_t seed = 1; seed <= 6 && !HasFailure(); ++seed) {
    Plan plan = random_plan(seed, 0);
    plan.interfaces = 2;
    plan.messages = 0;
    plan.longest = 40;
    plan.replies = plan.zero_copy = plan.mutate = 0;
    plan.faults = {.drop = 0.002, .flip = 0.002, .replay = 0.01};
    plan.forget = 0.0001;
    plan.full = {};
    plan.config.compact = true;
    plan.config.window_frames = 64;
    plan.config.window_bytes = 512 * 1024;
    World world(plan);
    for (unsigned from = 0; from < 2; ++from) {
      const unsigned count = seed % 3 == from ? 100 : 70'000;  // one way, the other way, both
      world.node(from).peer(1 - from).out[0].planned = count;
      world.node(1 - from).peer(from).in[0].planned = count;
      // The few go on about one another's frames, of which many are lost: an acknowledgement
      // believed wrongly does harm then.
      if (count == 100) world.channel(from, 1 - from).set_faults({.flip = 0.01, .replay = 0.5});
      if (count != 100 && seed % 3 != 2) world.channel(from, 1 - from).set_faults({.drop = 0.1});
    }
    EXPECT_EQ(world.run(), "") << "seed " << seed;
    EXPECT_EQ(world.close(), "") << "seed " << seed;
    stale += world.total().frames_duplicate;
  }
  EXPECT_GT(stale, 1000u);
}

// One side computes for a minute, twice: nothing fails, and it is probed ten times a minute at
// most.
TEST(Sim, SilentPeers) {
  for (uint64_t seed = 1; seed <= 30 && !HasFailure(); ++seed) {
    Plan plan = random_plan(seed, seed % 2 == 0 ? 0 : 0.05);
    plan.interfaces = 2;
    World world(plan);
    for (unsigned round = 0; round < 2; ++round) {
      world.run_for(200'000);
      const uint64_t before = world.node(0).counters().probes_sent;
      world.node(1).silence(world.now() + 60'000'000'000);
      world.run_for(60'000'000'000);
      // One more where the minute ends.
      EXPECT_LE(world.node(0).counters().probes_sent - before, 11u) << "seed " << seed;
      EXPECT_EQ(world.node(0).peer(1).failures, 0u);
    }
    EXPECT_EQ(world.run(), "") << "seed " << seed;
    EXPECT_EQ(world.close(), "") << "seed " << seed;
  }
}

// Sides of different modes: on a wire without faults everything arrives, and nothing is left in
// flight.
TEST(Sim, MixedModes) {
  using link::Mode;
  for (uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) {
    Plan plan = random_plan(seed, 0);
    plan.interfaces = 3;
    plan.mutate = 0;
    for (unsigned i = 0; i < 3; ++i)
      plan.modes.push_back((seed >> i & 1) != 0 ? Mode::kObserve : Mode::kVerify);
    expect_all_delivered(plan);
  }
}

// Mode observe with faults: whatever comes is delivered, nothing fails or leaks.
TEST(Sim, ObserveWithFaults) {
  for (uint64_t seed = 1; seed <= 60 && !HasFailure(); ++seed) {
    Plan plan = random_plan(seed, 0.1);
    plan.modes.assign(plan.interfaces, link::Mode::kObserve);
    World world(plan);
    world.run_for(50'000'000);
    EXPECT_EQ(world.first_error(), "") << "seed " << seed;
    EXPECT_EQ(world.close(), "") << "seed " << seed;
    EXPECT_EQ(world.total().links_failed, 0u);
  }
}

}  // namespace
}  // namespace verity::sim
