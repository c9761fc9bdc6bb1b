// SPDX-License-Identifier: BSD-3-Clause
// The modes of a link: how both sides agree, and what mode observe does.
#include <gtest/gtest.h>

#include <algorithm>

#include "unit/link/pair.h"

namespace verity::test {
namespace {

class Modes : public InEachForm {};
VERITY_IN_EACH_FORM(Modes);

link::Config with_mode(Mode mode) {
  link::Config config;
  config.mode = mode;
  return config;
}

TEST_P(Modes, ModesAreTheLowerOfBoth) {
  for (const Mode of_a : {Mode::kObserve, Mode::kVerify}) {
    for (const Mode of_b : {Mode::kObserve, Mode::kVerify}) {
      Pair p{with_mode(of_a), with_mode(of_b)};
      p.a.open(p.b.hub.uid());
      for (unsigned i = 0; i < 5; ++i) {
        p.a.send("from a");
        Pair::move(p.a, p.b);
        p.b.send("from b");
        Pair::move(p.b, p.a);
      }
      p.run_for(50'000'000);
      EXPECT_EQ(p.a.link->mode(), std::min(of_a, of_b));
      EXPECT_EQ(p.b.link->mode(), std::min(of_a, of_b));
      EXPECT_EQ(p.a.link->is_fast(), std::min(of_a, of_b) == Mode::kVerify);
      EXPECT_EQ(p.a.got.size(), 5u);
      EXPECT_EQ(p.b.got.size(), 5u);
      EXPECT_FALSE(p.a.link->in_flight() || p.b.link->in_flight());
      EXPECT_FALSE(p.a.link->carries_hello() || p.b.link->carries_hello());
    }
  }
}

// Nothing is kept for a peer that comes back: what it sends first is taken, as it is sent once.
TEST_P(Modes, ObserveTakesTheFirstFrameOfAPeerThatComesBack) {
  for (const Mode of_a : {Mode::kObserve, Mode::kVerify}) {
    Pair p{with_mode(of_a), with_mode(Mode::kObserve)};
    for (const char* text : {"first", "again"}) {
      p.a.open(p.b.hub.uid());
      EXPECT_TRUE(p.a.send(text));
      p.run_for(50'000'000);
      for (End* end : {&p.a, &p.b}) {
        ASSERT_NE(end->link, nullptr);
        end->hub.lifecycle.remove(*end->link);
        end->link.reset();
      }
    }
    EXPECT_EQ(p.b.got, (std::vector<std::string>{"first", "again"}));
  }
}

// A connect-to-endpoint link knows the mode from the addresses; one that also hears a HELLO of a
// lower mode leaves the fast path.
TEST_P(Modes, ALowerModeEndsTheFastPath) {
  Pair p{with_mode(Mode::kVerify), with_mode(Mode::kObserve)};
  p.a.open(p.b.hub.uid());
  p.b.open(p.a.hub.uid());
  p.a.hub.lifecycle.connect(*p.a.link, p.b.hub.uid(), p.b.link->local_id, Mode::kVerify);
  p.b.send("hello");
  p.a.receive(p.b.take());
  EXPECT_EQ(p.a.link->mode(), Mode::kObserve);
  EXPECT_FALSE(p.a.link->is_fast());
}

// Mode observe checks and counts, and delivers what came, each frame once.
TEST_P(Modes, ObserveDeliversDamagedFramesOnce) {
  for (const Mode sender : {Mode::kObserve, Mode::kVerify}) {
    Pair p{with_mode(sender), with_mode(Mode::kObserve)};
    p.a.open(p.b.hub.uid());
    const char* const texts[] = {"zero", "one", "two", "three"};
    for (unsigned i = 0; i < 4; ++i) {
      p.a.send(texts[i]);
      WireFrame frame = p.a.take();
      if (i == 1) frame.flip(offsetof(FrameHeader, psn) * 8 + 3);
      if (i == 2) frame.flip(sizeof(FrameHeader) * 8);
      // Greeting frames name their link in the HELLO.
      p.b.receive(frame);
    }
    p.run_for(50'000'000);
    ASSERT_EQ(p.b.got.size(), 4u) << static_cast<int>(sender);
    EXPECT_EQ(p.b.got[0], "zero");
    EXPECT_EQ(p.b.got[1], "one");
    EXPECT_EQ(p.b.got[2], "uwo");
    EXPECT_EQ(p.b.got[3], "three");
    EXPECT_EQ(p.b.counters.faults_observed, 2u);
    EXPECT_EQ(p.a.counters.frames_resent + p.a.counters.segments_resent, 0u);
    EXPECT_FALSE(p.a.link->in_flight());
  }
}

// An answer that comes after the interface has closed reaches whoever has its address then.
TEST_P(Modes, ObserveWaitsForTheAnswerToItsHello) {
  Pair p(with_mode(Mode::kObserve));
  p.a.open(p.b.hub.uid());
  EXPECT_TRUE(p.a.hub.is_idle());
  p.a.send("one");
  EXPECT_FALSE(p.a.link->in_flight());
  EXPECT_FALSE(p.a.hub.is_idle());
  p.run_for(50'000'000);
  EXPECT_EQ(p.b.got, std::vector<std::string>{"one"});
  EXPECT_TRUE(p.a.hub.is_idle() && p.b.hub.is_idle());
}

// The peer has a link since the first frame.
TEST_P(Modes, ObserveSendsAByeToAPeerThatHasNotAnswered) {
  Pair p(with_mode(Mode::kObserve));
  p.a.open(p.b.hub.uid());
  p.a.send("one");
  p.a.hub.lifecycle.close_all();
  p.run_for(50'000'000);
  EXPECT_EQ(p.b.got, std::vector<std::string>{"one"});
  EXPECT_EQ(p.b.closed, 1u);
}

// A long zero-copy frame whose buffer is needed before it could be sent leaves from its copy, in
// its turn. In pieces a receiver in mode observe would not reassemble it, and in mode verify it
// would come behind what was sent later, as if it had been lost.
TEST_P(Modes, ALongFrameLeavesFromItsCopyInItsTurn) {
  for (const link::Mode mode : {link::Mode::kObserve, link::Mode::kVerify}) {
    link::Config config = with_mode(mode);
    config.max_large = 60000;
    Pair p(config);
    p.join();
    std::vector<uint8_t> buffer(3 * config.max_send, 3);
    p.a.busy = true;
    link::Slot* slot = p.a.send_zero_copy(buffer);
    ASSERT_NE(slot, nullptr);
    p.a.hub.zero_copy.bounce_all(*p.a.link);
    EXPECT_EQ(p.a.freed, 1u);
    buffer.assign(buffer.size(), 0);
    p.a.busy = false;
    p.a.lower_keeps_sources = true;
    EXPECT_TRUE(p.a.hub.retransmitter.resume(*p.a.link));
    EXPECT_TRUE(link::ZeroCopy::has_unbounced(*p.a.link)) << "the lower transport reads the copy";
    ASSERT_TRUE(p.a.send("behind it"));
    p.run_for(50'000'000);
    EXPECT_EQ(p.b.got, (std::vector<std::string>{std::string(buffer.size(), 3), "behind it"}));
    p.a.hub.zero_copy.source_sent(*p.a.link, *slot);
    EXPECT_FALSE(link::ZeroCopy::has_unbounced(*p.a.link));
    EXPECT_EQ(p.a.freed, 1u);
    EXPECT_EQ(p.b.counters.gaps, 0u);
    EXPECT_EQ(p.a.counters.frames_resent, 0u);
  }
}

}  // namespace
}  // namespace verity::test
