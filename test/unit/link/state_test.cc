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

TEST(LinkControlQueue, AFlushPassesOverWhatIsBusyAndKeepsItFirst) {
  link::ControlQueue queue(3);
  PendingControl a, b, c, d;
  for (PendingControl* pending : {&a, &b, &c}) queue.schedule_ack(*pending, Class::kSync, false);
  std::vector<PendingControl*> served;
  const auto serve = [&](PendingControl& pending) {
    served.push_back(&pending);
    if (&pending != &b) pending.bits = 0;
    return &pending != &b;
  };
  EXPECT_FALSE(queue.flush(10, serve));
  EXPECT_EQ(served, (std::vector<PendingControl*>{&a, &b, &c}));
  queue.schedule_ack(d, Class::kSync, false);
  served.clear();
  EXPECT_FALSE(queue.flush(1, serve));
  EXPECT_EQ(served, std::vector<PendingControl*>{&b});
  b.bits = 0;
  EXPECT_TRUE(queue.flush(10, [](PendingControl& pending) {
    pending.bits = 0;
    return true;
  }));
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
