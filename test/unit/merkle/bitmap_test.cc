// SPDX-License-Identifier: BSD-3-Clause
#include "merkle/bitmap.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace verity::merkle {
namespace {

std::vector<uint64_t> members(ConstBitmap bitmap) {
  std::vector<uint64_t> found;
  bitmap.for_each([&](uint64_t i) { found.push_back(i); });
  return found;
}

TEST(MerkleBitmap, BytesOnTheWire) {
  uint8_t bytes[2] = {0, 0};
  const Bitmap bitmap(bytes, 13);
  bitmap.set(0);
  bitmap.set(7);
  bitmap.set(12);
  EXPECT_EQ(bytes[0], 0x81);
  EXPECT_EQ(bytes[1], 0x10);
  bitmap.reset(7);
  EXPECT_EQ(bytes[0], 0x01);
  EXPECT_EQ(bitmap.byte_size(), 2U);
}

TEST(MerkleBitmap, Sizes) {
  EXPECT_EQ(bitmap_bytes(0), 0U);
  EXPECT_EQ(bitmap_bytes(1), 1U);
  EXPECT_EQ(bitmap_bytes(8), 1U);
  EXPECT_EQ(bitmap_bytes(9), 2U);
  EXPECT_EQ(bitmap_bytes(UINT64_MAX), UINT64_MAX / 8 + 1);
}

TEST(MerkleBitmap, EmptySetTouchesNoMemory) {
  const Bitmap bitmap(nullptr, 0);
  bitmap.clear();
  bitmap.fill();
  EXPECT_EQ(bitmap.count(), 0U);
  EXPECT_FALSE(bitmap.any());
  EXPECT_TRUE(bitmap.reserved_bits_are_zero());
  EXPECT_TRUE(members({nullptr, 0}).empty());
}

// Exact heap blocks, at odd addresses: AddressSanitizer sees any access beyond the bytes.
TEST(MerkleBitmap, RandomSetsOfEverySize) {
  std::mt19937 random(4);
  for (uint64_t bits = 1; bits <= 300; ++bits) {
    std::vector<uint8_t> memory(bitmap_bytes(bits) + 1, 0);
    const Bitmap bitmap(memory.data() + 1, bits);
    std::set<uint64_t> expected;
    for (uint64_t i = 0; i < bits / 2 + 1; ++i) {
      const uint64_t member = random() % bits;
      expected.insert(member);
      bitmap.set(member);
    }
    for (uint64_t i = 0; i < bits; ++i) { ASSERT_EQ(bitmap.test(i), expected.count(i) == 1); }
    ASSERT_EQ(bitmap.count(), expected.size());
    ASSERT_TRUE(bitmap.any());
    ASSERT_EQ(members({memory.data() + 1, bits}),
              std::vector<uint64_t>(expected.begin(), expected.end()));
    ASSERT_TRUE(bitmap.reserved_bits_are_zero());
    ASSERT_EQ(memory[0], 0);
    bitmap.clear();
    ASSERT_FALSE(bitmap.any());
  }
}

TEST(MerkleBitmap, ReservedBitsAreSeenAndNotCounted) {
  for (uint64_t bits = 1; bits <= 80; ++bits) {
    std::vector<uint8_t> memory(bitmap_bytes(bits), 0xff);
    const Bitmap bitmap(memory.data(), bits);
    ASSERT_EQ(bitmap.count(), bits);
    ASSERT_EQ(members({memory.data(), bits}).size(), bits);
    ASSERT_EQ(bitmap.reserved_bits_are_zero(), bits % 8 == 0) << bits;
    bitmap.fill();
    ASSERT_TRUE(bitmap.reserved_bits_are_zero());
    ASSERT_EQ(bitmap.count(), bits);
    if (bits % 8 != 0) {
      bitmap.clear();
      memory.back() = static_cast<uint8_t>(1U << (bits % 8));
      ASSERT_FALSE(bitmap.any());
      ASSERT_FALSE(bitmap.reserved_bits_are_zero());
    }
  }
}

}  // namespace
}  // namespace verity::merkle
