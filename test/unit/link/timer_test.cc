// SPDX-License-Identifier: BSD-3-Clause
// Retransmission timeouts.
#include <gtest/gtest.h>

#include <algorithm>

#include "unit/link/pair.h"

namespace verity::test {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

class Timer : public InEachForm {
 protected:
  Timer() { pair.join(); }
  // Time passes for `a` alone; what it sends meanwhile stays on the wire.
  void silence(uint64_t time, uint64_t step) {
    for (const uint64_t end = now + time; now < end; now += step) {
      a.poll();
      a.hub.tick(now);
    }
  }
  unsigned probes() const {
    unsigned count = 0;
    for (const WireFrame& frame : a.wire) count += frame.kind() == FrameKind::kProbe;
    return count;
  }
  Pair pair;
  End& a = pair.a;
  End& b = pair.b;
  uint64_t now = kSecond;
};
VERITY_IN_EACH_FORM(Timer);

TEST_P(Timer, APeerSilentForAMinuteIsProbedTenTimesAtMost) {
  a.hub.tick(now);
  a.send("sync");
  a.send("async", Class::kAsync);
  a.take();
  a.take();
  silence(60 * kSecond, 100'000);
  EXPECT_LE(a.counters.probes_sent, 10u);
  EXPECT_GE(a.counters.probes_sent, 5u);
  EXPECT_EQ(a.wire.size(), a.counters.probes_sent);
  EXPECT_TRUE(a.failures.empty());
  // Both are found lost once the peer is back, and the link rests.
  pair.now = now;
  pair.run_for(40 * kSecond, 1'000'000);
  EXPECT_EQ(b.got.size(), 2u);
  EXPECT_FALSE(a.link->in_flight());
}

// A process that went to sleep before the frame was sent learns when it has to wake.
TEST_P(Timer, TheFirstFrameInFlightSetsADeadline) {
  pair.run_for(kSecond, 1'000'000);
  const unsigned before = a.deadlines;
  a.send("first");
  a.send("second");
  EXPECT_EQ(a.deadlines, before + 1);
  EXPECT_NE(a.hub.next_deadline(), UINT64_MAX);
  pair.run_for(kSecond, 1'000'000);
  a.send("third");
  EXPECT_EQ(a.deadlines, before + 2);
}

// Asked first after long, it need not wait as long again when its answer was lost but something
// else arrives.
TEST_P(Timer, APeerThatIsHeardAgainIsProbedSoon) {
  a.hub.tick(now);
  a.send("lost");
  a.take();
  silence(30 * kSecond, 100'000);
  a.wire.clear();
  b.send("here I am", Class::kAsync);
  b.wire.front().flip_payload(3);  // damaged, but heard
  a.receive(b.take());
  silence(3'000'000, 100'000);
  EXPECT_GE(probes(), 1u);
  pair.now = now;
  pair.run_for(10'000'000, 100'000);
  EXPECT_EQ(b.got, std::vector<std::string>{"lost"});
}

TEST_P(Timer, AHealthyLinkIsNotProbed) {
  for (unsigned i = 0; i < 2000; ++i) {
    a.send("x");
    pair.run_for(60'000, 20'000);
  }
  EXPECT_EQ(a.counters.probes_sent, 0u);
  EXPECT_EQ(b.got.size(), 2000u);
}

// As a flush does, again and again until all is acknowledged.
TEST_P(Timer, WhoWaitsAsksOnceAndIsAnsweredAtOnce) {
  a.hub.sender.request_ack(*a.link);
  a.poll();
  EXPECT_EQ(probes(), 0u) << "nothing is in flight";
  a.send("first");
  a.send("other class", Class::kAsync);
  b.receive(a.take());
  b.receive(a.take());
  for (unsigned i = 0; i < 3; ++i) {
    a.hub.sender.request_ack(*a.link);
    a.poll();
  }
  EXPECT_EQ(probes(), 2u) << "one for each class";
  a.send("second");
  a.hub.sender.request_ack(*a.link);
  a.poll();
  EXPECT_EQ(probes(), 2u) << "while no answer came";
  while (!a.wire.empty()) b.receive(a.take());
  b.poll(1);
  while (!b.wire.empty()) a.receive(b.take());
  EXPECT_FALSE(a.link->in_flight());
  a.send("third");
  a.hub.sender.request_ack(*a.link);
  a.poll();
  EXPECT_EQ(probes(), 1u);
}

TEST_P(Timer, ALostRequestIsTheTimersBusiness) {
  a.hub.tick(now);
  a.send("lost");
  a.hub.sender.request_ack(*a.link);
  a.poll();
  a.wire.clear();
  silence(10'000'000, 100'000);
  EXPECT_GE(probes(), 1u);
  pair.now = now;
  pair.run_for(10'000'000, 100'000);
  EXPECT_EQ(b.got, std::vector<std::string>{"lost"});
}

// The clock does not advance between calls; a timeout is not concluded from one long pause of our
// own.
TEST_P(Timer, OnePauseOfOurOwnIsNoTimeout) {
  a.hub.tick(now);
  now += 100 * kSecond;
  std::vector<uint8_t> buffer(5000, 3);
  a.send_zero_copy(buffer);
  a.hub.tick(now);
  EXPECT_EQ(a.freed, 0u);
  EXPECT_EQ(a.counters.probes_sent, 0u);
}

TEST_P(Timer, NextDeadlineWakesInTime) {
  a.hub.tick(now);
  EXPECT_EQ(a.hub.next_deadline(), UINT64_MAX);
  a.send("lost");
  a.take();
  unsigned wakes = 0;
  while (a.counters.probes_sent < 4) {
    const uint64_t at = a.hub.next_deadline();
    ASSERT_NE(at, UINT64_MAX);
    now = std::max(at, now + 70'000);  // one step of the wheel
    a.hub.tick(now);
    a.poll();
    ASSERT_LT(++wakes, 20u);
  }
  EXPECT_LT(now, kSecond + 100'000'000);
}

// Time may jump far, or by less than a step of the wheel.
TEST_P(Timer, OddTimes) {
  for (const uint64_t jump :
       {uint64_t{1}, uint64_t{65'535}, uint64_t{4'200'000}, 3 * kSecond, 1'000'000 * kSecond}) {
    a.send("x");
    a.wire.clear();
    for (unsigned i = 0; i < 50; ++i) a.hub.tick(now += jump);
    pair.now = now;
    pair.run_for(50 * kSecond, 5'000'000);
    now = pair.now;
    EXPECT_FALSE(a.link->in_flight());
  }
  EXPECT_EQ(b.got.size(), 5u);
}

}  // namespace
}  // namespace verity::test
