// SPDX-License-Identifier: BSD-3-Clause
// Exact sequence numbers, acknowledgements and control frames on scripted exchanges.
#include "unit/link/exchange.h"

namespace verity::test {
namespace {

INSTANTIATE_TEST_SUITE_P(FirstPsn, Exchange, first_psns());

TEST_P(Exchange, NumbersAreConsecutiveAndAcknowledgementsRide) {
  for (uint32_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(a.send("ping"));
    ASSERT_EQ(a.wire.size(), 1u);
    EXPECT_EQ(a.wire.front().header(first()).psn, first() + i);
    EXPECT_EQ(a.wire.front().header(first()).ack, first() + i);
    b.receive(a.take());
    EXPECT_EQ(b.link->rx[0].expected(), first() + i + 1);
    ASSERT_TRUE(b.send("pong"));
    EXPECT_EQ(b.wire.front().header(first()).psn, first() + i);
    EXPECT_EQ(b.wire.front().header(first()).ack, first() + i + 1);
    a.receive(b.take());
    EXPECT_EQ(a.link->tx[0].una(), first() + i + 1);
    EXPECT_FALSE(a.link->in_flight());
  }
}

TEST_P(Exchange, PingPongHasNoControlFrames) {
  unsigned frames = 0;
  for (unsigned i = 0; i < 1000; ++i) {
    a.send("12345678");
    a.poll(3);
    for (; !a.wire.empty(); ++frames) b.receive(a.take());
    b.send("abcdefgh");
    b.poll(3);
    for (; !b.wire.empty(); ++frames) a.receive(b.take());
  }
  EXPECT_EQ(frames, 2000u);
  EXPECT_EQ(
      a.counters.acks_sent + b.counters.acks_sent + a.counters.probes_sent + b.counters.probes_sent,
      0u);
  EXPECT_EQ(a.counters.frames_sent, 1000u);
  EXPECT_EQ(b.counters.frames_verified, 1000u);
  EXPECT_EQ(b.counters.bytes_verified, 8000u);
}

TEST_P(Exchange, IdleReceiverAcknowledgesAloneOnce) {
  a.send("x");
  b.receive(a.take());
  b.poll(b.hub.config().ack_polls - 1);
  EXPECT_TRUE(b.wire.empty());
  b.poll(2);
  ASSERT_EQ(b.wire.size(), 1u);
  EXPECT_EQ(b.wire.front().kind(), FrameKind::kAck);
  EXPECT_EQ(b.wire.front().header(first()).ack, first() + 1);
  EXPECT_EQ(b.wire.front().bytes.size(), sizeof(FrameHeader));
  a.receive(b.take());
  EXPECT_FALSE(a.link->in_flight());
  b.poll(1000);
  EXPECT_TRUE(b.wire.empty());
}

TEST_P(Exchange, FullWindowStopsAndOpensAgain) {
  for (unsigned i = 0; i < 8; ++i) EXPECT_TRUE(a.send("x"));
  EXPECT_FALSE(a.send("x"));
  EXPECT_FALSE(a.hub.sender.can_send(*a.link, Class::kSync));
  EXPECT_TRUE(a.hub.sender.can_send(*a.link, Class::kAsync));
  // Every quarter of the window asks for an acknowledgement.
  unsigned requests = 0;
  for (const WireFrame& frame : a.wire) requests += (frame.header().flags & wire::kAckRequest) != 0;
  EXPECT_EQ(requests, 4u);
  EXPECT_EQ(a.writables, 0u);
  pair.run_until_idle();
  EXPECT_EQ(a.writables, 1u);
  EXPECT_EQ(a.link->tx[0].una(), first() + 8);
  EXPECT_TRUE(a.send("x"));
  EXPECT_EQ(b.got.size(), 8u);
}

TEST_P(Exchange, ClassesHaveTheirOwnNumbers) {
  a.send("s", Class::kSync, 3);
  a.send("a", Class::kAsync, 4);
  EXPECT_EQ(a.wire[0].header(first()).psn, first());
  EXPECT_EQ(a.wire[1].header(first()).psn, first());
  EXPECT_EQ(a.wire[1].header().frame_class(), Class::kAsync);
  pair.run_until_idle();
  EXPECT_EQ(b.am_ids, (std::vector<uint8_t>{3, 4}));
}

TEST_P(Exchange, AFrameOfTheOtherClassIsRefused) {
  a.send("s", Class::kAsync);
  WireFrame frame = a.take();
  frame.c = Class::kSync;
  b.receive(frame);
  EXPECT_TRUE(b.got.empty());
  EXPECT_EQ(b.counters.faults_header, 1u);
}

TEST_P(Exchange, DuplicateIsDroppedAndAcknowledged) {
  a.send("x");
  const WireFrame frame = a.take();
  b.receive(frame);
  b.receive(frame);
  EXPECT_EQ(b.got.size(), 1u);
  EXPECT_EQ(b.counters.frames_duplicate, 1u);
  b.poll();
  ASSERT_EQ(b.wire.size(), 1u);
  EXPECT_EQ(b.wire.front().header(first()).ack, first() + 1);
}

TEST_P(Exchange, TheNextFrameNacksALostOne) {
  a.send("1");
  a.send("2");
  a.send("3");
  a.take();
  b.receive(a.take());
  EXPECT_TRUE(b.got.empty());
  b.poll();
  ASSERT_EQ(b.wire.size(), 1u);
  ASSERT_EQ(b.wire.front().kind(), FrameKind::kNack);
  const auto nack = b.wire.front().body<wire::NackBody>();
  EXPECT_EQ(nack.psn, first());
  EXPECT_EQ(nack.count, 0u);
  EXPECT_EQ(nack.serial, 1u);
  EXPECT_EQ(b.wire.front().header(first()).ack, first());
  b.receive(a.take());
  b.poll();
  EXPECT_EQ(b.wire.size(), 1u) << "one NACK";
  a.receive(b.take());
  a.poll();
  ASSERT_EQ(a.wire.size(), 1u);
  EXPECT_EQ(a.wire.front().header(first()).psn, first());
  b.receive(a.take());
  EXPECT_EQ(b.got, (std::vector<std::string>{"1", "2", "3"}));
  EXPECT_EQ(b.counters.gaps, 1u);
  EXPECT_EQ(b.counters.frames_held, 2u);
  EXPECT_EQ(a.counters.frames_resent, 1u);
  EXPECT_EQ(a.counters.frame_bytes_resent, 1u);
  pair.run_until_idle();
  EXPECT_FALSE(a.link->in_flight());
}

TEST_P(Exchange, LostLastFrameIsFoundByTheProbe) {
  a.send("1");
  a.take();
  pair.run_for(10'000'000);
  EXPECT_EQ(b.got.size(), 1u);
  EXPECT_EQ(a.counters.probes_sent, 1u);
  EXPECT_EQ(a.counters.frames_resent, 1u);
  EXPECT_FALSE(a.link->in_flight());
}

TEST_P(Exchange, LostAcknowledgementIsFoundByTheProbe) {
  a.send("1");
  b.receive(a.take());
  b.poll(200);
  b.take();
  pair.run_for(10'000'000);
  EXPECT_FALSE(a.link->in_flight());
  EXPECT_EQ(a.counters.frames_resent, 0u);
}

TEST_P(Exchange, DetachingIsSentMoreThanOnce) {
  b.send("hello");
  a.receive(b.take());
  b.hub.control_sender.detach(*b.link);
  ASSERT_GE(b.wire.size(), 3u);
  b.take();
  b.take();  // two are lost
  a.receive(b.take());
  EXPECT_TRUE(a.link->peer_detached);
  b.hub.control_sender.attach(*b.link);  // and says so, though nothing is to be acknowledged
  b.send("data, which does not say it");
  b.poll(200);
  while (!b.wire.empty()) a.receive(b.take());
  EXPECT_FALSE(a.link->peer_detached);
}

TEST_P(Exchange, FinishedIsALinkOfADetachedPeerWithNothingOnItsWay) {
  b.send("hello");
  a.receive(b.take());
  a.send("hello to you");
  EXPECT_FALSE(a.link->is_finished());
  b.hub.control_sender.detach(*b.link);  // before that arrived
  while (!b.wire.empty()) a.receive(b.take());
  EXPECT_TRUE(a.link->peer_detached);
  EXPECT_FALSE(a.link->is_finished()) << "it may be lost";
  b.receive(a.take());
  b.poll(200);
  a.receive(b.take());
  EXPECT_TRUE(a.link->is_finished());
  b.hub.control_sender.attach(*b.link);
  b.send("lost");
  b.take();
  b.send("once more");
  a.receive(b.take());
  EXPECT_FALSE(a.link->is_finished()) << "a frame is missing";
  pair.run_for(10'000'000);
  EXPECT_EQ(a.got.size(), 3u);
  EXPECT_FALSE(a.link->is_finished()) << "the peer sends again, and has not said that it ended";
  b.hub.control_sender.detach(*b.link);
  while (!b.wire.empty()) a.receive(b.take());
  EXPECT_TRUE(a.link->is_finished());
}

TEST_P(Exchange, DetachingWaitsForABusyLowerTransport) {
  b.send("hello");
  a.receive(b.take());
  b.busy = true;
  b.hub.control_sender.detach(*b.link);
  b.busy = false;
  b.poll(1);
  a.receive(b.take());
  EXPECT_TRUE(a.link->peer_detached);
}

TEST_P(Exchange, ABusyLowerTransportKeepsTheFrame) {
  a.busy = true;
  EXPECT_TRUE(a.send("1"));
  EXPECT_FALSE(a.send("2"));
  EXPECT_TRUE(a.link->has_unsent());
  EXPECT_FALSE(a.hub.retransmitter.resume(*a.link));
  a.busy = false;
  EXPECT_TRUE(a.hub.retransmitter.resume(*a.link));
  EXPECT_EQ(a.writables, 1u);
  EXPECT_TRUE(a.send("2"));
  pair.run_until_idle();
  EXPECT_EQ(b.got, (std::vector<std::string>{"1", "2"}));
}

// The caller has no way to the peer yet: an acknowledgement must not open the link.
TEST_P(Exchange, ALinkTakesNothingUntilItHasALowerEndpoint) {
  a.send("1");
  link::Sender::lower_missing(*a.link);
  EXPECT_FALSE(a.send("2"));
  EXPECT_FALSE(a.send("2", Class::kAsync));
  pair.run_until_idle();
  b.poll(100);
  pair.run_until_idle();
  EXPECT_FALSE(a.link->in_flight());
  EXPECT_FALSE(a.hub.sender.can_send(*a.link, Class::kSync));
  EXPECT_EQ(a.writables, 0u);
  a.hub.sender.lower_ready(*a.link);
  EXPECT_GT(a.writables, 0u);
  EXPECT_TRUE(a.send("2"));
  EXPECT_TRUE(a.send("3", Class::kAsync));
  pair.run_until_idle();
  EXPECT_EQ(b.got, (std::vector<std::string>{"1", "2", "3"}));
}

// An acknowledgement of what was never sent, as only a fault makes it, changes nothing.
TEST_P(Exchange, AcknowledgementsAreBounded) {
  a.send("1");
  b.link->rx[0].start_at(first() + 2);
  b.send("x");
  a.receive(b.take());
  EXPECT_EQ(a.link->tx[0].una(), first());
  EXPECT_TRUE(a.link->in_flight());
}

// After 2^31 frames without a fault, where the last request went to must not be taken for the
// future.
TEST(ExchangeOldState, AGapIsNackedHoweverLongAgoTheLastWas) {
  Pair pair;
  pair.join(0x90000000u);
  pair.b.link->rx[0].nacked(0);
  pair.a.send("1");
  pair.a.send("2");
  pair.a.take();
  pair.run_until_idle();
  EXPECT_EQ(pair.b.got, (std::vector<std::string>{"1", "2"}));
}

// A frame committed inside an upcall carries a pending acknowledgement; what else is pending must
// not be forgotten then.
TEST(ExchangeReentrant, PendingControlSurvivesACarriedAcknowledgement) {
  Pair pair;
  pair.join();
  End& a = pair.a;
  End& b = pair.b;
  a.send("1");
  a.send("2");
  a.send("3");
  a.take();
  a.take();
  b.receive(a.take());
  b.poll();
  a.receive(b.take());  // the request for 1 and 2
  b.send("y");
  a.receive(b.take());  // an acknowledgement and two repairs are pending
  a.busy_after = 1;
  a.on_send = [&] {  // the lower transport delivers at once, and an upcall sends
    if (a.busy) a.busy = false;
    a.on_send = nullptr;
    a.send("4");
    a.busy = true;
  };
  a.poll();
  a.busy = false;
  EXPECT_NE(a.link->control.bits, 0u);
  EXPECT_TRUE(a.link->control.node.linked());
  pair.run_until_idle();
  EXPECT_EQ(b.got, (std::vector<std::string>{"1", "2", "3", "4"}));
}

}  // namespace
}  // namespace verity::test
