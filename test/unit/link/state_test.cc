// SPDX-License-Identifier: BSD-3-Clause
// What a link consists of, each part alone: state machine, windows, control queue, timer wheel,
// table.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "link/state/link_table.h"
#include "link/state/timer_wheel.h"

namespace verity::test {
namespace {

using link::Control;
using link::Event;
using link::Mode;
using link::PendingControl;
using link::QueuedFrame;
using link::ReceiveWindow;
using link::SendWindow;
using link::Slot;
using link::State;
using wire::Class;

// --- Connection ---

TEST(LinkConnection, EveryTransition) {
  constexpr State kStates[] = {State::kHandshake, State::kEstablished, State::kDraining,
                               State::kClosed, State::kFailed};
  constexpr State kAfter[][4] = {
      // kIdentified        kClose            kPeerClosed     kFail
      {State::kEstablished, State::kDraining, State::kClosed, State::kFailed},  // handshake
      {State::kEstablished, State::kDraining, State::kClosed, State::kFailed},  // established
      {State::kDraining, State::kDraining, State::kClosed, State::kFailed},     // draining
      {State::kClosed, State::kClosed, State::kClosed, State::kFailed},         // closed
      {State::kFailed, State::kFailed, State::kFailed, State::kFailed},         // failed
  };
  for (unsigned s = 0; s < 5; ++s) {
    for (unsigned e = 0; e < 4; ++e)
      EXPECT_EQ(link::next_state(kStates[s], Event{static_cast<uint8_t>(e)}), kAfter[s][e])
          << s << e;
  }
}

TEST(LinkConnection, TheFastPathIsOpenBetweenHandshakeAndEnd) {
  link::Connection c;
  EXPECT_FALSE(c.is_fast());
  c.on(Event::kClose);
  EXPECT_TRUE(c.carries_hello()) << "a handshake in progress goes on";
  c.on(Event::kIdentified);
  EXPECT_EQ(c.state(), State::kDraining);
  EXPECT_TRUE(c.is_fast());
  c.set_mode(Mode::kObserve);
  EXPECT_FALSE(c.is_fast());
  c.set_mode(Mode::kVerify);
  c.on(Event::kPeerClosed);
  EXPECT_FALSE(c.is_fast());
  EXPECT_FALSE(c.is_alive());
  c.on(Event::kFail);
  EXPECT_TRUE(c.failed() && c.peer_closed()) << "its end was no failure";
}

// --- SendWindow ---

class LinkSendWindow : public ::testing::Test {
 protected:
  static constexpr link::WindowLimits kLimits{4, 1000, 2, 500};
  LinkSendWindow() { window.start_at(0xfffffffeu); }
  uint8_t send(unsigned i, uint32_t size = 10) {
    window.enter(&slots[i], size, false);
    const uint8_t flags = window.flags(kLimits);
    window.append(&slots[i], kLimits);
    return flags;
  }
  bool acknowledge(uint32_t ack) {
    return window.acknowledge(ack, [this](const Slot* slot) { released.push_back(slot->psn); });
  }
  Slot slots[8];
  SendWindow window;
  std::vector<uint32_t> released;
};

TEST_F(LinkSendWindow, FramesAreReleasedInOrderOverTheWrap) {
  for (unsigned i = 0; i < 3; ++i) (void)send(i);
  EXPECT_EQ(window.next_psn(), 1u);
  EXPECT_TRUE(acknowledge(0));
  EXPECT_EQ(released, (std::vector<uint32_t>{0xfffffffeu, 0xffffffffu}));
  EXPECT_EQ(window.bytes(), 10u);
  EXPECT_FALSE(acknowledge(2)) << "never sent";
  EXPECT_FALSE(acknowledge(0xffffffffu)) << "old";
  EXPECT_EQ(window.una(), 0u);
}

TEST_F(LinkSendWindow, EveryQuarterRequestsAnAcknowledgement) {
  EXPECT_EQ(send(0), 0);
  EXPECT_EQ(send(1), wire::kAckRequest);
  EXPECT_EQ(send(2, 499), 0);
  EXPECT_TRUE(acknowledge(1)) << "all";
  EXPECT_EQ(send(3, 499), 0) << "counted anew: nothing was in flight";
  EXPECT_EQ(send(4, 1), wire::kAckRequest) << "500 bytes";
}

TEST_F(LinkSendWindow, FullInFramesOrInBytes) {
  for (unsigned i = 0; i < 4; ++i) (void)send(i);
  EXPECT_TRUE(window.blocked());
  EXPECT_FALSE(window.unblock(kLimits));
  EXPECT_TRUE(acknowledge(0xffffffffu));
  EXPECT_TRUE(window.unblock(kLimits));
  (void)acknowledge(2);
  (void)send(4, 1000);
  EXPECT_TRUE(window.blocked());
}

TEST_F(LinkSendWindow, WhatTheLowerTransportDidNotTakeIsNotAcknowledged) {
  (void)send(0);
  (void)send(1);
  window.stall(&slots[1]);
  EXPECT_EQ(window.unsent_psn(), 0xffffffffu);
  EXPECT_FALSE(window.unblock(kLimits));
  EXPECT_TRUE(acknowledge(0));
  EXPECT_EQ(released, std::vector<uint32_t>{0xfffffffeu});
  EXPECT_EQ(window.take_unsent(), &slots[1]);
  window.put_back(&slots[1]);
  EXPECT_EQ(window.take_unsent(), &slots[1]);
  EXPECT_EQ(window.take_unsent(), nullptr);
  EXPECT_TRUE(acknowledge(0));
  EXPECT_FALSE(window.in_flight());
}

TEST_F(LinkSendWindow, AnUndoneFrameLeavesNoTrace) {
  (void)send(0);
  Slot* before = window.newest();
  (void)send(1, 77);
  window.undo(slots[1], before, true, kLimits);
  EXPECT_EQ(window.next_psn(), 0xffffffffu);
  EXPECT_EQ(window.bytes(), 10u);
  EXPECT_EQ(window.newest(), &slots[0]);
  EXPECT_EQ(send(1), wire::kAckRequest);
}

// A window of eight frames and 2000 bytes, with a request every four frames or 1000 bytes.
class LinkSmallFrames : public LinkSendWindow {
 protected:
  static constexpr link::WindowLimits kWider{8, 2000, 4, 1000};
  uint8_t send_usual(unsigned i, uint32_t size) {
    window.enter(&slots[i], size, false);
    const uint8_t flags = window.flags(kWider);
    window.append(&slots[i], kWider);
    return flags;
  }
  // How many are taken of `count`, from slots[first] on.
  unsigned send_small(unsigned first, unsigned count, uint32_t size = 40) {
    unsigned sent = 0;
    for (; sent < count && window.may_append_small(kWider); ++sent)
      window.append_small(&slots[first + sent], size);
    return sent;
  }
};

TEST_F(LinkSmallFrames, StopBeforeALimitOfFrames) {
  EXPECT_EQ(send_small(0, 8), 3u) << "the fourth carries a request";
  EXPECT_EQ(slots[2].psn, 0u);
  EXPECT_EQ(slots[2].size, 40u);
  EXPECT_TRUE(slots[2].compact);
  EXPECT_EQ(window.bytes(), 120u);
  EXPECT_EQ(send_usual(3, 40), wire::kAckRequest) << "small frames count";
  EXPECT_EQ(send_small(4, 4), 3u);
  EXPECT_FALSE(window.blocked());
  EXPECT_EQ(send_usual(7, 40), wire::kAckRequest);
  EXPECT_TRUE(window.blocked()) << "eight frames";
  EXPECT_EQ(send_small(0, 1), 0u);
  EXPECT_TRUE(acknowledge(6));
  EXPECT_EQ(released.size(), 8u);
  EXPECT_EQ(window.bytes(), 0u);
}

TEST_F(LinkSmallFrames, StopBeforeALimitOfBytes) {
  EXPECT_EQ(send_usual(0, 700), 0);
  EXPECT_EQ(send_small(1, 7, SendWindow::kSmall), 2u) << "956 of 1000 bytes";
  EXPECT_EQ(send_usual(3, 40), wire::kAckRequest) << "the fourth";
  EXPECT_EQ(send_usual(4, 990), 0);
  EXPECT_EQ(send_small(5, 1), 0u);
}

TEST_F(LinkSmallFrames, NoneWhileTheWindowIsBlocked) {
  EXPECT_EQ(send_small(0, 1), 1u);
  window.block();
  EXPECT_EQ(send_small(1, 1), 0u);
  EXPECT_TRUE(window.unblock(kWider));
  EXPECT_EQ(send_small(1, 1), 1u);
  window.stall(&slots[1]);
  EXPECT_EQ(send_small(2, 1), 0u);
}

TEST_F(LinkSmallFrames, AnUndoneOneRequestsNothing) {
  EXPECT_EQ(send_small(0, 1), 1u);
  Slot* before = window.newest();
  EXPECT_EQ(send_small(1, 1), 1u);
  window.undo(slots[1], before, false, kWider);
  EXPECT_EQ(window.bytes(), 40u);
  EXPECT_EQ(window.newest(), &slots[0]);
  EXPECT_EQ(send_usual(1, 40), 0);
  before = window.newest();
  EXPECT_EQ(send_usual(2, 40), 0);
  window.undo(slots[2], before, true, kWider);
  EXPECT_EQ(send_small(2, 1), 0u) << "the next one carries the request";
  EXPECT_EQ(send_usual(2, 40), wire::kAckRequest);
}

TEST_F(LinkSendWindow, AFrameThatShrinksRequestsNothing) {
  (void)send(0, 200);
  EXPECT_EQ(send(1, 200), wire::kAckRequest);
  window.resize(slots[0], 90);
  window.resize(slots[1], 90);
  EXPECT_EQ(window.bytes(), 180u);
  EXPECT_EQ(send(2), 0);
  window.resize(slots[1], 400);
  EXPECT_EQ(window.bytes(), 500u);
  EXPECT_TRUE(acknowledge(1));
  EXPECT_EQ(window.bytes(), 0u);
}

TEST_F(LinkSendWindow, OneRequestForAnAcknowledgementAtATime) {
  EXPECT_FALSE(window.request_ack());
  (void)send(0);
  EXPECT_TRUE(window.request_ack());
  (void)send(1);
  EXPECT_FALSE(window.request_ack());
  EXPECT_TRUE(acknowledge(0xffffffffu));
  EXPECT_TRUE(window.request_ack());
}

// --- ReceiveWindow ---

class LinkReceiveWindow : public ::testing::Test {
 protected:
  LinkReceiveWindow() { window.start_at(0xfffffffeu); }
  ~LinkReceiveWindow() override {
    while (QueuedFrame* frame = window.queue().remove_first()) pool.free(frame);
    EXPECT_EQ(pool.bytes(), 0u);
  }
  QueuedFrame* enqueue(uint32_t psn, bool good = true) {
    wire::FrameHeader header{};
    header.psn = psn;
    header.length = 4;
    QueuedFrame* frame = pool.copy(header, reinterpret_cast<const uint8_t*>("four"));
    frame->good = good;
    link::OutOfOrderQueue::insert(window.queue().place_of(psn), frame);
    return frame;
  }
  link::OutOfOrderPool pool{1000};
  ReceiveWindow window;
};

TEST_F(LinkReceiveWindow, TheQueueIsInOrderAndDeliveredWhenItIsItsTurn) {
  for (const uint32_t psn : {1u, 0xffffffffu, 0u}) enqueue(psn);
  EXPECT_TRUE(link::OutOfOrderQueue::is_at(window.queue().place_of(0), 0));
  EXPECT_FALSE(window.is_next(0xfffffffeu)) << "what is queued comes after it, on the slow path";
  EXPECT_EQ(window.take_next(), nullptr);
  window.accept();
  for (const uint32_t psn : {0xffffffffu, 0u, 1u}) {
    QueuedFrame* frame = window.take_next();
    ASSERT_NE(frame, nullptr);
    EXPECT_EQ(frame->header.psn, psn);
    pool.free(frame);
    window.accept();
  }
  EXPECT_TRUE(window.complete());
}

TEST_F(LinkReceiveWindow, ADamagedFrameHoldsUpTheQueue) {
  QueuedFrame* first = enqueue(0xfffffffeu, false);
  EXPECT_EQ(window.take_next(), nullptr);
  first->good = true;
  EXPECT_EQ(window.take_next(), first);
  pool.free(first);
}

TEST_F(LinkReceiveWindow, FaultsAreRepairedOnceNothingBeforeTheNextFrameIsMissing) {
  EXPECT_TRUE(window.remember_fault());
  EXPECT_EQ(window.take_repaired(), 0u) << "it may have hit the next frame";
  EXPECT_EQ(window.extend(0), 2u);
  window.accept();
  EXPECT_EQ(window.take_repaired(), 0u) << "another one is missing";
  window.accept();
  EXPECT_EQ(window.take_repaired(), 1u);
  for (unsigned i = 0; i < 255; ++i) EXPECT_TRUE(window.remember_fault());
  EXPECT_FALSE(window.remember_fault());
}

TEST_F(LinkReceiveWindow, NacksAreRepeatedWhenTheAnswerMustHaveCome) {
  QueuedFrame* damaged = enqueue(0xffffffffu, false);
  damaged->nacked = true;
  window.extend(3);
  window.nacked(3);
  window.nack_sent();
  EXPECT_FALSE(window.on_probe({3, 7, 1})) << "the peer has not seen it";
  EXPECT_TRUE(damaged->nacked);
  EXPECT_TRUE(window.on_probe({3, 7, 2})) << "and has not seen it since";
  EXPECT_FALSE(damaged->nacked);
  EXPECT_EQ(window.nacked_to(), 0xfffffffeu);
  EXPECT_EQ(window.probe_serial(), 2u);
  EXPECT_TRUE(window.on_probe({3, 1, 3})) << "it has, but its answer did not come";
}

TEST_F(LinkReceiveWindow, ThePoolIsBounded) {
  EXPECT_TRUE(pool.has_room(1000 - sizeof(QueuedFrame)));
  EXPECT_FALSE(pool.has_room(1001 - sizeof(QueuedFrame)));
  const QueuedFrame* frame = enqueue(0);
  EXPECT_EQ(pool.bytes(), frame->footprint());
  EXPECT_FALSE(pool.has_room(1000 - sizeof(QueuedFrame)));
}

// --- ControlQueue ---

TEST(LinkControlQueue, AnAcknowledgementIsDelayedUnlessItIsUrgentOrCarried) {
  link::ControlQueue queue(3);
  PendingControl a, b, c;
  queue.schedule_ack(a, Class::kSync, false);
  queue.schedule_ack(b, Class::kAsync, false);
  EXPECT_FALSE(queue.poll());
  queue.ack_carried(a, Class::kSync);
  EXPECT_FALSE(queue.poll());
  EXPECT_TRUE(queue.poll());
  queue.schedule_ack(c, Class::kSync, true);
  std::vector<PendingControl*> served;
  const auto serve = [&](PendingControl& pending) {
    served.push_back(&pending);
    pending.bits = 0;
    return true;
  };
  queue.serve_due(serve);
  EXPECT_EQ(served, (std::vector<PendingControl*>{&c, &b}));
  EXPECT_TRUE(queue.empty());
}

TEST(LinkControlQueue, WhatABusyLowerTransportLeftComesFirst) {
  link::ControlQueue queue(3);
  PendingControl a, b;
  queue.schedule(a, Control::kNack, Class::kSync);
  queue.serve_due([](PendingControl&) { return false; });
  EXPECT_TRUE(a.has(Control::kNack, Class::kSync));
  queue.schedule_close(b);
  EXPECT_FALSE(queue.flush(10, [&](PendingControl& pending) {
    pending.close = false;
    return &pending == &b;
  }));
  EXPECT_TRUE(a.node.linked());
  EXPECT_FALSE(b.node.linked());
  link::ControlQueue::cancel(a);
  EXPECT_TRUE(queue.empty());
}

TEST(LinkControlQueue, CancellingFramesKeepsTheBye) {
  link::ControlQueue queue(3);
  PendingControl a;
  queue.schedule(a, Control::kProbe, Class::kAsync);
  queue.schedule_close(a);
  link::ControlQueue::cancel_frames(a);
  EXPECT_TRUE(a.any() && a.node.linked());
  link::ControlQueue::cancel(a);
  EXPECT_FALSE(a.any() || a.node.linked());
}

// --- TimerWheel ---

// None may be lost, and none expire early or twice, however far away it is.
TEST(LinkTimerWheel, EachDeadlineExpiresOnceInItsTick) {
  link::TimerWheel wheel;
  constexpr unsigned kCount = 1000;
  std::vector<link::Deadline> deadlines(kCount);
  uint64_t now = 5'000'000'000;
  wheel.advance(now, [](link::Deadline&) { FAIL(); });
  for (unsigned i = 0; i < kCount; ++i) wheel.set(deadlines[i], now + 1 + uint64_t{i} * 70'001);
  for (unsigned i = 0; i < kCount; i += 3) deadlines[i].node.unlink();
  EXPECT_EQ(wheel.next(), deadlines[1].at);
  unsigned expired = 0;
  while (now < 5'100'000'000) {
    const uint64_t before = now;
    now += 1'000'000;
    wheel.advance(now, [&](link::Deadline& d) {
      ++expired;
      EXPECT_LE(link::TimerWheel::tick_of(d.at), link::TimerWheel::tick_of(now));
      EXPECT_GT(d.at, before - 3 * link::TimerWheel::kTick);
    });
  }
  EXPECT_EQ(expired, kCount - (kCount + 2) / 3);
  EXPECT_EQ(wheel.next(), UINT64_MAX);
}

TEST(LinkTimerWheel, ADeadlineMaySetItselfAnewAndCancelOthers) {
  link::TimerWheel wheel;
  link::Deadline a, b;
  wheel.set(a, 100'000);
  wheel.set(b, 100'000);
  unsigned calls = 0;
  uint64_t now = 200'000;
  const auto expire = [&](link::Deadline& d) {
    ++calls;
    (&d == &a ? b : a).node.unlink();
    wheel.set(d, now + 1'000'000);
  };
  EXPECT_TRUE(wheel.advance(now, expire));
  EXPECT_FALSE(wheel.advance(now + 1, expire)) << "the same tick";
  EXPECT_EQ(calls, 1u);
  EXPECT_TRUE(a.armed() != b.armed());
  wheel.advance(now = 1'000'000'000'000, expire);
  EXPECT_EQ(calls, 2u);
}

// --- LinkTable ---

TEST(LinkTable, FindsByIdByItsLowBitsAndByPeer) {
  link::LinkTable table;
  link::Link a, b;
  table.enter(a, 100, 0);
  table.enter(b, 100, 1);
  a.peer_uid = b.peer_uid = 100;
  EXPECT_EQ(table.find(a.local_id), &a);
  EXPECT_EQ(table.find_compact(b.local_id & wire::kCompactLinkMask), &b);
  EXPECT_EQ(table.find(100, 1), &b);
  EXPECT_EQ(table.find(100, 2), nullptr);
  EXPECT_EQ(table.find(wire::kLinkUnknown), nullptr);
  EXPECT_LT(a.epoch, b.epoch);
  const uint32_t old = b.local_id;
  EXPECT_TRUE(table.remove(b));
  EXPECT_FALSE(table.remove(b));
  table.enter(b, 100, 1);
  EXPECT_NE(b.local_id, old) << "late frames of the one before must not find it";
  EXPECT_EQ(table.find(old), nullptr);
}

TEST(LinkTable, RemembersPreviousPeers) {
  link::LinkTable table;
  link::Link a, b;
  table.enter(a, 100, 0);
  a.peer_uid = 100;
  EXPECT_FALSE(a.reconnected);
  table.remember_peer(a);
  EXPECT_TRUE(table.remove(a));
  table.enter(b, 100, 0);
  EXPECT_TRUE(b.reconnected);
}

}  // namespace
}  // namespace verity::test
