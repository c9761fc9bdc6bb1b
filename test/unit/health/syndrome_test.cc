// SPDX-License-Identifier: BSD-3-Clause
// Which pattern damage is taken for, where it is said to be, and that no byte of a payload is in
// what is said.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "health/faults/syndrome.h"
#include "sim/rng.h"

namespace verity::health {
namespace {

using Bytes = std::vector<std::uint8_t>;

// Of neighbouring seeds one would give the other's numbers, shifted.
Bytes random_bytes(std::size_t length, std::uint64_t seed) {
  sim::Rng rng(seed << 32);
  Bytes bytes(length);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(rng.next());
  return bytes;
}

class Compared : public ::testing::Test {
 protected:
  Syndrome result(const Extent& extent = {}) const {
    return compare(bad.data(), good.data(), good.size(), extent);
  }
  Pattern pattern(const Extent& extent = {}) const { return result(extent).pattern; }

  Bytes good = random_bytes(16384, 1);
  Bytes bad = good;
};

TEST_F(Compared, EqualBytesHaveNone) {
  const Syndrome s = result();
  EXPECT_EQ(s.pattern, Pattern::kNone);
  EXPECT_EQ(s.bytes + s.bits + s.positions, 0u);
  EXPECT_EQ(s.compared, 16384u);
  EXPECT_EQ(compare(nullptr, nullptr, 0).pattern, Pattern::kNone);
}

TEST_F(Compared, EachSingleBitOfAFrame) {
  for (std::size_t bit = 0; bit < 8 * good.size(); bit += bit < 2048 ? 1 : 997) {
    bad[bit / 8] = static_cast<std::uint8_t>(bad[bit / 8] ^ 1u << bit % 8);
    const Syndrome s = result({.offset = 100});
    EXPECT_EQ(s.pattern, Pattern::kSingleBit);
    EXPECT_EQ(s.bits, 1u);
    EXPECT_EQ(s.first, 100 + bit / 8);
    EXPECT_EQ(s.last, s.first);
    EXPECT_EQ(s.positions, 1u);
    EXPECT_EQ(s.bit[0], 800 + bit);
    bad[bit / 8] = good[bit / 8];
  }
}

TEST_F(Compared, NeighbouringBitsAreABurst) {
  bad[100] ^= 0xc0;
  bad[101] ^= 0x03;
  const Syndrome s = result();
  EXPECT_EQ(s.pattern, Pattern::kBurst);
  EXPECT_EQ(s.bits, 4u);
  EXPECT_EQ(s.bit[0], 806u);
  EXPECT_EQ(s.bit[3], 809u);
  for (std::size_t i = 100; i < 400; ++i) bad[i] = static_cast<std::uint8_t>(~good[i]);
  EXPECT_EQ(pattern(), Pattern::kBurst);
}

TEST_F(Compared, DistantBitsAreScattered) {
  bad[100] ^= 1;
  bad[9000] ^= 1;
  const Syndrome s = result();
  EXPECT_EQ(s.pattern, Pattern::kScattered);
  EXPECT_EQ(s.first, 100u);
  EXPECT_EQ(s.last, 9000u);
}

TEST_F(Compared, ZeroedLinesAtAnyPlace) {
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{37}, std::size_t{8000}, good.size() - 64}) {
    bad = good;
    std::memset(bad.data() + at, 0, 64);
    EXPECT_EQ(pattern(), Pattern::kZeroed) << at;
    EXPECT_LE(result().bytes, 64u);
    EXPECT_EQ(result().positions, 0u) << "where a zeroed line had ones";
    EXPECT_EQ(result().bit[0], 0u);
  }
  bad = good;  // the line began before what is compared
  std::memset(bad.data(), 0, 24);
  EXPECT_EQ(pattern(), Pattern::kZeroed);
  bad = good;
  std::memset(bad.data() + 256, 0, 4096);
  EXPECT_EQ(pattern(), Pattern::kZeroed);
}

// Zeros among zeros: what differs are few bits, not a line.
TEST_F(Compared, AFewBitsLostInZerosAreNoLine) {
  std::memset(good.data(), 0, good.size());
  bad = good;
  good[777] = 3;
  EXPECT_EQ(pattern(), Pattern::kBurst);
}

TEST_F(Compared, ALineOnceMore) {
  std::memcpy(bad.data() + 640, good.data() + 576, 64);
  EXPECT_EQ(pattern(), Pattern::kRepeated);
}

TEST_F(Compared, ShiftedBytes) {
  for (const int by : {1, -1, 4, -8, 63}) {
    bad = good;
    for (int i = 1000; i < 1200; ++i)
      bad[static_cast<std::size_t>(i)] = good[static_cast<std::size_t>(i - by)];
    const Syndrome s = result();
    EXPECT_EQ(s.pattern, Pattern::kShifted) << by;
    EXPECT_EQ(s.shift, by);
  }
}

TEST_F(Compared, StalePagesStandAtPageBorders) {
  const Bytes old = random_bytes(good.size(), 2);
  std::memcpy(bad.data() + 4096, old.data() + 4096, 4096);
  EXPECT_EQ(pattern(), Pattern::kStalePage);
  // The same bytes, but the frame begins in the middle of a page: no page is wholly different.
  EXPECT_EQ(pattern({.address = 2048}), Pattern::kBurst);
  bad = good;
  std::memcpy(bad.data() + 2048, old.data() + 2048, 4096);
  EXPECT_EQ(pattern({.address = 2048}), Pattern::kStalePage);
}

