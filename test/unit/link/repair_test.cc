// SPDX-License-Identifier: BSD-3-Clause
// What is retransmitted when payloads, headers and repairs are damaged; and that it is no more than
// that.
#include <gtest/gtest.h>

#include "unit/link/pair.h"

namespace verity::test {
namespace {

constexpr unsigned kSegment = kSmallSegment;

class Repairing : public Damaging {};
VERITY_IN_EACH_FORM(Repairing);

TEST_P(Repairing, ASinglePayloadIsNackedAtOnceAndRetransmitted) {
  send_damaged("hello", {2});
  b.poll();
  ASSERT_EQ(b.wire.size(), 1u);
  EXPECT_EQ(b.wire.front().kind(), FrameKind::kNack);
  EXPECT_EQ(b.wire.front().body<wire::NackBody>().psn, 0xfffffffeu);
  EXPECT_EQ(b.wire.front().body<wire::NackBody>().count, 1u);
  pair.run_until_idle();
  EXPECT_EQ(b.got, std::vector<std::string>{"hello"});
  EXPECT_EQ(b.counters.faults_payload, 1u);
  EXPECT_EQ(b.counters.faults_header, 0u);
  EXPECT_EQ(b.counters.segments_repaired, 1u);
  EXPECT_EQ(b.counters.faults_repaired, 1u);
  EXPECT_EQ(a.counters.segments_resent, 1u);
  EXPECT_EQ(a.counters.segment_bytes_resent, 5u);
  EXPECT_EQ(a.counters.faults_sent, 1u);
  EXPECT_EQ(a.counters.frames_resent, 0u);
  EXPECT_EQ(b.link->rx[0].queue().first(), nullptr);
}

TEST_P(Repairing, ASingleHeaderIsDistinguishedFromItsPayload) {
  a.send("hello");
  WireFrame frame = a.take();
  frame.flip_ack();
  b.receive(frame);
  pair.run_until_idle();
  EXPECT_EQ(b.got, std::vector<std::string>{"hello"});
  EXPECT_EQ(b.counters.faults_payload, 0u);
  EXPECT_EQ(b.counters.faults_header, 1u);
  EXPECT_EQ(b.counters.segments_repaired, 0u);
  EXPECT_EQ(b.counters.faults_repaired, 1u);
  EXPECT_EQ(a.counters.segments_resent, 0u);
  EXPECT_EQ(a.counters.faults_sent, 0u);
  EXPECT_EQ(a.counters.frames_resent, 1u);
}

// An acknowledgement is not sent again; the next frames make it good. One at the very end may have
// been anything.
TEST_P(Repairing, DamagedAcknowledgementsAreRepairedByWhatFollows) {
  send_damaged("hello", {2});
  pair.run_until_idle();
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
    EXPECT_EQ(p.b.counters.faults_header + p.b.counters.faults_length +
                  p.b.counters.faults_payload + p.b.counters.frames_dropped_unknown,
              1u);
    EXPECT_EQ(p.b.counters.faults_payload, in_payload ? 1u : 0u);
    if (next) {
      const uint64_t faults =
          p.b.counters.faults_header + p.b.counters.faults_length + p.b.counters.faults_payload;
      p.b.hub.lifecycle.remove(*p.b.link);
      EXPECT_LE(p.b.counters.faults_repaired, faults);
      EXPECT_GE(p.b.counters.faults_repaired, p.b.link->failed() && faults == 0 ? 0u
                                              : in_payload                      ? 1u
                                                                                : 0u);
    }
    EXPECT_FALSE(p.a.link->in_flight());
    EXPECT_TRUE(p.a.failures.empty());
    return true;
  };
  for (const Class c : {Class::kSync, Class::kAsync}) {
    for (const size_t length : {0, 1, 8, 9, 30}) {
      for (const bool next : {false, true}) {
        for (size_t bit = 0; check(c, length, next, bit); ++bit)
          ASSERT_FALSE(HasFailure()) << length << ' ' << bit;
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
      const size_t last =
          leaves == 2 ? kSegment / 2 : 1 + leaves * 7 % kSegment;  // no compact frame takes that
      const std::string text =
          text_of((leaves - 1) * kSegment + last, static_cast<unsigned>(leaves));
      std::vector<size_t> offsets;
      for (size_t leaf = leaves % every; leaf < leaves; leaf += every) {
        const size_t length = leaf + 1 == leaves ? last : kSegment;
        offsets.push_back(leaf * kSegment + (leaf * 31) % length);
        bytes += length;
        ++segments;
      }
      ++frames;
      send_damaged(text, offsets);
      pair.run_until_idle();
      ASSERT_EQ(b.got.size(), frames);
      ASSERT_EQ(b.got.back(), text);
      ASSERT_EQ(a.counters.segments_resent, segments);
      ASSERT_EQ(a.counters.segment_bytes_resent, bytes);
      ASSERT_EQ(b.counters.segments_repaired, segments);
      ASSERT_EQ(b.counters.faults_payload, frames);
      ASSERT_EQ(a.counters.faults_sent, frames) << "in how many segments each";
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
  pair.run_until_idle();
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
  p.run_until_idle();
  EXPECT_EQ(p.b.got, std::vector<std::string>{text});
  EXPECT_EQ(p.a.counters.segment_bytes_resent, 10u * kSegment);
  EXPECT_EQ(p.a.counters.segments_resent, 10u);  // in pieces that end anywhere
  EXPECT_EQ(p.a.counters.faults_sent, 1u);
  EXPECT_EQ(p.b.counters.segments_repaired, 10u);
  EXPECT_EQ(p.a.freed, 1u);
  // The same when nothing of it arrived.
  ASSERT_NE(p.a.send_zero_copy(buffer), nullptr);
  p.a.take();
  p.a.send("after");
  p.run_until_idle();
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
    p.run_until_idle();
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

// A sender that will not receive the NACK: what it retransmits without one is enough, in order, and
// is no attempt.
TEST_P(Repairing, RetransmittingAllNeedsNoNack) {
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
  EXPECT_EQ(a.counters.frames_resent + a.counters.segments_resent, 0u) << "no trouble was reported";
  pair.run_until_idle();
  EXPECT_FALSE(a.link->in_flight());
}

// What the peer requests counts, whether or not it has been repeated without a request before.
TEST_P(Repairing, RequestedAfterARepetitionCounts) {
  a.send("lost");
  a.send("next");
  (void)a.take();
  b.receive(a.take());
  b.poll();
  a.hub.retransmitter.retransmit_all(*a.link);
  a.receive(b.take());
  pair.run_until_idle();
  EXPECT_EQ(b.got, (std::vector<std::string>{"lost", "next"}));
  EXPECT_EQ(a.counters.frames_resent, 1u);
}

TEST_P(Repairing, DamageInOurOwnCopyFailsTheLink) {
  a.send("hello");
  a.take();
  a.send("next");
  a.link->tx[0].oldest()->payload()[1] ^= 4;
  pair.run_until_idle();
  EXPECT_EQ(a.failures, std::vector<Failure>{Failure::kSourceFault});
  EXPECT_EQ(a.counters.source_faults, 1u);
  EXPECT_TRUE(b.got.empty());
}

}  // namespace
}  // namespace verity::test
