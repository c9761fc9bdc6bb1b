// SPDX-License-Identifier: BSD-3-Clause
// Each damaged frame is reported once, with what was wrong in it, however it was repaired.
#include <gtest/gtest.h>

#include "unit/link/pair.h"

namespace verity::test {
namespace {

using health::FaultKind;
using health::Pattern;

constexpr unsigned kSegment = kSmallSegment;

class Diagnosing : public Damaging {
 protected:
  // The sum of what b counted: one record each.
  [[nodiscard]] uint64_t counted() const {
    return b.counters.faults_payload + b.counters.faults_header + b.counters.faults_length;
  }
};
VERITY_IN_EACH_FORM(Diagnosing);

TEST_P(Diagnosing, AGoodFrameIsNotReported) {
  for (unsigned i = 0; i < 100; ++i) a.send(text_of(i * 13, i));
  pair.run_until_idle();
  EXPECT_EQ(b.got.size(), 100u);
  EXPECT_TRUE(a.faults.empty());
  EXPECT_TRUE(b.faults.empty());
}

TEST_P(Diagnosing, ShortFrame) {
  send_damaged("hello", {2});
  EXPECT_TRUE(b.faults.empty()) << "not before the right bytes came";
  pair.run_until_idle();
  ASSERT_EQ(b.faults.size(), 1u);
  const End::ReportedFault& fault = b.faults[0];
  EXPECT_EQ(fault.kind, FaultKind::kPayload);
  EXPECT_EQ(fault.header.psn, 0xfffffffeu);
  EXPECT_EQ(fault.header.length, 5u);
  EXPECT_FALSE(fault.sent);
  EXPECT_TRUE(fault.on_link);
  EXPECT_EQ(fault.attempts, 1u);
  EXPECT_EQ(fault.payload, "hello");
  EXPECT_EQ(fault.syndrome.pattern, Pattern::kSingleBit);
  EXPECT_EQ(fault.syndrome.bit[0], 8 * 2 + 2u);
  EXPECT_TRUE(a.faults.empty());
}

TEST_P(Diagnosing, ShortFrameWithADamagedHeader) {
  a.send("hello");
  WireFrame frame = a.take();
  frame.flip_ack();
  b.receive(frame);
  pair.run_until_idle();
  ASSERT_EQ(b.faults.size(), 1u);
  EXPECT_EQ(b.faults[0].kind, FaultKind::kHeader);
  EXPECT_EQ(b.faults[0].syndrome.bits, 0u);
}

TEST_P(Diagnosing, SegmentsOfALongFrame) {
  const std::string text = text_of(20 * kSegment + 7);
  send_damaged(text, {3 * kSegment + 9, 11 * kSegment});
  pair.run_until_idle();
  EXPECT_EQ(b.got, std::vector<std::string>{text});
  ASSERT_EQ(b.faults.size(), 1u);
  const health::Syndrome& s = b.faults[0].syndrome;
  EXPECT_EQ(b.faults[0].kind, FaultKind::kPayload);
  EXPECT_EQ(s.pattern, Pattern::kScattered);
  EXPECT_EQ(s.bits, 2u);
  EXPECT_EQ(s.first, 3 * kSegment + 9u);
  EXPECT_EQ(s.last, 11 * kSegment + 0u);
  EXPECT_EQ(s.compared, 2 * kSegment + 0u) << "only what came again";
  EXPECT_EQ(b.faults[0].payload, text);
}

// What the wire takes at a time is less than a run of damaged segments.
TEST_P(Diagnosing, RunsThatComeInPieces) {
  Pair p{small_segments(600)};
  p.join(5);
  const std::string text = text_of(12 * kSegment);
  p.a.send(text);
  WireFrame frame = p.a.take();
  for (size_t i = 2 * kSegment; i < 10 * kSegment; ++i)
    frame.bytes[frame.header_size() + i] ^= 0xff;
  p.b.receive(frame);
  p.run_until_idle();
  EXPECT_EQ(p.b.got, std::vector<std::string>{text});
  ASSERT_EQ(p.b.faults.size(), 1u);
  EXPECT_EQ(p.b.faults[0].syndrome.pattern, Pattern::kBurst);
  EXPECT_EQ(p.b.faults[0].syndrome.bytes, 8 * kSegment + 0u);
  EXPECT_EQ(p.b.faults[0].syndrome.first, 2 * kSegment + 0u);
  EXPECT_EQ(p.b.faults[0].syndrome.last, 10 * kSegment - 1u);
}

// Each bit of a frame: as many are reported as are counted, of the kind that is counted.
TEST_P(Diagnosing, EachBitOfAFrameIsReportedOnce) {
  for (const size_t length : {size_t{5}, size_t{700}}) {
    for (size_t bit = 0;; bit += length == 5 ? 1 : 37) {
      Pair p{small_segments(8192)};
      p.join(0x1fffe);
      p.a.send(text_of(length));
      WireFrame frame = p.a.take();
      if (bit >= frame.bytes.size() * 8) break;
      const size_t header = frame.header_size() * 8;
      frame.flip(bit);
      p.b.receive(frame);
      p.a.send("next");
      p.run_for(20'000'000);
      EXPECT_EQ(p.b.got.size(), 2u) << bit;
      const health::Counters& c = p.b.counters;
      uint64_t payload = 0;
      for (const End::ReportedFault& fault : p.b.faults)
        payload += fault.kind == FaultKind::kPayload;
      EXPECT_EQ(p.b.faults.size(), c.faults_payload + c.faults_header + c.faults_length) << bit;
      EXPECT_EQ(payload, c.faults_payload) << bit;
      if (bit < header) continue;
      ASSERT_EQ(p.b.faults.size(), 1u) << bit;
      EXPECT_EQ(p.b.faults[0].syndrome.pattern, Pattern::kSingleBit) << bit;
      EXPECT_EQ(p.b.faults[0].syndrome.bit[0], bit - header);
    }
  }
}

// The one that comes again is damaged too.
TEST_P(Diagnosing, DamagedTwice) {
  const std::string text = text_of(200);
  send_damaged(text, {100});
  b.poll();
  Pair::move(b, a);
  a.poll();
  ASSERT_EQ(a.wire.size(), 1u);
  WireFrame again = a.take();
  again.flip_payload(7);
  b.receive(again);
  pair.run_for(20'000'000);
  EXPECT_EQ(b.got, std::vector<std::string>{text});
  EXPECT_EQ(b.faults.size(), 2u);
  EXPECT_EQ(counted(), 2u);
}

// A compact frame does not say how long it is: that it was cut off is seen when the right one
// comes.
TEST_P(Diagnosing, CutOff) {
  for (const size_t left : {size_t{0}, size_t{1}, size_t{99}}) {
    Pair p{small_segments(8192)};
    p.join(7);
    p.a.send(text_of(100));
    WireFrame frame = p.a.take();
    frame.bytes.resize(frame.header_size() + left);
    p.b.receive(frame);
    p.run_for(20'000'000);
    EXPECT_EQ(p.b.got, std::vector<std::string>{text_of(100)});
    ASSERT_EQ(p.b.faults.size(), 1u);
    EXPECT_EQ(p.b.faults[0].kind, FaultKind::kLength);
    EXPECT_EQ(p.b.faults[0].header.length, 100u);
  }
}

// No answer comes any more: what was queued is reported when it is discarded.
TEST_P(Diagnosing, NeverRepaired) {
  send_damaged("hello", {1});
  send_damaged(text_of(9 * kSegment), {2, 800});
  EXPECT_TRUE(b.faults.empty());
  b.hub.lifecycle.lower_failed(*b.link);
  b.hub.lifecycle.remove(*b.link);
  ASSERT_EQ(b.faults.size(), 2u);
  EXPECT_EQ(b.faults[0].kind, FaultKind::kFrame);
  EXPECT_EQ(b.faults[1].kind, FaultKind::kPayload);
  for (const End::ReportedFault& fault : b.faults) {
    EXPECT_TRUE(fault.payload.empty());
    EXPECT_EQ(fault.syndrome.bits, 0u);
  }
}

TEST_P(Diagnosing, SendersMemory) {
  a.send(text_of(100));
  WireFrame frame = a.take();
  frame.flip_payload(3);
  a.link->tx[0].oldest()->payload()[50] ^= 1;
  b.receive(frame);
  pair.run_until_idle();
  EXPECT_EQ(a.failures, std::vector<Failure>{Failure::kSourceFault});
  ASSERT_EQ(a.faults.size(), 1u);
  EXPECT_EQ(a.faults[0].kind, FaultKind::kSourceMemory);
  EXPECT_TRUE(a.faults[0].sent);
  EXPECT_EQ(a.faults[0].header.length, 100u);
  EXPECT_EQ(a.faults[0].header.psn, 0xfffffffeu);
}

TEST_P(Diagnosing, ProgramChangedWhatItSends) {
  std::vector<uint8_t> buffer(2000, 1);
  ASSERT_NE(a.send_zero_copy(buffer), nullptr);
  buffer[700] = 2;
  WireFrame frame = a.take();
  frame.flip_payload(700);
  b.receive(frame);
  pair.run_until_idle();
  ASSERT_EQ(a.faults.size(), 1u);
  EXPECT_EQ(a.faults[0].kind, FaultKind::kSourceChanged);
  EXPECT_TRUE(b.faults.empty()) << "nothing was damaged on the way";
  EXPECT_EQ(b.counters.faults_payload + b.counters.faults_header, 0u);
}

TEST_P(Diagnosing, GivenUp) {
  a.send("hello");
  WireFrame frame = a.take();
  frame.flip_payload(3);
  for (unsigned i = 0; i < 50 && a.failures.empty(); ++i) {
    b.receive(frame);
    pair.b.poll();
    Pair::move(b, a);
    a.poll();
    a.wire.clear();
    pair.now += 100'000'000;
    a.hub.tick(pair.now);
    a.wire.clear();
  }
  EXPECT_EQ(a.failures, std::vector<Failure>{Failure::kRepairsExhausted});
  ASSERT_EQ(a.faults.size(), 1u);
  EXPECT_EQ(a.faults[0].kind, FaultKind::kPersistent);
  EXPECT_GT(a.faults[0].attempts, 4u);
}

}  // namespace
}  // namespace verity::test
