// SPDX-License-Identifier: BSD-3-Clause
// What a link sends in one class: limits, requests for acknowledgements, small frames.
#include "link/state/send_window.h"

#include <gtest/gtest.h>

#include <vector>

namespace verity::test {
namespace {

using link::SendWindow;
using link::Slot;

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

}  // namespace
}  // namespace verity::test
