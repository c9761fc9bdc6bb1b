// SPDX-License-Identifier: BSD-3-Clause
// Silence, probes, late copies, and the wheel behind them.
#include <gtest/gtest.h>

#include "unit/link_pair.h"

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

// Asked first after long, it need not wait as long again when its answer was lost but something else arrives.
TEST_P(Timer, APeerThatIsHeardAgainIsAskedSoon) {
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

TEST_P(Timer, ALostQuestionIsTheTimersBusiness) {
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

TEST_P(Timer, ASilentPeersZeroCopySendCompletesEarly) {
  a.hub.tick(now);
  std::vector<uint8_t> buffer(5000, 3);
  a.send_zero_copy(buffer);
  silence(1'000'000, 20'000);
  EXPECT_EQ(a.freed, 1u);
  EXPECT_EQ(a.counters.late_copies, 1u);
  EXPECT_FALSE(a.hub.zero_copy.has_unbounced(*a.link));
  std::fill(buffer.begin(), buffer.end(), uint8_t{0});
  pair.now = now;
  pair.run_for(kSecond, 1'000'000);
  EXPECT_EQ(b.got, std::vector<std::string>{std::string(5000, 3)});
}

// The lower transport was done with it at once: the buffer is free without any progress, and what is repaired comes from the copy.
TEST_P(Timer, AZeroCopySendCompletesAtOnceWithItsLowerOne) {
  a.hub.tick(now);
  std::vector<uint8_t> buffer(5000, 3);
  for (unsigned i = 0; i < 3; ++i) {
    std::fill(buffer.begin(), buffer.end(), static_cast<uint8_t>(i));
    EXPECT_TRUE(a.hub.zero_copy.complete_at_once(*a.link, *a.send_zero_copy(buffer)));
  }
  std::fill(buffer.begin(), buffer.end(), uint8_t{0xee});
  EXPECT_EQ(a.freed, 0u) << "the send's return says it";
  EXPECT_FALSE(a.hub.zero_copy.has_unbounced(*a.link));
  a.wire[1].flip_payload(77);
  pair.now = now;
  pair.run_for(kSecond, 1'000'000);
  EXPECT_EQ(b.got, (std::vector<std::string>{std::string(5000, 0), std::string(5000, 1), std::string(5000, 2)}));
  EXPECT_EQ(a.counters.source_changed, 0u);
  EXPECT_FALSE(a.link->in_flight());
}

// Memory for copies is bounded: beyond that a send completes when it is acknowledged.
TEST(TimerLimit, CopiesMadeAtOnceAreBounded) {
  Pair small({.pool_limit = 1 << 20});
  small.join();
  small.a.hub.tick(kSecond);
  std::vector<uint8_t> buffer(400'000, 5);  // 512 KiB of memory
  unsigned at_once = 0;
  for (unsigned i = 0; i < 4; ++i) at_once += small.a.hub.zero_copy.complete_at_once(*small.a.link, *small.a.send_zero_copy(buffer));
  EXPECT_EQ(at_once, 2u);
  EXPECT_TRUE(small.a.hub.zero_copy.has_unbounced(*small.a.link));
  small.now = kSecond;
  small.run_for(kSecond, 1'000'000);
  EXPECT_EQ(small.b.got.size(), 4u);
  EXPECT_EQ(small.a.freed, 2u);
}

// A zero-copy send of `buffer` that is lost, with nothing after it, and 20 ms.
void lose_zero_copy(Pair& pair, std::vector<uint8_t>& buffer) {
  pair.join();
  pair.a.hub.tick(pair.now);
  pair.a.send_zero_copy(buffer);
  pair.a.take();
  pair.run_for(20'000'000, 100'000);
}

// Two times of their own, whichever is the longer one.
TEST_P(Timer, APeerIsAskedEarlyHoweverLateItsZeroCopySendsAreCopied) {
  link::Config config;
  config.copy_after = 60 * kSecond;
  config.copy_polls = UINT32_MAX;
  Pair slow(config);
  std::vector<uint8_t> buffer(5000, 3);
  lose_zero_copy(slow, buffer);
  EXPECT_EQ(slow.b.got, std::vector<std::string>{std::string(5000, 3)});
  EXPECT_EQ(slow.a.freed, 1u) << "once it is acknowledged";
  EXPECT_EQ(slow.a.counters.late_copies, 0u);
}

TEST_P(Timer, ZeroCopySendsAreCopiedEarlyHoweverLateAPeerIsAsked) {
  link::Config config;
  config.probe_after = config.probe_limit = 60 * kSecond;
  config.copy_polls = UINT32_MAX;
  Pair slow(config);
  std::vector<uint8_t> buffer(5000, 3);
  lose_zero_copy(slow, buffer);
  EXPECT_EQ(slow.a.freed, 1u);
  EXPECT_EQ(slow.a.counters.late_copies, 1u);
  EXPECT_EQ(slow.a.counters.probes_sent, 0u);
}

// Whoever sends, and then calls for progress and finds none, waits for the send to complete.
TEST_P(Timer, AnIdleSendersZeroCopySendsCompleteByPolls) {
  std::vector<uint8_t> first(5000, 3);
  std::vector<uint8_t> second(5000, 4);
  const unsigned polls = a.hub.config().copy_polls;
  a.send_zero_copy(first);
  a.poll(polls - 1);
  a.send_zero_copy(second);
  a.poll(polls - 1);
  EXPECT_EQ(a.freed, 0u);
  a.poll(1);
  EXPECT_EQ(a.freed, 1u);
  a.poll(1);
  EXPECT_EQ(a.freed, 2u);
  EXPECT_EQ(a.counters.late_copies, 2u);
  a.poll(100);
  EXPECT_EQ(a.freed, 2u);
  first.assign(5000, 0);
  second.assign(5000, 0);
  pair.run_for(kSecond, 1'000'000);
  EXPECT_EQ(b.got, (std::vector<std::string>{std::string(5000, 3), std::string(5000, 4)}));
}

// Nothing is copied while the lower transport still reads, nor before it took the frame.
TEST_P(Timer, BuffersThatCannotBeFreeYetAreNotCopied) {
  std::vector<uint8_t> read(5000, 3);
  std::vector<uint8_t> waiting(5000, 4);
  a.lower_keeps_sources = true;
  link::Slot* slot = a.send_zero_copy(read);
  a.busy = true;
  a.send_zero_copy(waiting);
  a.poll(1000);
  EXPECT_EQ(a.counters.late_copies, 0u);
  a.hub.zero_copy.source_sent(*a.link, *slot);
  a.poll(1);
  EXPECT_EQ(a.counters.late_copies, 1u);
  EXPECT_EQ(a.freed, 1u);
  a.busy = a.lower_keeps_sources = false;
  EXPECT_TRUE(a.hub.retransmitter.resume(*a.link));
  pair.run_for(kSecond, 1'000'000);
  EXPECT_EQ(b.got, (std::vector<std::string>{std::string(5000, 3), std::string(5000, 4)}));
  EXPECT_EQ(a.freed, 2u);
}

// The clock stands still while nobody calls; silence is not told from one long pause of our own.
TEST_P(Timer, OnePauseOfOurOwnIsNotSilence) {
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
  for (const uint64_t jump : {uint64_t{1}, uint64_t{65'535}, uint64_t{4'200'000}, 3 * kSecond, 1'000'000 * kSecond}) {
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
