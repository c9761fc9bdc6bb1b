// SPDX-License-Identifier: BSD-3-Clause
// What is asked for and sent again when payloads, headers and repairs are damaged; and that it is no more than that.
#include <gtest/gtest.h>

#include <numeric>

#include "unit/link_pair.h"

namespace verity::test {
namespace {

constexpr unsigned kSegment = kSmallSegment;

class Repairing : public Damaging {};
VERITY_IN_EACH_FORM(Repairing);

TEST_P(Repairing, SinglePayloadIsAskedForAtOnceAndSentAgain) {
  send_damaged("hello", {2});
  b.poll();
  ASSERT_EQ(b.wire.size(), 1u);
  EXPECT_EQ(b.wire.front().kind(), FrameKind::kNack);
  EXPECT_EQ(b.wire.front().body<wire::NackBody>().psn, 0xfffffffeu);
  EXPECT_EQ(b.wire.front().body<wire::NackBody>().count, 1u);
  pair.settle();
  EXPECT_EQ(b.got, std::vector<std::string>{"hello"});
  EXPECT_EQ(b.counters.faults_payload, 1u);
  EXPECT_EQ(b.counters.faults_header, 0u);
  EXPECT_EQ(b.counters.segments_repaired, 1u);
  EXPECT_EQ(b.counters.faults_repaired, 1u);
  EXPECT_EQ(a.counters.segments_resent, 1u);
  EXPECT_EQ(a.counters.segment_bytes_resent, 5u);
  EXPECT_EQ(a.counters.frames_resent, 0u);
  EXPECT_EQ(b.link->rx[0].first(), nullptr);
}

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
    for (; !way.empty() && way.front().due <= pair_.now; way.pop_front()) to.receive(way.front().frame);
  }
  Pair& pair_;
  uint64_t latency_;
  std::deque<OnItsWay> to_a_;
  std::deque<OnItsWay> to_b_;
};

