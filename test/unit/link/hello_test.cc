// SPDX-License-Identifier: BSD-3-Clause
// Handshakes, restarts and closing.
#include <gtest/gtest.h>

#include "unit/link/pair.h"

namespace verity::test {
namespace {

class Hello : public InEachForm {
 protected:
  void open_a() { a.open(b.hub.uid()); }
  static bool has_hello(const WireFrame& frame) {
    return !frame.compact && (frame.header().flags & wire::kHello) != 0;
  }
  Pair pair;
  End& a = pair.a;
  End& b = pair.b;
};
VERITY_IN_EACH_FORM(Hello);

TEST_P(Hello, HellosLastUntilAnswered) {
  a.host = "node17";
  b.host = "exactly-twenty-chars";
  open_a();
  a.send("1");
  EXPECT_TRUE(has_hello(a.wire.front()));
  EXPECT_EQ(a.wire.front().header().link, wire::kLinkUnknown);
  EXPECT_EQ(a.wire.front().bytes.size(), sizeof(FrameHeader) + 1 + sizeof(wire::HelloExt) + 11 + 8);
  b.receive(a.take());
  ASSERT_NE(b.link, nullptr);
  EXPECT_EQ(b.got, std::vector<std::string>{"1"});
  EXPECT_EQ(b.link->remote_id, a.link->local_id);
  EXPECT_EQ(b.introductions, (std::vector<End::Introduction>{{true, a.hub.uid(), "node17"}}));
  a.send("2");
  EXPECT_TRUE(has_hello(a.wire.front()));
  b.receive(a.take());
  b.send("answer");
  EXPECT_TRUE(has_hello(b.wire.front()));
  EXPECT_EQ(b.wire.front().header().link, a.link->local_id);
  EXPECT_TRUE(a.introductions.empty());  // it knows an address alone
  a.receive(b.take());
  EXPECT_EQ(a.introductions,
            (std::vector<End::Introduction>{{true, b.hub.uid(), "exactly-twenty-chars"}}));
  EXPECT_FALSE(a.link->carries_hello());
  EXPECT_TRUE(a.link->is_fast());
  a.send("3");
  EXPECT_FALSE(has_hello(a.wire.front()));
  b.receive(a.take());
  EXPECT_TRUE(b.link->is_fast());
  b.send("plain");
  EXPECT_FALSE(has_hello(b.wire.front()));
  EXPECT_EQ(b.got.size(), 3u);
  EXPECT_EQ(a.introductions.size() + b.introductions.size(), 2u);
}

// No flag but the request for one brings an acknowledgement at once: the peer may have closed.
TEST_P(Hello, AHelloIsAcknowledgedLikeOtherFrames) {
  open_a();
  a.send("1");
  ASSERT_TRUE(has_hello(a.wire.front()));
  b.receive(a.take());
  b.poll(b.hub.config().ack_polls - 1);
  EXPECT_TRUE(b.wire.empty());
  b.poll(2);
  EXPECT_EQ(b.wire.size(), 1u);
}

TEST_P(Hello, CrossingHellosMakeOneLink) {
  open_a();
  b.open(a.hub.uid());
  a.send("to b");
  b.send("to a");
  WireFrame first = a.take();
  a.receive(b.take());
  b.receive(first);
  pair.run_until_idle();
  a.send("x");
  b.send("y");
  pair.run_until_idle();
  EXPECT_EQ(a.got, (std::vector<std::string>{"to a", "y"}));
  EXPECT_EQ(b.got, (std::vector<std::string>{"to b", "x"}));
  EXPECT_TRUE(a.link->is_fast() && b.link->is_fast());
  EXPECT_EQ(a.counters.links_opened + b.counters.links_opened, 2u);
}

TEST_P(Hello, ALostHelloIsRepaired) {
  open_a();
  a.send("1");
  a.send("2");
  a.wire.clear();
  pair.run_for(20'000'000);
  EXPECT_EQ(b.got, (std::vector<std::string>{"1", "2"}));
  EXPECT_FALSE(a.link->in_flight());
}

TEST_P(Hello, ADamagedHelloIsRepaired) {
  for (size_t bit = 0; bit < (sizeof(FrameHeader) + 20 + 43) * 8; bit += 3) {
    Pair p;
    p.a.open(p.b.hub.uid());
    p.a.send(text_of(20));
    WireFrame frame = p.a.take();
    frame.flip(bit);
    p.b.receive(frame);
    EXPECT_TRUE(p.b.got.empty()) << bit;
    p.run_for(20'000'000);
    EXPECT_EQ(p.b.got, std::vector<std::string>{text_of(20)}) << bit;
  }
}

TEST_P(Hello, ADamagedHelloOfATreeFrameIsRepaired) {
  link::Config config;
  config.segment_log2 = 8;
  for (size_t bit = 0; bit < (sizeof(FrameHeader) + 600 + 43) * 8; bit += bit < 256 ? 1 : 17) {
    Pair p{config};
    p.a.open(p.b.hub.uid());
    p.a.send(text_of(600));
    WireFrame frame = p.a.take();
    frame.flip(bit);
    p.b.receive(frame);
    EXPECT_TRUE(p.b.got.empty()) << bit;
    p.run_for(20'000'000);
    EXPECT_EQ(p.b.got, std::vector<std::string>{text_of(600)}) << bit;
  }
}

// A frame that came again in pieces, without its HELLO, may be requested as a whole later: it must
// name its link then.
TEST_P(Hello, AHelloFrameRebuiltFromPiecesCanComeAsAWhole) {
  link::Config config;
  config.segment_log2 = 11;
  config.max_send = 1024;
  Pair p{config};
  p.a.open(p.b.hub.uid());
  const std::string text = text_of(1000);
  std::vector<uint8_t> buffer(text.begin(), text.end());
  ASSERT_NE(p.a.send_zero_copy(buffer), nullptr);
  p.a.take();
  p.a.send("2");
  p.b.receive(p.a.take());
  p.b.poll();
  p.a.receive(p.b.take());
  p.a.poll();
  ASSERT_FALSE(p.a.wire.empty());
  EXPECT_EQ(p.a.wire.front().kind(), FrameKind::kRepair);
  p.a.wire.clear();
  p.b.send("answer");
  p.run_for(100'000'000);
  EXPECT_EQ(p.b.got, (std::vector<std::string>{text, "2"}));
}

// The peer's frame can arrive before the address exchange of a connect-to-endpoint transport is
// complete here.
TEST_P(Hello, AFrameBeforeConnectDoesNotEstablish) {
  a.link = std::make_unique<link::Link>();
  b.link = std::make_unique<link::Link>();
  a.hub.lifecycle.enter(*a.link);
  b.hub.lifecycle.enter(*b.link);
  a.hub.lifecycle.connect(*a.link, b.hub.uid(), b.link->local_id, Mode::kVerify);
  a.send("early");
  b.receive(a.take());
  EXPECT_FALSE(b.link->is_fast());
  b.hub.lifecycle.connect(*b.link, a.hub.uid(), a.link->local_id, Mode::kVerify);
  b.send("answer");
  pair.run_for(20'000'000);
  EXPECT_EQ(b.got, std::vector<std::string>{"early"});
  EXPECT_EQ(a.got, std::vector<std::string>{"answer"});
}

// A peer that gave its link up and has nothing to say must not leave us waiting for ever.
TEST_P(Hello, AProbeDetectsThatThePeersLinkIsGone) {
  open_a();
  a.send("1");
  pair.run_until_idle();
  b.send("2");
  pair.run_until_idle();
  a.send("3");
  pair.run_until_idle();
  ASSERT_FALSE(b.link->carries_hello());
  a.hub.lifecycle.remove(*a.link);
  a.link = nullptr;
  b.send("to no one");
  pair.run_for(50'000'000);
  EXPECT_EQ(b.failures, std::vector<Failure>{Failure::kRestarted});
  EXPECT_EQ(a.got, std::vector<std::string>{"2"});
  b.send("on the new link");
  pair.run_for(50'000'000);
  EXPECT_EQ(a.got.back(), "on the new link");
  EXPECT_EQ(a.failures.size() + b.failures.size(), 1u);
}

TEST_P(Hello, RestartWithAHigherEpochFailsTheOldLinkOnce) {
  open_a();
  a.send("1");
  pair.run_until_idle();
  b.send("answer");
  pair.run_until_idle();
  b.send("never acknowledged");
  b.wire.clear();
  a.hub.lifecycle.remove(*a.link);
  open_a();
  a.send("again 1");
  WireFrame first = a.take();
  b.receive(first);
  EXPECT_EQ(b.failures, std::vector<Failure>{Failure::kRestarted});
  pair.run_until_idle();
  EXPECT_EQ(b.got.back(), "again 1");
  b.send("new");
  a.send("again 2");
  pair.run_for(20'000'000);
  EXPECT_EQ(a.got.back(), "new");
  EXPECT_EQ(b.got.back(), "again 2");
  EXPECT_EQ(a.failures.size(), 0u);
  EXPECT_EQ(b.failures.size(), 1u);
  b.receive(first);
  EXPECT_EQ(b.got.size(), 3u) << "a stale repetition";
}

// Frames of the peer's old incarnation are on the way while we restart: they must not be taken for
// answers to the new one, and the two sides must come to rest.
TEST_P(Hello, RestartCrossingFramesOfTheOldIncarnationComesToRest) {
  open_a();
  a.send("1");
  pair.run_until_idle();
  ASSERT_NE(b.link, nullptr);
  b.send("old");  // b is in its handshake still
  b.send("old");
  ASSERT_TRUE(has_hello(b.wire.front()));
  a.hub.lifecycle.remove(*a.link);
  open_a();
  a.send("2");
  Pair::move(b, a);
  EXPECT_TRUE(a.got.empty()) << "meant for the incarnation that is gone";
  pair.run_for(100'000'000);
  EXPECT_EQ(b.failures.size(), 1u);
  EXPECT_EQ(a.failures.size(), 0u);
  b.send("new");
  pair.run_for(100'000'000);
  EXPECT_EQ(b.got, (std::vector<std::string>{"1", "2"}));
  EXPECT_EQ(a.got, std::vector<std::string>{"new"});
  EXPECT_LE(a.counters.links_opened + b.counters.links_opened, 4u);
}

TEST_P(Hello, RestartOfBothSidesComesToRest) {
  for (unsigned order = 0; order < 16; ++order) {
    Pair p;
    p.a.open(p.b.hub.uid());
    p.a.send("1");
    if ((order & 1) != 0) p.run_until_idle();
    if (p.b.link == nullptr) p.b.open(p.a.hub.uid());
    p.b.send("2");
    if ((order & 2) != 0) p.run_until_idle();
    p.a.hub.lifecycle.remove(*p.a.link);
    p.b.hub.lifecycle.remove(*p.b.link);
    p.a.open(p.b.hub.uid());
    p.b.open(p.a.hub.uid());
    p.a.send("3");
    if ((order & 4) != 0) Pair::move(p.a, p.b);
    p.b.send("4");
    if ((order & 8) != 0) Pair::move(p.b, p.a);
    p.run_for(100'000'000);
    p.a.send("5");
    p.b.send("6");
    p.run_for(100'000'000);
    EXPECT_EQ(p.b.got.empty() ? "" : p.b.got.back(), "5") << order;
    EXPECT_EQ(p.a.got.empty() ? "" : p.a.got.back(), "6") << order;
    EXPECT_LE(p.a.counters.links_opened + p.b.counters.links_opened, 8u) << order;
    EXPECT_TRUE(p.a.wire.empty() && p.b.wire.empty());
  }
}

TEST_P(Hello, APeerWithANewUidIsANewLink) {
  open_a();
  a.send("1");
  pair.run_until_idle();
  link::Link* old = b.link.get();
  End a2(0xa2, {});
  a2.open(b.hub.uid());
  a2.send("from the new process");
  b.receive(a2.take());
  EXPECT_NE(b.link.get(), old);
  EXPECT_EQ(b.got.back(), "from the new process");
  EXPECT_TRUE(b.failures.empty());
}

TEST_P(Hello, FramesForAnotherInterfaceAreRefused) {
  pair.join();
  End c(0xc3, {});
  c.open(a.hub.uid());
  c.hub.lifecycle.connect(*c.link, a.hub.uid(), a.link->local_id, Mode::kVerify);
  a.send("for b");
  c.receive(a.take());
  EXPECT_TRUE(c.got.empty());
  EXPECT_EQ(c.verdicts, std::vector<wire::Verdict>{wire::Verdict::kBadFrame});
}

// An answer to an interface that closed reaches one of the same process that has its address now.
TEST_P(Hello, AnAnswerToAClosedInterfaceIsNoFault) {
  open_a();
  a.send("1");
  b.receive(a.take());
  b.send("late answer");
  WireFrame late = b.take();
  End next(0xa2, {});
  next.open(b.hub.uid());
  next.closed_before = {0x1234, a.hub.uid()};
  const WireFrame right = late;
  late.flip_payload(3);
  next.receive(right);
  EXPECT_EQ(next.counters.frames_dropped_unknown, 1u);
  EXPECT_EQ(next.counters.faults_header, 0u);
  EXPECT_TRUE(next.got.empty() && next.verdicts.empty() && next.faults.empty());
  next.receive(late);  // a damaged one
  EXPECT_EQ(next.verdicts, std::vector<wire::Verdict>{wire::Verdict::kBadFrame});
}

TEST_P(Hello, GenerationsGuardReusedIds) {
  pair.join();
  a.send("1");
  const WireFrame frame = a.take();
  const uint32_t before = b.link->local_id;
  b.hub.lifecycle.remove(*b.link);
  b.open(a.hub.uid());
  EXPECT_NE(b.link->local_id, before);
  b.receive(frame);
  EXPECT_TRUE(b.got.empty());
  EXPECT_EQ(b.counters.frames_dropped_unknown, 1u);
}

// An interface that closed does not come back. An answer to a frame of its that comes once more
// would go to what has its address by then.
TEST_P(Hello, AFrameRepeatedBehindAByeMakesNoLink) {
  open_a();
  a.send("1");
  const WireFrame first = a.wire.front();
  pair.run_until_idle();
  a.hub.lifecycle.close_all();
  pair.run_until_idle();
  ASSERT_TRUE(b.link->peer_closed());
  b.hub.lifecycle.remove(*b.link);
  b.link.reset();
  b.receive(first);
  pair.run_until_idle();
  EXPECT_EQ(b.link, nullptr);
  EXPECT_EQ(b.got, std::vector<std::string>{"1"});
  // What it sent on another path before may come behind that BYE.
  const auto closed = std::move(a.link);
  a.open(b.hub.uid(), 1);
  a.send("2");
  pair.run_until_idle();
  EXPECT_EQ(b.got, (std::vector<std::string>{"1", "2"}));
  a.hub.lifecycle.remove(*closed);
}

TEST_P(Hello, AByeCompletesWhatIsInFlight) {
  pair.join();
  std::vector<uint8_t> buffer(100, 1);
  a.send_zero_copy(buffer);
  b.receive(a.take());
  b.hub.lifecycle.close_all();
  b.poll();
  ASSERT_FALSE(b.wire.empty());
  const WireFrame bye = b.wire.back();
  EXPECT_EQ(bye.kind(), FrameKind::kBye);
  a.receive(bye);
  a.receive(bye);
  EXPECT_EQ(a.closed, 1u);
  EXPECT_EQ(a.freed, 1u);
  EXPECT_TRUE(a.hub.is_idle());
  EXPECT_FALSE(a.send("no peer"));
}

TEST_P(Hello, ByeWaitsForABusyLowerTransport) {
  pair.join();
  b.busy = true;
  b.hub.lifecycle.close_all();
  b.poll(10);
  EXPECT_FALSE(b.hub.is_idle());
  b.busy = false;
  EXPECT_TRUE(b.hub.flush_control());
  EXPECT_EQ(b.wire.size(), 1u);
}

TEST_P(Hello, DataCrossingAByeIsDelivered) {
  pair.join();
  a.send("last words");
  b.hub.lifecycle.close_all();
  b.poll();
  a.receive(b.take());
  pair.run_until_idle();
  EXPECT_EQ(b.got, std::vector<std::string>{"last words"});
  EXPECT_TRUE(a.hub.is_idle() && b.hub.is_idle());
}

}  // namespace
}  // namespace verity::test
