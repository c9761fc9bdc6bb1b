// SPDX-License-Identifier: BSD-3-Clause
// Zero-copy sends: when the user's buffers are free, and what happens when they change before.
#include <gtest/gtest.h>

#include <algorithm>

#include "unit/link/pair.h"

namespace verity::test {
namespace {

constexpr unsigned kSegment = kSmallSegment;
constexpr uint64_t kSecond = 1'000'000'000;

class ZeroCopyRepair : public Damaging {};
VERITY_IN_EACH_FORM(ZeroCopyRepair);

class ZeroCopyTime : public InEachForm {
 protected:
  ZeroCopyTime() { pair.join(); }
  // Time passes for `a` alone; what it sends meanwhile stays on the wire.
  void silence(uint64_t time, uint64_t step) {
    for (const uint64_t end = now + time; now < end; now += step) {
      a.poll();
      a.hub.tick(now);
    }
  }
  Pair pair;
  End& a = pair.a;
  End& b = pair.b;
  uint64_t now = kSecond;
};
VERITY_IN_EACH_FORM(ZeroCopyTime);

TEST_P(ZeroCopyRepair, AChangedSourceIsSentAsOneSnapshot) {
  const std::string before = text_of(5 * kSegment, 1);
  const std::string after = text_of(5 * kSegment, 2);
  std::vector<uint8_t> buffer(before.begin(), before.end());
  ASSERT_NE(a.send_zero_copy(buffer), nullptr);
  WireFrame frame = a.take();
  std::copy(after.begin() + 600, after.end(),
            frame.bytes.begin() + sizeof(FrameHeader) + 600);  // torn
  std::copy(after.begin(), after.end(), buffer.begin());
  b.receive(frame);
  b.poll();
  a.receive(b.take());
  a.poll();
  EXPECT_EQ(a.freed, 1u) << "the link owns a copy now";
  std::fill(buffer.begin(), buffer.end(), uint8_t{0});
  pair.run_until_idle();
  EXPECT_EQ(b.got, std::vector<std::string>{after});
  EXPECT_EQ(a.counters.source_changed, 1u);
  ASSERT_EQ(a.changed.size(), 1u);
  EXPECT_EQ(a.changed[0].data, buffer.data());
  EXPECT_EQ(a.changed[0].length, buffer.size());
  EXPECT_EQ(a.counters.source_faults, 0u);
  EXPECT_EQ(a.freed, 1u);
  // No path and no host had a part in it.
  EXPECT_EQ(a.counters.segments_resent, 0u);
  EXPECT_EQ(b.counters.faults_payload + b.counters.faults_header, 0u);
  EXPECT_EQ(b.counters.segments_repaired, 0u);
  EXPECT_TRUE(b.faults.empty());
}

// What is found out after the user has the buffer back may be another message's by then.
TEST_P(ZeroCopyRepair, AChangedSourceThatWasFreedBeforeIsReportedAsThat) {
  const std::string after = text_of(5 * kSegment, 2);
  std::vector<uint8_t> buffer(after.size(), 1);
  ASSERT_NE(a.send_zero_copy(buffer), nullptr);
  WireFrame frame = a.take();
  frame.flip_payload(300);
  std::copy(after.begin(), after.end(), buffer.begin());
  a.poll(a.hub.config().copy_polls + 1);
  EXPECT_EQ(a.freed, 1u) << "copied, as no acknowledgement came";
  b.receive(frame);
  pair.run_until_idle();
  EXPECT_EQ(b.got, std::vector<std::string>{after});
  EXPECT_TRUE(a.changed.empty());
  ASSERT_EQ(a.changed_before.size(), 1u);
  EXPECT_EQ(a.changed_before[0].data, buffer.data());
}

// The lower transport may read it behind its copy, as tcp does where the socket is full.
TEST_P(ZeroCopyRepair, WhatChangesBehindItsCopyIsNoDamage) {
  unsigned changed = 0;
  for (const size_t at : {0u, 700u, 4 * kSegment}) {  // in the first piece, and in the last
    a.lower_keeps_sources = true;
    const std::string text = text_of(5 * kSegment, 1);
    std::vector<uint8_t> buffer(text.begin(), text.end());
    link::Slot* slot = a.send_zero_copy(buffer, Class::kSync, 1, 3);
    a.hub.zero_copy.bounce_all(*a.link);
    WireFrame frame = a.take();
    frame.flip_payload(at);
    if (at != 0) {
      buffer[at] ^= 1;
      ++changed;
    }
    a.hub.zero_copy.source_sent(*a.link, *slot);
    b.receive(frame);
    pair.run_until_idle();
    EXPECT_EQ(b.got.back(), text);
    EXPECT_EQ(a.counters.source_changed, changed);
    EXPECT_EQ(b.counters.faults_payload, 1u) << "only what the wire damaged";
  }
  EXPECT_EQ(a.freed, 3u);
}

TEST_P(ZeroCopyRepair, LowerTransportThatStillReadsKeepsTheBuffer) {
  a.lower_keeps_sources = true;
  std::vector<uint8_t> buffer(1000, 7);
  link::Slot* slot = a.send_zero_copy(buffer);
  pair.run_until_idle();
  b.poll(100);
  pair.run_until_idle();
  EXPECT_FALSE(a.link->in_flight());
  EXPECT_EQ(a.freed, 0u) << "acknowledged, but the lower transport may read it";
  EXPECT_TRUE(link::ZeroCopy::has_unbounced(*a.link)) << "neither flushed nor freed before";
  a.hub.zero_copy.source_sent(*a.link, *slot);
  EXPECT_EQ(a.freed, 1u);
  EXPECT_FALSE(link::ZeroCopy::has_unbounced(*a.link));
}

// Its slot lives on until the lower transport is done with it: source_free() says that, too.
TEST_P(ZeroCopyRepair, ASendThatIsLetGoFreesTheBufferWhileItIsRead) {
  for (const bool acknowledged_first : {true, false}) {
    a.freed = 0;
    a.lower_keeps_sources = true;
    std::vector<uint8_t> buffer(1000, 7);
    link::Slot* slot = a.send_zero_copy(buffer);
    a.hub.zero_copy.bounce_all(*a.link);
    EXPECT_EQ(a.freed, 0u);
    EXPECT_FALSE(link::ZeroCopy::has_uncopied(*a.link));
    a.hub.zero_copy.let_go(*a.link, *slot);
    EXPECT_EQ(a.freed, 1u);
    EXPECT_TRUE(link::ZeroCopy::has_unbounced(*a.link));
    const auto acknowledge = [&] {
      pair.run_until_idle();
      b.poll(100);
      pair.run_until_idle();
      EXPECT_FALSE(a.link->in_flight());
    };
    if (acknowledged_first) acknowledge();
    EXPECT_NE(slot->source, nullptr);
    a.hub.zero_copy.source_sent(*a.link, *slot);
    EXPECT_EQ(a.freed, 2u);
    if (!acknowledged_first) acknowledge();
    EXPECT_EQ(slot->source, nullptr);
    EXPECT_FALSE(link::ZeroCopy::has_unbounced(*a.link));
  }
}

TEST_P(ZeroCopyRepair, RemovalInFlightFreesSourcesOnce) {
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

TEST_P(ZeroCopyRepair, AFrameThatLeavesFromItsSlotIsRepairedFromThere) {
  const std::string text = text_of(5 * kSegment, 1);
  ASSERT_NE(a.send_from_slot(text), nullptr);
  EXPECT_EQ(a.freed, 1u) << "no send of the user's is pending";
  EXPECT_FALSE(a.hub.zero_copy.has_unbounced(*a.link));
  WireFrame frame = a.take();
  frame.flip_payload(3 * kSegment + 1);
  a.poll(a.hub.config().copy_polls + 1);
  b.receive(frame);
  pair.run_until_idle();
  EXPECT_EQ(b.got, std::vector<std::string>{text});
  EXPECT_EQ(a.counters.segments_resent, 1u);
  EXPECT_EQ(a.counters.bounce_copies + a.counters.late_copies, 0u);
  EXPECT_EQ(a.freed, 1u);
  EXPECT_FALSE(a.link->in_flight());
}

TEST_P(ZeroCopyRepair, ADamagedSlotIsNoChangedSource) {
  link::Slot* slot = a.send_from_slot(text_of(5 * kSegment, 1));
  ASSERT_NE(slot, nullptr);
  WireFrame frame = a.take();
  frame.flip_payload(300);
  slot->payload()[700] ^= 1;
  b.receive(frame);
  pair.run_until_idle();
  EXPECT_TRUE(b.got.empty());
  EXPECT_EQ(a.failures, std::vector<Failure>{Failure::kSourceFault});
  EXPECT_EQ(a.counters.source_changed, 0u);
}

TEST_P(ZeroCopyRepair, TheSlotWaitsForTheLowerTransportThatReadsIt) {
  a.lower_keeps_sources = true;
  const std::string text = text_of(5 * kSegment, 1);
  link::Slot* slot = a.send_from_slot(text);
  ASSERT_NE(slot, nullptr);
  EXPECT_TRUE(a.hub.zero_copy.has_unbounced(*a.link));
  pair.run_until_idle();
  b.poll(100);
  pair.run_until_idle();
  EXPECT_FALSE(a.link->in_flight());
  EXPECT_EQ(a.freed, 0u);
  EXPECT_EQ(std::memcmp(slot->payload(), text.data(), text.size()), 0);
  a.hub.zero_copy.source_sent(*a.link, *slot);
  EXPECT_EQ(a.freed, 1u);
  EXPECT_FALSE(a.hub.zero_copy.has_unbounced(*a.link));
}

TEST_P(ZeroCopyRepair, AFrameThatWaitedLeavesFromItsSlotInOnePiece) {
  const std::string text = text_of(5 * kSegment, 1);
  a.busy = true;
  ASSERT_NE(a.send_from_slot(text), nullptr);
  EXPECT_TRUE(a.wire.empty());
  a.busy = false;
  EXPECT_TRUE(a.hub.retransmitter.resume(*a.link));
  ASSERT_EQ(a.wire.size(), 1u);
  pair.run_until_idle();
  EXPECT_EQ(b.got, std::vector<std::string>{text});
  EXPECT_EQ(a.counters.frames_resent, 0u);
}

// What a flush costs must not depend on how many frames are in flight.
TEST_P(ZeroCopyRepair, FramesInFlightAreCountedUntilTheyAreAcknowledged) {
  std::vector<uint8_t> buffer(5 * kSegment, 1);
  ASSERT_NE(a.send_zero_copy(buffer), nullptr);
  ASSERT_NE(a.send_from_slot(text_of(2 * kSegment, 1)), nullptr);
  ASSERT_TRUE(a.send("x"));
  EXPECT_EQ(a.link->zero_copies, 2u);
  EXPECT_TRUE(a.hub.zero_copy.has_unbounced(*a.link));
  pair.run_until_idle();
  b.poll(100);
  pair.run_until_idle();
  EXPECT_EQ(a.link->zero_copies, 0u);
  ASSERT_NE(a.send_zero_copy(buffer), nullptr);
  a.hub.lifecycle.fail(*a.link, Failure::kNoMemory);
  EXPECT_EQ(a.link->zero_copies, 0u);
}

TEST_P(ZeroCopyTime, ASilentPeersZeroCopySendCompletesEarly) {
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

// The lower transport was done with it at once: the buffer is free without any progress, and what
// is repaired comes from the copy.
TEST_P(ZeroCopyTime, AZeroCopySendCompletesAtOnceWithItsLowerOne) {
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
  EXPECT_EQ(b.got, (std::vector<std::string>{std::string(5000, 0), std::string(5000, 1),
                                             std::string(5000, 2)}));
  EXPECT_EQ(a.counters.source_changed, 0u);
  EXPECT_FALSE(a.link->in_flight());
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
TEST_P(ZeroCopyTime, APeerIsProbedEarlyHoweverLateItsZeroCopySendsAreCopied) {
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

TEST_P(ZeroCopyTime, ZeroCopySendsAreCopiedEarlyHoweverLateAPeerIsProbed) {
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
TEST_P(ZeroCopyTime, AnIdleSendersZeroCopySendsCompleteByPolls) {
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
TEST_P(ZeroCopyTime, BuffersThatCannotBeFreeYetAreNotCopied) {
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

// Memory for copies is bounded: beyond that a send completes when it is acknowledged.
TEST(ZeroCopyLimit, CopiesMadeAtOnceAreBounded) {
  Pair small({.pool_limit = 1 << 20});
  small.join();
  small.a.hub.tick(kSecond);
  std::vector<uint8_t> buffer(400'000, 5);  // 512 KiB of memory
  unsigned at_once = 0;
  for (unsigned i = 0; i < 4; ++i)
    at_once +=
        small.a.hub.zero_copy.complete_at_once(*small.a.link, *small.a.send_zero_copy(buffer));
  EXPECT_EQ(at_once, 2u);
  EXPECT_TRUE(small.a.hub.zero_copy.has_unbounced(*small.a.link));
  small.now = kSecond;
  small.run_for(kSecond, 1'000'000);
  EXPECT_EQ(small.b.got.size(), 4u);
  EXPECT_EQ(small.a.freed, 2u);
}

}  // namespace
}  // namespace verity::test
