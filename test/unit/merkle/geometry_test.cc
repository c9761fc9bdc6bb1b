// SPDX-License-Identifier: BSD-3-Clause
#include "merkle/geometry.h"

#include <gtest/gtest.h>

namespace verity::merkle {
namespace {

TEST(MerkleGeometry, AcceptsPowersOfTwoFrom256To65536Only) {
  for (uint64_t size = 0; size < 200000; ++size) {
    const bool valid = size == 256 || size == 512 || size == 1024 || size == 2048 || size == 4096 ||
                       size == 8192 || size == 16384 || size == 32768 || size == 65536;
    ASSERT_EQ(is_valid_segment_size(size), valid) << size;
    ASSERT_EQ(Geometry::make(1000, size).has_value(), valid) << size;
  }
  EXPECT_FALSE(is_valid_segment_size(UINT64_MAX));
  EXPECT_FALSE(is_valid_segment_size((1ULL << 32) + 256));  // not cut to 32 bits
}

TEST(MerkleGeometry, ZeroBytesAreOneEmptyLeaf) {
  const Geometry geometry(0, 4096);
  EXPECT_EQ(geometry.leaf_count(), 1U);
  EXPECT_EQ(geometry.leaf_offset(0), 0U);
  EXPECT_EQ(geometry.leaf_length(0), 0U);
  EXPECT_EQ(geometry.level_count(), 1U);
  EXPECT_EQ(geometry.level_size(0), 1U);
}

void expect_leaves_tile(const Geometry& geometry) {
  uint64_t offset = 0;
  for (uint64_t i = 0; i < geometry.leaf_count(); ++i) {
    ASSERT_EQ(geometry.leaf_offset(i), offset);
    const uint32_t length = geometry.leaf_length(i);
    ASSERT_LE(length, geometry.segment_size());
    ASSERT_TRUE(length == geometry.segment_size() || i + 1 == geometry.leaf_count());
    ASSERT_TRUE(length > 0 || geometry.length() == 0);
    offset += length;
  }
  ASSERT_EQ(offset, geometry.length());
}

TEST(MerkleGeometry, LeavesTileThePayload) {
  for (uint32_t segment = kMinSegmentSize; segment <= kMaxSegmentSize; segment *= 2) {
    for (const uint64_t segments : {1, 2, 3, 15, 16, 17, 31, 32, 33, 63, 64, 65, 256, 257}) {
      for (const int64_t more : {-1, 0, 1}) {
        const uint64_t length = segments * segment + static_cast<uint64_t>(more);
        const Geometry geometry(length, segment);
        ASSERT_EQ(geometry.leaf_count(), segments + (more == 1 ? 1 : 0));
        expect_leaves_tile(geometry);
      }
    }
    expect_leaves_tile(Geometry(1, segment));
  }
}

TEST(MerkleGeometry, EachLevelIsTheOneBelowDividedByTheFanout) {
  for (uint64_t leaves = 1; leaves < 20000; ++leaves) {
    const Geometry geometry(leaves * 256, 256);
    uint64_t expected = leaves;
    unsigned level = 0;
    while (expected > 1) {
      ASSERT_EQ(geometry.level_size(level), expected);
      expected = (expected + kFanout - 1) / kFanout;
      ++level;
    }
    ASSERT_EQ(geometry.level_size(level), 1U);
    ASSERT_EQ(geometry.level_size(level + 1), 1U);
    ASSERT_EQ(geometry.level_count(), level + 1);
  }
}

TEST(MerkleGeometry, LengthsBeyondFourGiB) {
  const Geometry geometry((5ULL << 30) + 1, 256);
  EXPECT_EQ(geometry.leaf_count(), (5ULL << 22) + 1);
  EXPECT_EQ(geometry.leaf_offset(5ULL << 22), 5ULL << 30);
  EXPECT_EQ(geometry.leaf_length(5ULL << 22), 1U);
  EXPECT_EQ(geometry.leaf_length((5ULL << 22) - 1), 256U);
}

TEST(MerkleGeometry, LongestPossibleLengthDoesNotOverflow) {
  for (uint32_t segment = kMinSegmentSize; segment <= kMaxSegmentSize; segment *= 2) {
    const Geometry geometry(UINT64_MAX, segment);
    const uint64_t leaves = geometry.leaf_count();
    EXPECT_EQ(leaves, UINT64_MAX / segment + 1);
    EXPECT_EQ(geometry.leaf_length(leaves - 1), segment - 1);
    EXPECT_EQ(geometry.leaf_offset(leaves - 1) + segment - 1, UINT64_MAX);
    EXPECT_LE(geometry.level_count(), kMaxLevels);
    EXPECT_EQ(geometry.level_size(geometry.level_count() - 1), 1U);
    EXPECT_GT(geometry.level_size(geometry.level_count() - 2), 1U);
  }
  EXPECT_EQ(Geometry(UINT64_MAX, kMinSegmentSize).level_count(), kMaxLevels);
  EXPECT_EQ(Geometry(kFanout * 256, 256).level_count(), 2U);
  EXPECT_EQ(Geometry(kFanout * 256 + 1, 256).level_count(), 3U);
}

TEST(MerkleGeometry, EqualOnlyIfLengthAndSegmentAreEqual) {
  EXPECT_EQ(Geometry(1000, 256), Geometry(1000, 256));
  EXPECT_FALSE(Geometry(1000, 256) == Geometry(1001, 256));
  EXPECT_FALSE(Geometry(1000, 256) == Geometry(1000, 512));
}

}  // namespace
}  // namespace verity::merkle
