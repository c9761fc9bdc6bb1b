// SPDX-License-Identifier: BSD-3-Clause
// What compact frames add to the link: abbreviated numbers, growing to full frames when sent again,
// and their own damage.
#include "unit/link/pair.h"

namespace verity::test {
namespace {

link::Config compact() {
  link::Config config;
  config.segment_log2 = 8;
  config.max_repairs = 4;
  config.compact = true;
  return config;
}

class Compact : public ::testing::Test {
 protected:
  Compact() { pair.join(); }
  // `count` messages from `from` arrive and are acknowledged by control frames alone.
  void one_way(End& from, End& to, unsigned count) {
    for (unsigned i = 0; i < count; ++i) {
      ASSERT_TRUE(from.send("x")) << i;
      to.receive(from.take());
      if (i % 64 != 63 && i + 1 != count) continue;
      (void)to.hub.flush_control();
      Pair::move(to, from);
    }
    to.got.clear();
    to.am_ids.clear();
  }
  Pair pair{compact()};
  End& a = pair.a;
  End& b = pair.b;
};

TEST_F(Compact, OnlyPlainSynchronousDataOfOneSegmentAndAnEighthIsCompact) {
  std::vector<uint8_t> buffer(100);
  a.send(text_of(288));
  a.send(text_of(289));
  a.send("async", Class::kAsync);
  a.send_zero_copy(buffer);
  std::vector<bool> compact;
  for (const WireFrame& frame : a.wire) compact.push_back(frame.compact);
  EXPECT_EQ(compact, (std::vector<bool>{true, false, false, false}));
  EXPECT_EQ(a.wire.front().bytes.size(), wire::kCompactHeader + 288);
  pair.run_until_idle();
  EXPECT_EQ(b.got.size(), 4u);
}

// What is damaged or lost comes again with a full header, however often.
TEST_F(Compact, FramesSentAgainAreFull) {
  a.send("1");
  a.send("2");
  WireFrame one = a.take();
  one.flip_payload(0);
  b.receive(one);
  a.take();
  for (unsigned attempt = 0; attempt < 3; ++attempt) {
    pair.now += 100'000'000;
    for (unsigned i = 0; i < 10; ++i) {  // requests, and probes where they are lost
      a.hub.tick(pair.now += 1'000'000);
      (void)a.hub.flush_control();
      for (const WireFrame& frame : a.wire) EXPECT_FALSE(frame.compact);
      if (attempt == 2) Pair::move(a, b);
      a.wire.clear();
      (void)b.hub.flush_control();
      Pair::move(b, a);
    }
  }
  EXPECT_EQ(b.got, (std::vector<std::string>{"1", "2"}));
  EXPECT_TRUE(a.failures.empty());
}

// It stays one segment, though a longer one than those of other frames.
TEST_F(Compact, OneThatIsLongerThanASegmentIsRepairedAsOne) {
  const std::string text = text_of(288);
  for (const size_t at : {size_t{0}, size_t{255}, size_t{256}, size_t{287}}) {
    Pair p{compact()};
    p.join(7);
    p.a.send(text);
    WireFrame frame = p.a.take();
    ASSERT_TRUE(frame.compact);
    frame.flip((wire::kCompactHeader + at) * 8);
    p.b.receive(frame);
    EXPECT_TRUE(p.b.got.empty());
    p.run_until_idle();
    EXPECT_EQ(p.b.got, std::vector<std::string>{text});
    EXPECT_EQ(p.b.counters.segments_repaired, 1u);
    EXPECT_EQ(p.a.counters.segment_bytes_resent, 288u);
    EXPECT_EQ(p.b.counters.faults_payload, 1u);
  }
}

// Largest compact frame, whose full header makes it larger than the lower transport takes.
TEST_F(Compact, FramesGrowWhenSentAgain) {
  link::Config config = compact();
  config.segment_log2 = 13;
  config.max_send = 1000;
  config.max_frame = 1016;
  Pair p{config};
  p.join(0xfffffff0u);
  const std::string text = text_of(984);
  p.a.send(text);
  WireFrame frame = p.a.take();
  ASSERT_EQ(frame.bytes.size(), 1000u);
  frame.flip(300);
  p.b.receive(frame);
  p.run_for(20'000'000);
  EXPECT_EQ(p.b.got, std::vector<std::string>{text});
  EXPECT_FALSE(p.a.link->in_flight());
}

TEST_F(Compact, NumbersWrapAndWaitForABusyLowerTransport) {
  for (const uint32_t first : {0u - 50u, 0x8000u - 50u, 0xffff0000u - 50u}) {
    link::Config config = compact();
    config.window_frames = 100;
    Pair p{config};
    p.join(first);
    unsigned sent = 0;
    for (unsigned round = 0; round < 70'000; ++round) {
      p.a.busy = round % 7 == 0;
      sent += p.a.send("12345678");
      p.a.busy = false;
      if (round % 7 == 0) (void)p.a.hub.retransmitter.resume(*p.a.link);
      if (round % 50 == 49) p.a.wire.pop_front();
      if (round % 60 == 59) p.run_until_idle();
    }
    p.run_for(50'000'000);
    EXPECT_EQ(p.b.got.size(), sent);
    EXPECT_GT(sent, 60'000u);
    EXPECT_FALSE(p.a.link->in_flight());
  }
}

// The widest window that the numbers allow, all of it acknowledged at once.
TEST_F(Compact, TheWidestWindowIsAcknowledged) {
  link::Config config = compact();
  config.window_frames = 100'000;
  config.window_bytes = 1 << 30;
  for (const uint32_t first : {0x8000u, 0xffff'8001u}) {
    Pair p{config};
    p.join(first);
    unsigned sent = 0;
    while (p.a.send("x")) ++sent;
    EXPECT_EQ(sent, wire::kCompactWindow);
    Pair::move(p.a, p.b);
    EXPECT_EQ(p.b.got.size(), sent);
    p.b.send("answer");
    ASSERT_TRUE(p.b.wire.back().compact);
    p.a.receive(p.b.wire.back());
    EXPECT_FALSE(p.a.link->in_flight());
    EXPECT_EQ(p.a.link->tx[0].una(), first + sent);
  }
}

TEST_F(Compact, StaleFramesAreRefusedHoweverOld) {
  a.send("stale");
  const WireFrame stale = a.take();
  b.receive(stale);
  for (const unsigned age : {1u, 32767u, 1u, 32767u, 1u, 65535u}) {
    one_way(a, b, age);
    b.receive(stale);
    EXPECT_TRUE(b.got.empty()) << b.link->rx[0].expected();
    pair.run_for(50'000'000);
  }
  a.send("fresh");
  pair.run_until_idle();
  EXPECT_EQ(b.got, std::vector<std::string>{"fresh"});
  EXPECT_TRUE(a.failures.empty() && b.failures.empty());
}

// Its acknowledgement, 65536 old, must not be taken for one of frames that are in flight now.
TEST_F(Compact, StaleAcknowledgementsAcknowledgeNothing) {
  b.send("stale");
  const WireFrame stale = b.take();
  a.receive(stale);
  one_way(a, b, 65536 - 3);
  for (unsigned i = 0; i < 8; ++i) a.send(std::to_string(i));
  a.receive(stale);
  EXPECT_EQ(a.link->tx[0].una(), 65536u - 3);
  a.wire.clear();  // all lost
  pair.run_for(50'000'000);
  EXPECT_EQ(b.got.size(), 8u);
  EXPECT_FALSE(a.link->in_flight());
}

// However much arrives between the sending of a frame and the request for it.
TEST_F(Compact, AFrameLostLongAgoCanStillBeSentAgain) {
  for (const unsigned meanwhile : {40'000u, 70'000u}) {
    ASSERT_TRUE(a.send("lost"));
    a.take();
    one_way(b, a, meanwhile);
    a.send("next");
    pair.run_until_idle();
    EXPECT_EQ(b.got, (std::vector<std::string>{"lost", "next"}));
    EXPECT_TRUE(a.failures.empty());
    b.got.clear();
  }
}

// Link ids differ in their generations only: the bits that a compact header leaves out are bound
// into its digest.
TEST_F(Compact, FramesOfAPreviousLinkAreRefused) {
  a.send("former");
  const WireFrame former = a.take();
  const uint32_t id = b.link->local_id;
  for (unsigned i = 0; i < 16; ++i) {
    b.hub.lifecycle.remove(*b.link);
    b.open(a.hub.uid());
    b.hub.lifecycle.connect(*b.link, a.hub.uid(), a.link->local_id, Mode::kVerify);
    b.receive(former);
    ASSERT_TRUE(b.got.empty()) << i;
  }
  EXPECT_EQ(b.link->local_id & wire::kCompactLinkMask, id & wire::kCompactLinkMask);
  EXPECT_NE(b.link->local_id, id);
}

TEST_F(Compact, FramesOfAnotherLinkAreRefused) {
  std::vector<std::unique_ptr<link::Link>> others;
  for (unsigned i = 0; i < 20; ++i) {
    others.push_back(std::make_unique<link::Link>());
    b.hub.lifecycle.open(*others.back(), 1000 + i, 0, Mode::kVerify);
    b.hub.lifecycle.connect(*others.back(), 1000 + i, a.link->local_id, Mode::kVerify);
  }
  a.send("for b's first link");
  const WireFrame right = a.take();
  for (size_t bit = 64; bit < 64 + 24; ++bit) {
    WireFrame wrong = right;
    wrong.flip(bit);
    b.receive(wrong);
    ASSERT_TRUE(b.got.empty()) << bit;
  }
  b.receive(right);
  EXPECT_EQ(b.got.size(), 1u);
  for (auto& l : others) {
    EXPECT_EQ(l->rx[0].expected(), 0u);
    b.hub.lifecycle.remove(*l);
  }
}

// A compact frame names the link: its sender knows us, and the handshake is over.
TEST_F(Compact, ACompactFrameEndsTheHandshake) {
  Pair p{compact()};
  p.a.open(p.b.hub.uid());
  p.a.send("1");
  p.b.receive(p.a.take());
  p.b.send("2");
  p.a.receive(p.b.take());
  p.a.send("3");
  ASSERT_TRUE(p.a.wire.front().compact);
  WireFrame damaged = p.a.wire.front();
  damaged.flip_payload(0);
  p.b.receive(damaged);
  EXPECT_TRUE(p.b.link->carries_hello());
  p.b.receive(p.a.take());
  EXPECT_FALSE(p.b.link->carries_hello());
  EXPECT_TRUE(p.b.link->is_fast());
  p.b.send("4");
  EXPECT_TRUE(p.b.wire.back().compact);
}

// Damage in the stored frame (key, header or payload) is found before it is sent again.
TEST_F(Compact, DamageInOurOwnCopyFailsTheLink) {
  for (int at = -32; at < 5; ++at) {
    if (at >= -24 && at <= -16) continue;  // unused; the kind, which is in the key too
    Pair p{compact()};
    p.join(0xfffe);
    p.a.send("hello");
    p.a.take();
    p.a.send("next");
    p.a.link->tx[0].oldest()->payload()[at] ^= 4;
    p.run_until_idle();
    EXPECT_EQ(p.a.failures, std::vector<Failure>{Failure::kSourceFault}) << at;
    EXPECT_TRUE(p.b.got.empty()) << at;
  }
}

// A message whose slot gets its copy behind the send: see sending/late_copy.h in src/uct.
link::Slot* send_late(End& end, const std::string& text) {
  constexpr size_t kWord = sizeof(uint64_t);
  link::Slot* slot = end.hub.sender.reserve(*end.link, Class::kSync, text.size());
  std::vector<uint8_t> frame(wire::kCompactHeader + text.size());
  uint8_t* out = frame.data() + wire::kCompactHeader;
  std::memcpy(out, text.data(), text.size());
  EXPECT_TRUE(end.hub.sender.commit_open(*end.link, Class::kSync, slot,
                                         static_cast<uint32_t>(text.size()), 1));
  const util::Piece pieces[2] = {{out - kWord, 2 * kWord},
                                 {text.data() + kWord, text.size() - kWord}};
  link::seal_pieces(*end.link, slot, frame.data(), pieces);
  EXPECT_EQ(end.send_compact(*end.link, {frame.data(), frame.size()}), Sent::kOk);
  return slot;
}

// The program may write to the memory of a message between the bytes' sending and that copy. It is
// no memory that failed, and what is there last goes.
TEST_F(Compact, WhatChangedBeforeItsLateCopyGoesAsItIs) {
  std::string text = text_of(100);
  link::Slot* slot = send_late(a, text);
  a.wire.back().flip_payload(50);  // as if it had changed in between
  const void* from = text.data() + sizeof(uint64_t);
  text[60] ^= 1;
  std::memcpy(slot->payload(), text.data(), text.size());
  a.send("next");
  pair.run_until_idle();
  EXPECT_EQ(b.got, (std::vector<std::string>{text, "next"}));
  EXPECT_TRUE(a.failures.empty());
  EXPECT_EQ(a.counters.source_changed, 1u);
  EXPECT_EQ(a.counters.source_faults, 0u);
  ASSERT_EQ(a.changed_before.size(), 1u);
  EXPECT_EQ(a.changed_before[0].data, from);
  EXPECT_EQ(a.changed_before[0].length, text.size());
  EXPECT_EQ(a.counters.segments_resent, 0u);
  EXPECT_EQ(b.counters.faults_payload + b.counters.faults_header, 0u);
  EXPECT_EQ(b.counters.segments_repaired, 0u);
}

// A slot that held one of those holds others later.
TEST_F(Compact, OnlyALateCopyMayHaveChanged) {
  const std::string text = text_of(100);
  link::Slot* slot = send_late(a, text);
  std::memcpy(slot->payload(), text.data(), text.size());
  pair.run_until_idle();
  a.send(text);
  ASSERT_EQ(a.link->tx[0].oldest(), slot);
  a.take();
  a.send("next");
  slot->payload()[60] ^= 1;
  pair.run_until_idle();
  EXPECT_EQ(a.failures, std::vector<Failure>{Failure::kSourceFault});
  EXPECT_EQ(b.got, std::vector<std::string>{text});
}

}  // namespace
}  // namespace verity::test