TEST_F(Compared, OtherBytesAltogether) {
  bad = random_bytes(good.size(), 3);
  EXPECT_EQ(pattern(), Pattern::kWhole);
  // A segment of a longer frame: pages of it.
  EXPECT_EQ(pattern({.whole = 1 << 20}), Pattern::kStalePage);
}

TEST_F(Compared, PartsOfAFrameAddUp) {
  bad[3] ^= 1;
  bad[9000] ^= 4;
  const Syndrome head = compare(bad.data(), good.data(), 8192, {.whole = 16384});
  const Syndrome tail =
      compare(bad.data() + 8192, good.data() + 8192, 8192, {.offset = 8192, .whole = 16384});
  EXPECT_EQ(join(head, tail), result());
  EXPECT_EQ(join(tail, head).first, 3u);
  const Syndrome empty = compare(bad.data() + 1024, good.data() + 1024, 512, {.offset = 1024});
  EXPECT_EQ(join(empty, tail).pattern, Pattern::kSingleBit);
  EXPECT_EQ(join(tail, empty).pattern, Pattern::kSingleBit);
  EXPECT_EQ(join(tail, empty).compared, 8704u);
}

TEST(Recurrence, SameBitAtTheSamePlaceOrInTheSameLane) {
  const Bytes good = random_bytes(4096, 4);
  const auto with_bit = [&](std::size_t bit) {
    Bytes bad = good;
    bad[bit / 8] = static_cast<std::uint8_t>(bad[bit / 8] ^ 1u << bit % 8);
    return compare(bad.data(), good.data(), bad.size());
  };
  EXPECT_EQ(recurrence(with_bit(1000), with_bit(1000)), Again::kPosition);
  EXPECT_EQ(recurrence(with_bit(1000), with_bit(1064)), Again::kLane);
  EXPECT_EQ(recurrence(with_bit(1000), with_bit(1001)), Again::kNo);
  EXPECT_EQ(recurrence(Syndrome{}, with_bit(0)), Again::kNo);
  EXPECT_EQ(recurrence(Syndrome{}, Syndrome{}), Again::kNo);
  const Bytes other = random_bytes(4096, 5);
  const Syndrome whole = compare(other.data(), good.data(), good.size());
  EXPECT_EQ(recurrence(whole, whole), Again::kNo) << "a place is known of few bits only";
}

// Whatever differs is counted exactly, and lies between first and last.
TEST(SyndromeProperty, CountsAreThoseOfANaiveComparison) {
  sim::Rng rng(7);
  for (unsigned round = 0; round < 3000; ++round) {
    const std::size_t length = rng.below(300) + 1;
    const Bytes good = random_bytes(length, round);
    Bytes bad = good;
    for (std::uint64_t n = rng.below(20); n != 0; --n)
      bad[rng.below(length)] ^= static_cast<std::uint8_t>(rng.next());
    std::uint64_t bytes = 0;
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < length; ++i) {
      bytes += bad[i] != good[i];
      bits += static_cast<unsigned>(std::popcount(static_cast<unsigned>(bad[i] ^ good[i])));
    }
    const Syndrome s = compare(bad.data(), good.data(), length);
    EXPECT_EQ(s.bytes, bytes);
    EXPECT_EQ(s.bits, bits);
    EXPECT_EQ(s.pattern == Pattern::kNone, bits == 0);
    const bool flips = s.pattern == Pattern::kSingleBit || s.pattern == Pattern::kBurst ||
                       s.pattern == Pattern::kScattered;
    EXPECT_EQ(s.positions, flips ? std::min<std::uint64_t>(bits, Syndrome::kMostPositions) : 0);
    if (bits == 0) continue;
    EXPECT_NE(bad[s.first], good[s.first]);
    EXPECT_NE(bad[s.last], good[s.last]);
    for (unsigned i = 0; i < s.positions; ++i) {
      EXPECT_NE((bad[s.bit[i] / 8] ^ good[s.bit[i] / 8]) & 1u << s.bit[i] % 8, 0);
      EXPECT_TRUE(i == 0 || s.bit[i - 1] < s.bit[i]);
    }
  }
}

// Privacy: the same damage to other bytes gives the same syndrome, so that it can hold nothing of
// them.
TEST(SyndromeProperty, FlipsAreTheSameWhateverThePayload) {
  sim::Rng rng(8);
  for (unsigned round = 0; round < 500; ++round) {
    const std::size_t length = rng.below(500) + 1;
    const Bytes good1 = random_bytes(length, 2 * round);
    const Bytes good2 = random_bytes(length, 2 * round + 1);
    Bytes bad1 = good1;
    Bytes bad2 = good2;
    for (std::uint64_t n = rng.between(1, 8); n != 0; --n) {
      const std::uint64_t at = rng.below(length);
      const auto mask = static_cast<std::uint8_t>(1u << rng.below(8));
      bad1[at] ^= mask;
      bad2[at] ^= mask;
    }
    EXPECT_EQ(compare(bad1.data(), good1.data(), length),
              compare(bad2.data(), good2.data(), length));
  }
}

TEST(Pattern, NamesAreReadBack) {
  for (std::size_t i = 0; i < kPatternNames.size(); ++i)
    EXPECT_EQ(parse_pattern(kPatternNames[i]), static_cast<Pattern>(i));
  EXPECT_FALSE(parse_pattern("foo"));
}

}  // namespace
}  // namespace verity::health
