// SPDX-License-Identifier: BSD-3-Clause
// The pool of slots, and the memory and time of very many links.
#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "unit/link/pair.h"

namespace verity::test {
namespace {

using link::Pool;
using link::Slot;

Slot* take(Pool& pool, size_t size) {
  Slot* slot = pool.take(size);
  if (slot != nullptr) return slot;
  pool.refill();
  return pool.take(size);
}

class LinksPool : public InEachForm {};
VERITY_IN_EACH_FORM(LinksPool);

TEST(PoolTest, SlotsOfEverySizeAreLargeEnoughAndApart) {
  for (const size_t max_frame :
       {size_t{96}, size_t{500}, size_t{2048}, size_t{8192}, size_t{300'000}}) {
    Pool pool(max_frame, 256 << 20);
    std::vector<std::pair<Slot*, size_t>> taken;
    for (size_t size = 32; size <= max_frame; size += 1 + size / 16)
      taken.push_back({take(pool, size), size});
    taken.push_back({take(pool, max_frame), max_frame});
    uint8_t mark = 0;
    for (auto& [slot, size] : taken) {
      ASSERT_NE(slot, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(slot->payload()) % 64, 0u);
      std::memset(reinterpret_cast<uint8_t*>(slot + 1), ++mark, size);
    }
    mark = 0;
    for (auto& [slot, size] : taken) {
      const auto* bytes = reinterpret_cast<const uint8_t*>(slot + 1);
      ++mark;
      for (size_t i = 0; i < size; ++i) ASSERT_EQ(bytes[i], mark);
      pool.give(slot);
    }
    pool.trim(0);
    EXPECT_EQ(pool.footprint(), 0u);
  }
}

// Else short messages would stay in the long slots that the first one, with its HELLO, brought.
TEST(PoolTest, GrowsTheSmallSlotsWhileThereAreLargerOnes) {
  Pool pool(8192, 64 << 20);
  Slot* larger = take(pool, 200);
  ASSERT_NE(larger, nullptr);
  Slot* instead = pool.take(40);
  ASSERT_NE(instead, nullptr);
  EXPECT_EQ(instead->size_class, larger->size_class);
  EXPECT_TRUE(pool.wants_refill());
  pool.refill();
  Slot* small = pool.take(40);
  ASSERT_NE(small, nullptr);
  EXPECT_LT(small->size_class, larger->size_class);
  for (Slot* slot : {larger, instead, small}) pool.give(slot);
}

TEST(PoolTest, TheFewLargeSlotsAreApartFromTheOthers) {
  Pool pool(8192, 64 << 20, 70'000);
  std::vector<Slot*> large;
  for (unsigned i = 0; i < 10; ++i) {
    large.push_back(take(pool, 70'000));
    ASSERT_NE(large.back(), nullptr);
    std::memset(reinterpret_cast<uint8_t*>(large.back() + 1), static_cast<int>(i), 70'000);
  }
  const size_t before = pool.footprint();
  EXPECT_LT(before, 20u * 70'100);
  Slot* other = take(pool, 8192);
  ASSERT_NE(other, nullptr);
  pool.give(other);
  pool.refill();
  EXPECT_LT(pool.footprint() - before, 64u * 8400) << "of the usual size";
  for (unsigned i = 0; i < 10; ++i) EXPECT_EQ(reinterpret_cast<uint8_t*>(large[i] + 1)[69'999], i);
}

TEST(PoolTest, LimitHolds) {
  Pool pool(8192, 1 << 20);
  std::set<Slot*> slots;
  while (Slot* slot = take(pool, 8192)) EXPECT_TRUE(slots.insert(slot).second);
  EXPECT_LE(pool.footprint(), size_t{1} << 20);
  EXPECT_GT(slots.size(), 100u);
  for (Slot* slot : slots) pool.give(slot);
  Pool large(300'000, 1 << 20);  // fewer fit than are made at a time
  EXPECT_NE(take(large, 300'000), nullptr);
  EXPECT_LE(large.footprint(), size_t{1} << 20);
  Pool none(8192, 0);
  EXPECT_EQ(take(none, 100), nullptr);
}

TEST(PoolTest, TrimKeepsWhatIsInUse) {
  Pool pool(8192, 64 << 20);
  Slot* slot = take(pool, 100);
  const size_t before = pool.footprint();
  pool.trim(0);
  EXPECT_EQ(pool.footprint(), before);
  pool.give(slot);
  pool.trim(before);
  EXPECT_EQ(pool.footprint(), before);
  pool.trim(before - 1);
  EXPECT_EQ(pool.footprint(), 0u);
}

TEST(PoolTest, TheSlotGivenLastIsTakenFirst) {
  Pool pool(8192, 64 << 20);
  Slot* slot = take(pool, 40);
  pool.give(slot);
  EXPECT_EQ(pool.take(40), slot);
  pool.give(slot);
}

TEST_P(LinksPool, ALinkWithNothingInFlightGetsItsReserve) {
  link::Config config;
  config.pool_limit = 0;
  Pair pair{config};
  pair.join();
  for (unsigned i = 0; i < 3; ++i) {
    EXPECT_TRUE(pair.a.send("reserve"));
    EXPECT_FALSE(pair.a.send("no more"));
    EXPECT_FALSE(pair.a.hub.sender.can_send(*pair.a.link, Class::kSync));
    EXPECT_TRUE(pair.a.send("the other class has its own", Class::kAsync));
    pair.b.poll(100);
    pair.run_until_idle();
    pair.b.poll(100);
    pair.run_until_idle();
    EXPECT_TRUE(pair.a.hub.sender.can_send(*pair.a.link, Class::kSync));
    EXPECT_EQ(pair.a.writables, i + 1) << "notified when there is room again";
  }
}

TEST_P(LinksPool, MemoryShrinksWhenIdle) {
  link::Config config;
  config.window_frames = 4096;
  config.window_bytes = 64 << 20;
  Pair pair{config};
  pair.join();
  for (unsigned i = 0; i < 3000; ++i) ASSERT_TRUE(pair.a.send(std::string(7000, 'x')));
  EXPECT_GT(pair.a.hub.pool().footprint(), size_t{16} << 20);
  pair.run_until_idle();
  pair.run_for(3'000'000'000, 10'000'000);
  EXPECT_LE(pair.a.hub.pool().footprint(), size_t{1} << 20);
}

// A frame that fills the slot to the last byte, with and without a HELLO.
TEST_P(LinksPool, LargestFrames) {
  link::Config config;
  config.max_frame = config.max_send = 4096;
  config.segment_log2 = 12;
  for (const bool hello : {false, true}) {
    Pair pair{config};
    if (hello) {
      pair.a.open(pair.b.hub.uid());
    } else {
      pair.join();
    }
    const size_t most = 4096 - sizeof(FrameHeader) - (hello ? wire::kMaxHello : 0);
    ASSERT_TRUE(pair.a.send(std::string(most, 'y')));
    pair.run_until_idle();
    EXPECT_EQ(pair.b.got, std::vector<std::string>{std::string(most, 'y')});
  }
}

// One id more would be another link's, or kLinkUnknown.
TEST(Scale, LinksAreBoundedByTheirIds) {
  link::Link same;  // entered again and again: only the table's size matters here
  End end(1, {});
  unsigned count = 0;
  EXPECT_THROW(
      for (;; ++count) {
        end.hub.lifecycle.enter(same);
        ASSERT_NE(same.local_id, wire::kLinkUnknown);
      },
      std::bad_alloc);
  EXPECT_EQ(count, (1u << 20) - 1);
}

// 640,000 idle links in one interface: at most 1 KiB each, and a progress call costs nothing more
// for them.
TEST(Scale, IdleLinksAreSmallAndFree) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr unsigned kLinks = 20'000;
#else
  constexpr unsigned kLinks = 640'000;
#endif
  // The link, its entry in the table of ids and the free list, its node in the hash table.
  constexpr size_t kTable = 2 * sizeof(void*) + sizeof(uint32_t);
  constexpr size_t kNode = 2 * sizeof(void*) + 2 * sizeof(uint64_t) + 16;
  static_assert(sizeof(link::Link) + kTable + kNode <= 1024);
  std::vector<link::Link> links(kLinks);
  End end(1, {});
  const auto ns = [](auto from, auto to) {
    return static_cast<double>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(to - from).count());
  };
  const auto start = std::chrono::steady_clock::now();
  for (unsigned i = 0; i < kLinks; ++i) {
    end.hub.lifecycle.open(links[i], 1000 + i, 0, Mode::kVerify);
    end.hub.lifecycle.connect(links[i], 1000 + i, i, Mode::kVerify);
  }
  const auto opened = std::chrono::steady_clock::now();
  // One message each, acknowledged at once.
  uint64_t t = 1'000'000'000;
  for (unsigned i = 0; i < kLinks; ++i) {
    link::Slot* slot = end.hub.sender.reserve(links[i], Class::kSync, 8);
    ASSERT_NE(slot, nullptr);
    end.hub.sender.commit(links[i], Class::kSync, slot, 8, 1);
    wire::FrameHeader ack{};
    ack.link = links[i].local_id;
    ack.ack = 1;
    ack.kind = wire::kind_byte(FrameKind::kAck);
    ack.segment = wire::segment_byte(13);
    wire::seal_single(&ack, sizeof(ack), links[i].rx[0].nonce());
    link::Received received;
    ASSERT_FALSE(end.hub.receive(Class::kSync, &ack, sizeof(ack), &received));
    ASSERT_FALSE(links[i].in_flight());
    if (end.hub.poll()) end.hub.tick(t += 1000);
  }
  const auto spoken = std::chrono::steady_clock::now();
  for (unsigned i = 0; i < 3000; ++i)
    end.hub.tick(t += 1'000'000);  // the timers run out, the pool shrinks
  const auto idle = std::chrono::steady_clock::now();
  for (unsigned i = 0; i < 1'000'000; ++i) (void)end.hub.poll();
  const auto polled = std::chrono::steady_clock::now();
  EXPECT_LE(end.hub.pool().footprint(), size_t{1} << 20);
  EXPECT_EQ(end.hub.next_deadline(), UINT64_MAX);
  EXPECT_TRUE(end.hub.is_idle());
  RecordProperty("bytes_per_link", std::to_string(sizeof(link::Link) + kTable + kNode));
  RecordProperty("ns_to_open", std::to_string(ns(start, opened) / kLinks));
  RecordProperty("ns_per_message", std::to_string(ns(opened, spoken) / kLinks));
  RecordProperty("us_per_tick_then", std::to_string(ns(spoken, idle) / 3e6));
  RecordProperty("ns_per_poll", std::to_string(ns(idle, polled) / 1e6));
  for (link::Link& l : links) end.hub.lifecycle.remove(l);
}

TEST(Buffers, ComeBackAndAreKeptUpToALimit) {
  link::BounceBuffers buffers(20'000);
  void* first = buffers.take(5000);  // 8 KiB
  void* second = buffers.take(1);
  std::memset(first, 1, 5000);
  buffers.give(first, 5000);
  buffers.give(second, 1);
  EXPECT_EQ(buffers.take(8192), first);
  EXPECT_EQ(buffers.take(0), second);
  buffers.give(first, 5000);
  buffers.give(second, 1);
  buffers.give(buffers.take(8193), 8193);  // beyond the limit
  buffers.give(buffers.take(200 << 20), 200 << 20);
  EXPECT_EQ(buffers.take(5000), first);
  buffers.give(first, 5000);
  buffers.trim();
  void* fresh = buffers.take(5000);
  std::memset(fresh, 2, 5000);
  buffers.give(fresh, 5000);
}

}  // namespace
}  // namespace verity::test