// Probes go out all the while that requests and answers travel: what was answered is not answered again.
TEST_P(Repairing, NothingIsSentTwiceOverALongWire) {
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

TEST_P(Repairing, SingleHeaderIsToldFromPayload) {
  a.send("hello");
  WireFrame frame = a.take();
  frame.flip_ack();
  b.receive(frame);
  pair.settle();
  EXPECT_EQ(b.got, std::vector<std::string>{"hello"});
  EXPECT_EQ(b.counters.faults_payload, 0u);
  EXPECT_EQ(b.counters.faults_header, 1u);
  EXPECT_EQ(b.counters.segments_repaired, 0u);
  EXPECT_EQ(b.counters.faults_repaired, 1u);
  EXPECT_EQ(a.counters.segments_resent, 0u);
  EXPECT_EQ(a.counters.frames_resent, 1u);
}

// An acknowledgement is not sent again; the next frames make it good. One at the very end may have been anything.
TEST_P(Repairing, DamagedAcknowledgementsAreRepairedByWhatFollows) {
  send_damaged("hello", {2});
  pair.settle();
  ASSERT_EQ(b.counters.faults_repaired, 1u);
  const auto damage_ack = [&] {
    b.send("to you");
    a.receive(b.take());
    a.hub.flush_control();
    WireFrame ack = a.take();
    EXPECT_EQ(ack.kind(), FrameKind::kAck);
    ack.flip(ack.bytes.size() * 8 - 1);
    b.receive(ack);
  };
  damage_ack();
  EXPECT_EQ(b.counters.faults_header + b.counters.faults_payload, 2u);
  EXPECT_EQ(b.counters.faults_repaired, 1u);
  a.send("more");
  b.receive(a.take());
  damage_ack();
  EXPECT_EQ(b.counters.faults_header + b.counters.faults_payload, 3u);
  EXPECT_EQ(b.counters.faults_repaired, 2u);
  b.hub.lifecycle.remove(*b.link);
  EXPECT_EQ(b.counters.faults_repaired, 2u);
}

// Found by the next frame, or by a probe when there is none.
TEST_P(Repairing, EachBitOfAShortFrameIsRepaired) {
  const auto check = [](Class c, size_t length, bool next, size_t bit) {
    Pair p{small_segments(8192)};
    p.join(0x1fffe);
    p.a.send(text_of(length), c, 21);
    WireFrame frame = p.a.take();
    EXPECT_EQ(frame.compact, c == Class::kSync && GetParam() != Form::kFull);
    if (bit >= frame.bytes.size() * 8) return false;
    const bool in_payload = bit >= frame.header_size() * 8;
    frame.flip(bit);
    p.b.receive(frame);
    EXPECT_TRUE(p.b.got.empty());
    std::vector<std::string> right{text_of(length)};
    if (next) p.a.send(right.emplace_back("next"), c);
    p.run_for(20'000'000);
    EXPECT_EQ(p.b.got, right);
    EXPECT_EQ(p.b.am_ids.front(), 21);
    // A damaged link id names a link that is not known here.
    EXPECT_EQ(p.b.counters.faults_header + p.b.counters.faults_length + p.b.counters.faults_payload +
                  p.b.counters.frames_dropped_unknown,
              1u);
    EXPECT_EQ(p.b.counters.faults_payload, in_payload ? 1u : 0u);
    if (next) {
      const uint64_t faults = p.b.counters.faults_header + p.b.counters.faults_length + p.b.counters.faults_payload;
      p.b.hub.lifecycle.remove(*p.b.link);
      EXPECT_LE(p.b.counters.faults_repaired, faults);
      EXPECT_GE(p.b.counters.faults_repaired, p.b.link->failed() && faults == 0 ? 0u : in_payload ? 1u : 0u);
    }
    EXPECT_FALSE(p.a.link->in_flight());
    EXPECT_TRUE(p.a.failures.empty());
    return true;
  };
  for (const Class c : {Class::kSync, Class::kAsync}) {
    for (const size_t length : {0, 1, 8, 9, 30}) {
      for (const bool next : {false, true}) {
        for (size_t bit = 0; check(c, length, next, bit); ++bit) ASSERT_FALSE(HasFailure()) << length << ' ' << bit;
      }
    }
  }
}

TEST_P(Repairing, EachBitOfATreeFramesHeaderIsRepaired) {
  const std::string text = text_of(3 * kSegment + 5);
  for (unsigned bit = 0; bit < sizeof(FrameHeader) * 8; ++bit) {
    Pair p{small_segments(8192)};
    p.join(7);
    p.a.send(text);
    WireFrame frame = p.a.take();
    frame.flip(bit);
    p.b.receive(frame);
    EXPECT_TRUE(p.b.got.empty()) << bit;
    p.run_for(20'000'000);
    ASSERT_EQ(p.b.got, std::vector<std::string>{text}) << bit;
  }
}

TEST_P(Repairing, LengthsAreWrongByAnyAmount) {
  const std::string text = text_of(40);
  for (size_t size = 0; size <= 100; ++size) {
    Pair p{small_segments(8192)};
    p.join(7);
    p.a.send(text);
    WireFrame frame = p.a.take();
    if (size == frame.bytes.size()) continue;
    frame.bytes.resize(size);
    p.b.receive(frame);
    EXPECT_TRUE(p.b.got.empty()) << size;
    p.run_for(20'000'000);
    ASSERT_EQ(p.b.got, std::vector<std::string>{text}) << size;
  }
}

// Leaves from 2 to 256, some of them bad: just those travel again.
TEST_P(Repairing, OnlyDamagedSegmentsAreSentAgain) {
  uint64_t bytes = 0;
  uint64_t segments = 0;
  uint64_t frames = 0;
  for (size_t leaves = 2; leaves <= 256; leaves += leaves < 40 ? 1 : 27) {
    for (size_t every = 1; every < leaves; every = every * 3 + 1) {
      const size_t last = leaves == 2 ? kSegment / 2 : 1 + leaves * 7 % kSegment;  // no compact frame takes that
      const std::string text = text_of((leaves - 1) * kSegment + last, static_cast<unsigned>(leaves));
      std::vector<size_t> offsets;
      for (size_t leaf = leaves % every; leaf < leaves; leaf += every) {
        const size_t length = leaf + 1 == leaves ? last : kSegment;
        offsets.push_back(leaf * kSegment + (leaf * 31) % length);
        bytes += length;
        ++segments;
      }
      ++frames;
      send_damaged(text, offsets);
      pair.settle();
      ASSERT_EQ(b.got.size(), frames);
      ASSERT_EQ(b.got.back(), text);
      ASSERT_EQ(a.counters.segments_resent, segments);
      ASSERT_EQ(a.counters.segment_bytes_resent, bytes);
      ASSERT_EQ(b.counters.segments_repaired, segments);
      ASSERT_EQ(b.counters.faults_payload, frames);
    }
  }
  EXPECT_EQ(a.counters.frames_resent, 0u);
  EXPECT_EQ(b.counters.faults_header, 0u);
  EXPECT_EQ(b.counters.nacks_sent, frames);
}

TEST_P(Repairing, DamagedRepairIsRepairedInTurn) {
  const std::string text = text_of(10 * kSegment);
  send_damaged(text, {0, 3 * kSegment, 9 * kSegment + 255});
  b.poll();
  a.receive(b.take());
  a.poll();
  ASSERT_EQ(a.wire.size(), 3u);  // three runs
  WireFrame repairs[3] = {a.take(), a.take(), a.take()};
  repairs[1].flip((sizeof(FrameHeader) + sizeof(wire::RepairBody) + 9) * 8);
  for (const WireFrame& repair : repairs) b.receive(repair);
  EXPECT_TRUE(b.got.empty());
  pair.settle();
  EXPECT_EQ(b.got, std::vector<std::string>{text});
  EXPECT_EQ(a.counters.segments_resent, 4u);
  EXPECT_EQ(b.counters.segments_repaired, 3u);
}

TEST_P(Repairing, LargeFramesComeAgainInPieces) {
  Pair p{small_segments(1024)};
  p.join(3);
  std::string text = text_of(40 * kSegment + 17);
  std::vector<uint8_t> buffer(text.begin(), text.end());
  ASSERT_NE(p.a.send_zero_copy(buffer), nullptr);
  WireFrame frame = p.a.take();
  for (size_t leaf = 5; leaf < 15; ++leaf) frame.flip((sizeof(FrameHeader) + leaf * kSegment) * 8);
  p.b.receive(frame);
  p.settle();
  EXPECT_EQ(p.b.got, std::vector<std::string>{text});
  EXPECT_EQ(p.a.counters.segment_bytes_resent, 10u * kSegment);
  EXPECT_EQ(p.a.counters.segments_resent, 10u);  // in pieces that end anywhere
  EXPECT_EQ(p.b.counters.segments_repaired, 10u);
  EXPECT_EQ(p.a.freed, 1u);
  // The same when nothing of it arrived.
  ASSERT_NE(p.a.send_zero_copy(buffer), nullptr);
  p.a.take();
  p.a.send("after");
  p.settle();
  EXPECT_EQ(p.b.got, (std::vector<std::string>{text, text, "after"}));
  EXPECT_EQ(p.a.counters.frames_resent, 1u);
  EXPECT_EQ(p.a.counters.frame_bytes_resent, text.size());
  EXPECT_EQ(p.a.freed, 2u);
}

TEST_P(Repairing, PiecesWaitForABusyLowerTransport) {
  Pair p{small_segments(512)};
  p.join(3);
  const std::string text = text_of(20 * kSegment);
  std::vector<uint8_t> buffer(text.begin(), text.end());
  ASSERT_NE(p.a.send_zero_copy(buffer), nullptr);
  p.a.take();
  p.a.send("after");
  for (unsigned round = 0; round < 30; ++round) {
    p.a.busy = false;
    p.a.busy_after = 2;
    p.settle();
  }
  EXPECT_EQ(p.b.got, (std::vector<std::string>{text, "after"}));
  EXPECT_EQ(p.a.counters.frame_bytes_resent, text.size());
}

TEST_P(Repairing, AttemptsAreCountedExactly) {
  for (unsigned damaged = 0; damaged <= 6; ++damaged) {
    Pair p{small_segments(8192)};
    p.join(3);
    p.a.send("hello");
    for (unsigned i = 0; i <= damaged && p.a.failures.empty(); ++i) {
      ASSERT_EQ(p.a.wire.size(), 1u);
      WireFrame frame = p.a.take();
      if (i < damaged) frame.flip_payload(0);
      p.b.receive(frame);
      p.b.poll();
      if (p.b.wire.empty()) break;
      p.a.receive(p.b.take());
      p.a.poll();
    }
    const bool fails = damaged > p.a.hub.config().max_repairs;
    EXPECT_EQ(p.a.failures.size(), fails ? 1u : 0u) << damaged;
    EXPECT_EQ(p.b.got.size(), fails ? 0u : 1u) << damaged;
    if (fails) {
      EXPECT_EQ(p.a.failures.front(), Failure::kRepairsExhausted);
      EXPECT_EQ(p.a.counters.links_failed, 1u);
      EXPECT_FALSE(p.a.link->in_flight());
      EXPECT_FALSE(p.a.send("more"));
      p.run_for(1'000'000);
      EXPECT_EQ(p.a.failures.size(), 1u);
    }
  }
}

// A sender that will not hear the request: what it repeats unasked is enough, in order, and is no attempt.
TEST_P(Repairing, WhatIsRepeatedNeedsNoRequest) {
  const std::string large(3 * kSegment, 'x');
  a.send("first");
  a.send(large);
  a.send("last");
  for (int i = 0; i < 3; ++i) (void)a.take();
  for (unsigned i = 0; i < 3 * a.hub.config().max_repairs; ++i) {
    a.wire.clear();
    a.hub.retransmitter.retransmit_all(*a.link);
    EXPECT_TRUE(link::Retransmitter::is_pending(*a.link));
    a.poll();
    EXPECT_FALSE(link::Retransmitter::is_pending(*a.link));
  }
  EXPECT_TRUE(a.failures.empty());
  while (!a.wire.empty()) b.receive(a.take());
  EXPECT_EQ(b.got, (std::vector<std::string>{"first", large, "last"}));
  EXPECT_EQ(b.counters.nacks_sent, 0u);
  pair.settle();
  EXPECT_FALSE(a.link->in_flight());
}

TEST_P(Repairing, DamageInOurOwnCopyFailsTheLink) {
  a.send("hello");
  a.take();
  a.send("next");
  a.link->tx[0].oldest()->payload()[1] ^= 4;
  pair.settle();
  EXPECT_EQ(a.failures, std::vector<Failure>{Failure::kSourceFault});
  EXPECT_EQ(a.counters.source_faults, 1u);
  EXPECT_TRUE(b.got.empty());
}

TEST_P(Repairing, AChangedSourceIsSentAsOneSnapshot) {
  const std::string before = text_of(5 * kSegment, 1);
  const std::string after = text_of(5 * kSegment, 2);
  std::vector<uint8_t> buffer(before.begin(), before.end());
  ASSERT_NE(a.send_zero_copy(buffer), nullptr);
  WireFrame frame = a.take();
  std::copy(after.begin() + 600, after.end(), frame.bytes.begin() + sizeof(FrameHeader) + 600);  // torn
  std::copy(after.begin(), after.end(), buffer.begin());
  b.receive(frame);
  b.poll();
  a.receive(b.take());
  a.poll();
  EXPECT_EQ(a.freed, 1u) << "the link owns a copy now";
  std::fill(buffer.begin(), buffer.end(), uint8_t{0});
  pair.settle();
  EXPECT_EQ(b.got, std::vector<std::string>{after});
  EXPECT_EQ(a.counters.source_changed, 1u);
  ASSERT_EQ(a.changed.size(), 1u);
  EXPECT_EQ(a.changed[0].data, buffer.data());
  EXPECT_EQ(a.changed[0].length, buffer.size());
  EXPECT_EQ(a.counters.source_faults, 0u);
  EXPECT_EQ(a.freed, 1u);
}

// What is found out after the user has the buffer back may be another message's by then.
TEST_P(Repairing, AChangedSourceThatWasFreedBeforeIsToldAsThat) {
  const std::string after = text_of(5 * kSegment, 2);
  std::vector<uint8_t> buffer(after.size(), 1);
  ASSERT_NE(a.send_zero_copy(buffer), nullptr);
  WireFrame frame = a.take();
  frame.flip_payload(300);
  std::copy(after.begin(), after.end(), buffer.begin());
  a.poll(a.hub.config().copy_polls + 1);
  EXPECT_EQ(a.freed, 1u) << "copied, as no acknowledgement came";
  b.receive(frame);
  pair.settle();
  EXPECT_EQ(b.got, std::vector<std::string>{after});
  EXPECT_TRUE(a.changed.empty());
  ASSERT_EQ(a.changed_before.size(), 1u);
  EXPECT_EQ(a.changed_before[0].data, buffer.data());
}

TEST_P(Repairing, LowerTransportThatStillReadsKeepsTheBuffer) {
  a.lower_keeps_sources = true;
  std::vector<uint8_t> buffer(1000, 7);
  link::Slot* slot = a.send_zero_copy(buffer);
  pair.settle();
  b.poll(100);
  pair.settle();
  EXPECT_FALSE(a.link->in_flight());
  EXPECT_EQ(a.freed, 0u) << "acknowledged, but the lower transport may read it";
  a.hub.zero_copy.source_sent(*a.link, *slot);
  EXPECT_EQ(a.freed, 1u);
}

TEST_P(Repairing, RemovalInFlightFreesSourcesOnce) {
  std::vector<uint8_t> buffer(1000, 7);
  a.send_zero_copy(buffer);
  a.lower_keeps_sources = true;
  std::vector<uint8_t> other(1000, 8);
  link::Slot* slot = a.send_zero_copy(other);
  a.send("x");
  a.hub.lifecycle.remove(*a.link);
  EXPECT_EQ(a.freed, 1u);
  EXPECT_FALSE(a.hub.has_pending_control());
  a.hub.zero_copy.source_sent(*a.link, *slot);
  EXPECT_EQ(a.freed, 2u);
  pair.run_for(5'000'000);
  EXPECT_EQ(b.got.size(), 3u);
  EXPECT_TRUE(a.wire.empty());
}

// A request that comes while the answer is under way is not answered twice.
TEST_P(Repairing, AnswersUnderWayAreNotAskedForAgain) {
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
  p.settle();
  EXPECT_EQ(p.b.got, (std::vector<std::string>{text, "2", "3"}));
  EXPECT_EQ(p.a.counters.frame_bytes_resent, text.size());
}

// Frames whose loss was told are not asked for again because a later one is damaged.
TEST_P(Repairing, ADamagedFrameDoesNotRepeatEarlierRequests) {
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
  pair.settle();
  EXPECT_EQ(b.got, (std::vector<std::string>{"1", "2", "3", "4"}));
  EXPECT_EQ(a.counters.frames_resent + a.counters.segments_resent, 3u);
}

// While all memory for held frames is taken, nothing is asked for in a loop, and all arrives.
TEST_P(Repairing, WithoutMemoryForHeldFramesAllArrives) {
  link::Config config = small_segments(512);
  config.held_limit = 100;
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
