// SPDX-License-Identifier: BSD-3-Clause
// NACKs are sent once, and their answers too, however long those take and whatever else arrives
// meanwhile.
#include <gtest/gtest.h>

#include "unit/link/pair.h"

namespace verity::test {
namespace {

constexpr unsigned kSegment = kSmallSegment;

class Nacks : public Damaging {};
VERITY_IN_EACH_FORM(Nacks);

// A wire with a latency. Frames arrive in order.
class LongWire {
 public:
  LongWire(Pair& pair, uint64_t latency) : pair_(pair), latency_(latency) {}
  void run_for(uint64_t time) {
    for (const uint64_t end = pair_.now + time; pair_.now < end; pair_.now += 50'000) {
      step(pair_.a, pair_.b, to_b_);
      step(pair_.b, pair_.a, to_a_);
    }
  }

 private:
  struct OnItsWay {
    uint64_t due;
    WireFrame frame;
  };
  void step(End& from, End& to, std::deque<OnItsWay>& way) {
    from.poll();
    from.hub.tick(pair_.now);
    while (!from.wire.empty()) way.push_back({pair_.now + latency_, from.take()});
    for (; !way.empty() && way.front().due <= pair_.now; way.pop_front())
      to.receive(way.front().frame);
  }
  Pair& pair_;
  uint64_t latency_;
  std::deque<OnItsWay> to_a_;
  std::deque<OnItsWay> to_b_;
};

// Probes go out all the while that requests and answers travel: what was answered is not answered
// again.
TEST_P(Nacks, NothingIsSentTwiceOverALongWire) {
  for (const uint64_t latency : {500'000u, 3'000'000u, 20'000'000u, 90'000'000u}) {
    Pair p{small_segments()};
    p.join(0xfffffff0u);
    LongWire wire(p, latency);
    std::vector<std::string> sent;
    for (unsigned i = 0; i < 40; ++i) {
      sent.push_back(text_of(8 * kSegment, i));
      p.a.send(sent.back());
      if (i % 4 == 1) p.a.wire.back().flip((sizeof(FrameHeader) + 3 * kSegment) * 8);
      if (i % 8 == 3) p.a.wire.pop_back();
      wire.run_for(300'000);
    }
    wire.run_for(1'000'000'000);
    EXPECT_EQ(p.b.got, sent);
    EXPECT_EQ(p.b.counters.segments_repaired, 10u) << latency;
    EXPECT_EQ(p.a.counters.segments_resent, 10u) << latency;
    EXPECT_EQ(p.a.counters.frames_resent, 5u) << latency;
  }
}

// A request that comes while the answer is under way is not answered twice.
TEST_P(Nacks, RepairsUnderWayAreNotNackedAgain) {
  Pair p{small_segments(512)};
  p.join(3);
  const std::string text = text_of(20 * kSegment);
  std::vector<uint8_t> buffer(text.begin(), text.end());
  p.a.send_zero_copy(buffer);
  p.a.take();
  p.a.send("2");
  p.b.receive(p.a.take());
  p.b.poll();
  p.a.receive(p.b.take());
  p.a.poll();
  ASSERT_GT(p.a.wire.size(), 3u);
  p.b.receive(p.a.take());  // the first piece
  p.a.send("3");
  WireFrame third = std::move(p.a.wire.back());
  p.a.wire.pop_back();
  p.b.receive(third);
  p.b.poll(3);
  for (const WireFrame& frame : p.b.wire) EXPECT_NE(frame.kind(), FrameKind::kNack);
  p.run_until_idle();
  EXPECT_EQ(p.b.got, (std::vector<std::string>{text, "2", "3"}));
  EXPECT_EQ(p.a.counters.frame_bytes_resent, text.size());
}

// Frames that were nacked are not nacked again because a later one is damaged.
// The lower transport may fail inside of a send, and with it goes the out-of-order queue that NACKs
// are made from.
TEST_P(Nacks, EndWithALinkThatFailsWhileTheyAreSent) {
  for (const bool damaged : {false, true}) {
    Pair p{small_segments()};
    p.join(3);
    for (const char* text : {"1", "2", "3"}) p.a.send(text);
    WireFrame first = p.a.take();
    first.flip_payload(0);
    if (damaged) p.b.receive(first);
    p.b.receive(p.a.take());
    p.b.receive(p.a.take());
    p.b.on_send = [&] {
      if (!p.b.link->failed()) p.b.hub.lifecycle.lower_failed(*p.b.link);
    };
    p.b.poll();
    EXPECT_TRUE(p.b.link->failed());
    EXPECT_EQ(p.b.wire.size(), 1u);
    p.b.on_send = nullptr;
  }
}

TEST_P(Nacks, ADamagedFrameDoesNotRepeatEarlierNacks) {
  a.send("1");
  a.send("2");
  a.send("3");
  a.send("4");
  a.take();
  WireFrame two = a.take();
  WireFrame three = a.take();
  b.receive(a.take());
  b.poll();
  EXPECT_EQ(b.counters.nacks_sent, 1u);  // for 1, 2 and 3
  two.flip_payload(0);                   // comes late, and damaged
  b.receive(two);
  pair.run_until_idle();
  EXPECT_EQ(b.got, (std::vector<std::string>{"1", "2", "3", "4"}));
  EXPECT_EQ(a.counters.frames_resent + a.counters.segments_resent, 3u);
}

// While all memory of the out-of-order queue is taken, NACKs are not sent in a loop, and all
// arrives.
TEST_P(Nacks, WithoutMemoryForTheOutOfOrderQueueAllArrives) {
  link::Config config = small_segments(512);
  config.out_of_order_limit = 100;
  config.max_repairs = 16;
  Pair p{config};
  p.join(3);
  std::vector<uint8_t> buffer(30 * kSegment, 9);
  p.a.send_zero_copy(buffer);
  p.a.take();
  for (unsigned i = 0; i < 20; ++i) p.a.send("x");
  p.run_for(500'000'000);
  EXPECT_EQ(p.b.got.size(), 21u);
  EXPECT_TRUE(p.a.failures.empty());
}

}  // namespace
}  // namespace verity::test
