// SPDX-License-Identifier: BSD-3-Clause
// Frames beyond the window, acknowledgements that are withheld for them, and a busy lower
// transport.
#include "unit/link/exchange.h"

namespace verity::test {
namespace {

class ControlFrames : public Exchange {};

INSTANTIATE_TEST_SUITE_P(FirstPsn, ControlFrames, first_psns());

// What must go before the next acknowledgement has room where the window has none, or where frames
// wait for the lower transport. Not without end.
TEST_P(ControlFrames, SomeFramesGoBeyondTheWindow) {
  const auto send_beyond = [&] {
    link::Slot* slot = a.hub.sender.reserve_beyond(*a.link, 1);
    if (slot == nullptr) return false;
    *slot->payload() = '!';
    a.hub.sender.commit(*a.link, Class::kSync, slot, 1, 1);
    if (a.link->has_unsent()) return true;
    const util::Piece frame{slot->frame(), slot->size};
    EXPECT_EQ(
        slot->compact ? a.send_compact(*a.link, frame) : a.send(*a.link, Class::kSync, {&frame, 1}),
        Sent::kOk);
    return true;
  };
  for (const bool busy : {false, true}) {
    const size_t before = b.got.size();
    for (unsigned i = 0; i < (busy ? 7u : 8u); ++i) EXPECT_TRUE(a.send("x"));
    a.busy = busy;
    if (busy) { EXPECT_TRUE(a.send("x")); }
    EXPECT_FALSE(a.send("x"));
    unsigned count = 0;
    while (count < 1000 && send_beyond()) ++count;
    EXPECT_EQ(count, 64u);
    a.busy = false;
    EXPECT_TRUE(a.hub.retransmitter.resume(*a.link));
    EXPECT_FALSE(a.send("x"));
    pair.run_until_idle();
    ASSERT_EQ(b.got.size(), before + 72);
    EXPECT_EQ(b.got[before + 7], "x");
    EXPECT_EQ(b.got[before + 8], "!");
    EXPECT_EQ(a.link->tx[0].bytes(), 0u);
    EXPECT_TRUE(a.hub.sender.can_send(*a.link, Class::kSync));
  }
}

// The data frames behind it acknowledge, and its number must be before theirs.
TEST_P(ControlFrames, FrameBeyondTheWindowWaitsForALowerEndpoint) {
  link::Sender::lower_missing(*a.link);
  EXPECT_FALSE(a.send("x"));
  link::Slot* slot = a.hub.sender.reserve_beyond(*a.link, 1);
  ASSERT_NE(slot, nullptr);
  *slot->payload() = '!';
  a.hub.sender.commit(*a.link, Class::kSync, slot, 1, 1);
  link::Sender::stalled(*a.link, Class::kSync, slot);
  a.hub.sender.lower_ready(*a.link);
  EXPECT_FALSE(a.send("x"));
  EXPECT_TRUE(a.hub.retransmitter.resume(*a.link));
  EXPECT_TRUE(a.send("x"));
  pair.run_until_idle();
  EXPECT_EQ(b.got, (std::vector<std::string>{"!", "x"}));
  link::Link unknown;
  EXPECT_EQ(unknown.remote_id, wire::kLinkUnknown);
  link::Sender::lower_missing(unknown);
  EXPECT_EQ(a.hub.sender.reserve_beyond(unknown, 1), nullptr);
}

// Data frames acknowledge: none goes while the frame has no psn.
TEST_P(ControlFrames, NoDataFrameGoesAheadOfWhatAnAcknowledgementIsWithheldFor) {
  ASSERT_TRUE(a.send("put"));
  b.on_message = [&] { link::Sender::withhold_ack(*b.link); };
  b.receive(a.take());
  b.on_message = nullptr;
  EXPECT_FALSE(b.send("data"));
  ASSERT_TRUE(a.send("more"));
  b.receive(a.take());  // it acknowledges, and unblocks nothing
  EXPECT_FALSE(b.send("data"));
  const unsigned before = b.writables;
  link::Slot* slot = b.hub.sender.reserve_beyond(*b.link, 1);
  ASSERT_NE(slot, nullptr);
  EXPECT_GT(b.writables, before) << "what waits above is called";
  *slot->payload() = '!';
  b.hub.sender.commit(*b.link, Class::kSync, slot, 1, 1);
  link::Sender::stalled(*b.link, Class::kSync, slot);
  EXPECT_TRUE(b.hub.retransmitter.resume(*b.link));
  EXPECT_TRUE(b.send("data"));
  pair.run_until_idle();
  EXPECT_EQ(a.got, (std::vector<std::string>{"!", "data"}));
}

// A message that must be there before an acknowledgement is lost, and is the last one: no control
// frame acknowledges what it is about, until it is there.
TEST_P(ControlFrames, NoControlFrameAcknowledgesAheadOfALostFrame) {
  ASSERT_TRUE(a.send("put"));
  b.on_message = [&] { link::Sender::withhold_ack(*b.link); };
  b.receive(a.take());
  b.on_message = nullptr;
  b.hub.control_sender.detach(*b.link);  // before there is room for it
  while (!b.wire.empty()) a.receive(b.take());
  EXPECT_TRUE(a.link->in_flight());
  link::Slot* slot = b.hub.sender.reserve_beyond(*b.link, 1);
  ASSERT_NE(slot, nullptr);
  *slot->payload() = '!';
  b.hub.sender.commit(*b.link, Class::kSync, slot, 1, 1);  // and it is lost
  ASSERT_TRUE(a.send("more"));
  b.receive(a.take());
  a.hub.sender.request_ack(*a.link);
  a.poll();
  while (!a.wire.empty()) b.receive(a.take());
  b.poll(200);
  ASSERT_FALSE(b.wire.empty());
  while (!b.wire.empty()) a.receive(b.take());
  EXPECT_EQ(a.link->tx[0].una(), first()) << "acknowledged, and nothing said of the lost frame";
  EXPECT_TRUE(a.got.empty());
  pair.run_for(20'000'000);
  EXPECT_EQ(a.got, (std::vector<std::string>{"!"}));
  EXPECT_FALSE(a.link->in_flight());
  EXPECT_FALSE(b.link->in_flight());
}

// Two sides that withhold an acknowledgement, each for a frame that only the other's acknowledges.
TEST_P(ControlFrames, WithheldAcknowledgementsThatCrossEnd) {
  ASSERT_TRUE(a.send("put"));
  ASSERT_TRUE(b.send("put"));
  const auto withhold = [](auto& from, auto& to) {
    to.on_message = [&] { link::Sender::withhold_ack(*to.link); };
    to.receive(from.take());
    to.on_message = nullptr;
  };
  withhold(a, b);
  withhold(b, a);
  const auto refuse = [](auto& side) {
    link::Slot* slot = side.hub.sender.reserve_beyond(*side.link, 1);
    ASSERT_NE(slot, nullptr);
    *slot->payload() = '!';
    side.hub.sender.commit(*side.link, Class::kSync, slot, 1, 1);
    const util::Piece frame{slot->frame(), slot->size};
    EXPECT_EQ(slot->compact ? side.send_compact(*side.link, frame)
                            : side.send(*side.link, Class::kSync, {&frame, 1}),
              Sent::kOk);
  };
  refuse(a);
  refuse(b);
  pair.run_for(20'000'000);
  EXPECT_FALSE(a.link->in_flight());
  EXPECT_FALSE(b.link->in_flight());
  EXPECT_EQ(a.got.back(), "!");
  EXPECT_EQ(b.got.back(), "!");
}

// A control frame that finds the lower transport busy is not made again in each poll where the port
// says when there is room; and goes at once then, or, where it does not, later.
TEST_P(ControlFrames, ABusyLowerTransportIsNotTriedInEachPoll) {
  a.send("hello");
  b.receive(a.take());
  for (const bool announces : {false, true}) {
    b.busy = b.announces_room = true;
    b.hub.control.schedule(b.link->control, link::Control::kAck, Class::kSync);
    b.tried = 0;
    b.poll(640);
    EXPECT_GE(b.tried, 2u);
    EXPECT_LE(b.tried, 12u);
    b.tried = 0;
    EXPECT_FALSE(b.hub.flush_control());
    EXPECT_EQ(b.tried, 1u);
    b.busy = false;
    if (announces) {
      EXPECT_TRUE(b.hub.retransmitter.resume(*b.link));
      b.poll();
    } else {
      b.poll(64);
    }
    EXPECT_EQ(b.wire.size(), 1u);
    b.wire.clear();
    EXPECT_FALSE(b.hub.has_pending_control());
  }
}

// One that waits for room holds up no other, and what is urgent on it is tried.
TEST_P(ControlFrames, WhatWaitsForRoomDelaysNothingElse) {
  a.send("hello");
  b.receive(a.take());
  b.busy = b.announces_room = true;
  b.hub.control.schedule(b.link->control, link::Control::kAck, Class::kSync);
  b.poll(2);
  link::Link other;
  b.hub.lifecycle.open(other, 0x77, 0, Mode::kVerify);
  b.busy = false;
  b.hub.control.schedule_ack(other.control, Class::kSync, true);
  b.poll();
  EXPECT_EQ(b.wire.size(), 1u);
  EXPECT_FALSE(other.control.any());
  b.hub.control.schedule(b.link->control, link::Control::kAck, Class::kSync);
  b.poll();
  EXPECT_EQ(b.wire.size(), 2u);
  b.hub.lifecycle.remove(other);
}

}  // namespace
}  // namespace verity::test
