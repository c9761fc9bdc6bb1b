// SPDX-License-Identifier: BSD-3-Clause
#include "merkle/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "unit/merkle/bytes.h"

namespace verity::merkle {
namespace {

using test::Bytes;
using test::cut;
using util::Piece;
using util::Pieces;

Digest root_of_bytes(const Bytes& bytes, uint32_t segment) {
  const Piece whole{bytes.data(), bytes.size()};
  return root(Geometry(bytes.size(), segment), {&whole, 1});
}

Tree tree_of_bytes(const Bytes& bytes, uint32_t segment) {
  const Piece whole{bytes.data(), bytes.size()};
  return Tree::build(Geometry(bytes.size(), segment), {&whole, 1});
}

// The definition, level by level, as the documentation of tree.h states it.
Digest root_by_definition(std::vector<Digest> level_digests) {
  for (unsigned level = 1; level_digests.size() > 1; ++level) {
    std::vector<Digest> parents;
    for (size_t first = 0; first < level_digests.size(); first += kFanout) {
      const size_t count = std::min<size_t>(kFanout, level_digests.size() - first);
      parents.push_back(
          node_digest(level, first / kFanout, std::span(level_digests).subspan(first, count)));
    }
    level_digests = parents;
  }
  return level_digests[0];
}

std::vector<Digest> random_digests(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Digest> digests(count);
  std::generate(digests.begin(), digests.end(), std::ref(random));
  return digests;
}

Digest root_of_leaves(const std::vector<Digest>& leaves) {
  return root_of(Geometry(leaves.size() * 256, 256), leaves);
}

TEST(MerkleTree, UpToOneSegmentTheRootIsTheHashOfTheBytes) {
  for (const size_t length : {0, 1, 7, 255, 256}) {
    const Bytes bytes = test::xxhash_bytes(length);
    const Digest expected = hash(bytes.data(), length);
    EXPECT_EQ(root_of_bytes(bytes, 256), expected);
    EXPECT_EQ(tree_of_bytes(bytes, 256).root(), expected);
    EXPECT_EQ(root(Geometry(length, 256), cut(bytes, {length / 2})), expected);
  }
}

TEST(MerkleTree, PiecesMakeTheSameRoot) {
  std::mt19937_64 random(5);
  for (const uint64_t segments : {1, 2, 31, 32, 33, 100}) {
    for (const int64_t more : {-1, 0, 1}) {
      const size_t length = segments * 256 + static_cast<uint64_t>(more);
      const Bytes bytes = test::xxhash_bytes(length);
      std::vector<size_t> cuts{16, 16, random() % length, random() % length};
      std::sort(cuts.begin(), cuts.end());
      for (const auto& where : {std::vector<size_t>{}, std::vector<size_t>{16}, cuts}) {
        ASSERT_EQ(root(Geometry(length, 256), cut(bytes, where)), root_of_bytes(bytes, 256))
            << length;
      }
    }
  }
}

TEST(MerkleTree, EveryWayToARootAgrees) {
  for (const uint64_t segments : {1, 2, 15, 16, 17, 33, 256, 257, 300, 4096, 4097}) {
    for (const int64_t more : {-1, 0, 1}) {
      const size_t length = segments * 256 + static_cast<uint64_t>(more);
      const Bytes bytes = test::xxhash_bytes(length);
      const Geometry geometry(length, 256);
      std::vector<Digest> leaves(geometry.leaf_count());
      leaf_digests(geometry, cut(bytes, {}), leaves);
      for (uint64_t i = 0; i < leaves.size(); ++i) {
        ASSERT_EQ(leaves[i], hash(bytes.data() + geometry.leaf_offset(i), geometry.leaf_length(i)));
      }
      const Digest expected = root_by_definition(leaves);
      ASSERT_EQ(root_of(geometry, leaves), expected) << length;
      ASSERT_EQ(root_of_bytes(bytes, 256), expected) << length;
      ASSERT_EQ(tree_of_bytes(bytes, 256).root(), expected) << length;
      ASSERT_EQ(Tree::from_leaves(geometry, leaves).root(), expected) << length;
    }
  }
}

TEST(MerkleTree, RootOfAnyNumberOfLeaves) {
  const std::vector<Digest> all = random_digests(9000, 5);
  for (size_t count = 1; count <= 1200; ++count) {
    const std::vector<Digest> leaves(all.begin(), all.begin() + static_cast<ptrdiff_t>(count));
    ASSERT_EQ(root_of_leaves(leaves), root_by_definition(leaves)) << count;
  }
  for (const size_t count : {4095, 4096, 4097, 8999}) {
    const std::vector<Digest> leaves(all.begin(), all.begin() + static_cast<ptrdiff_t>(count));
    ASSERT_EQ(root_of_leaves(leaves), root_by_definition(leaves)) << count;
  }
}

TEST(MerkleTree, BuilderTakesLeavesInAnyPortions) {
  std::mt19937 random(14);
  for (const size_t count : {1U, kFanout - 1, kFanout, kFanout + 1, 5 * kFanout, 3000U}) {
    const std::vector<Digest> leaves = random_digests(count, count);
    for (int round = 0; round < 20; ++round) {
      RootBuilder builder;
      for (size_t at = 0; at < count;) {
        const size_t portion = std::min<size_t>(random() % (3 * kFanout), count - at);
        builder.add(std::span(leaves).subspan(at, portion));
        at += portion;
        if (at < count) { builder.add(leaves[at++]); }
      }
      ASSERT_EQ(builder.finish(), root_by_definition(leaves));
    }
  }
}

TEST(MerkleTree, PiecesCutAnywhereGiveTheSameRoot) {
  std::mt19937 random(6);
  const Bytes bytes = test::xxhash_bytes(10001);
  for (const uint32_t segment : {256U, 1024U, 4096U, 65536U}) {
    const Geometry geometry(bytes.size(), segment);
    const Digest expected = root_of_bytes(bytes, segment);
    for (int round = 0; round < 100; ++round) {
      std::vector<size_t> cuts;
      for (size_t at = random() % 700; at <= bytes.size(); at += random() % (20U * (round + 1))) {
        cuts.push_back(at);
      }
      ASSERT_EQ(root(geometry, cut(bytes, cuts)), expected);
    }
    for (const size_t at : {0, 1, 255, 256, 257, 4096, 10000, 10001}) {
      ASSERT_EQ(root(geometry, cut(bytes, {at, at})), expected);
    }
  }
}

TEST(MerkleTree, PiecesThatEndTooEarlyAreNotOverrun) {
  const Bytes bytes = test::xxhash_bytes(1000);
  const Geometry geometry(100000, 256);
  EXPECT_NE(root(geometry, cut(bytes, {})), root_of_bytes(bytes, 256));
  EXPECT_NE(root(geometry, {}), root(geometry, cut(bytes, {})));
}

TEST(MerkleTree, EveryFlippedBitChangesTheRoot) {
  Bytes bytes = test::xxhash_bytes(256 * 3 + 41);
  std::set<Digest> seen{root_of_bytes(bytes, 256)};
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    test::flip(bytes, bit);
    ASSERT_TRUE(seen.insert(root_of_bytes(bytes, 256)).second) << bit;
    test::flip(bytes, bit);
  }
}

TEST(MerkleTree, SwappedSegmentsChangeTheRoot) {
  const std::vector<Digest> leaves = random_digests(600, 7);
  const Digest expected = root_of_leaves(leaves);
  std::mt19937 random(8);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Digest> swapped = leaves;
    const size_t a = random() % leaves.size();
    const size_t b = random() % leaves.size();
    std::swap(swapped[a], swapped[b]);
    ASSERT_EQ(root_of_leaves(swapped) == expected, a == b) << a << ' ' << b;
  }
}

TEST(MerkleTree, SwappedSubtreesChangeTheRoot) {
  const std::vector<Digest> leaves = random_digests(kFanout * 3, 9);
  std::vector<Digest> swapped = leaves;
  std::swap_ranges(swapped.begin(), swapped.begin() + kFanout, swapped.begin() + kFanout);
  EXPECT_NE(root_of_leaves(swapped), root_of_leaves(leaves));
}

TEST(MerkleTree, TruncatedMovedAndPaddedLeavesChangeTheRoot) {
  const std::vector<Digest> leaves = random_digests(700, 10);
  std::set<Digest> seen;
  for (size_t first : {0, 1, 16, 256}) {  // moved: the same leaves from another start
    for (size_t count = 1; first + count <= leaves.size(); ++count) {
      const auto begin = leaves.begin() + static_cast<ptrdiff_t>(first);
      ASSERT_TRUE(
          seen.insert(root_of_leaves({begin, begin + static_cast<ptrdiff_t>(count)})).second);
    }
  }
  std::vector<Digest> zeros;  // leaves of digest zero are leaves too
  for (int count = 1; count < 600; ++count) {
    zeros.push_back(0);
    if (count > 1) { ASSERT_TRUE(seen.insert(root_of_leaves(zeros)).second) << count; }
  }
}

TEST(MerkleTree, NodeBindsLevelIndexAndCount) {
  const std::vector<Digest> children(kFanout, 0);
  std::set<Digest> seen;
  for (unsigned level = 1; level < kMaxLevels; ++level) {
    for (const uint64_t index : {0ULL, 1ULL, 2ULL, 1ULL << 32, (1ULL << (56 - kFanoutShift)) - 1}) {
      for (size_t count = 1; count <= kFanout; ++count) {
        ASSERT_TRUE(
            seen.insert(node_digest(level, index, std::span(children).first(count))).second);
      }
    }
  }
}

TEST(MerkleTree, UpdatedLeafGivesTheTreeBuiltAnew) {
  std::mt19937_64 random(11);
  for (const size_t count : {1, 2, 16, 17, 255, 256, 257, 5000}) {
    std::vector<Digest> leaves = random_digests(count, count);
    const Geometry geometry(count * 256 - 1, 256);
    Tree tree = Tree::from_leaves(geometry, leaves);
    for (int round = 0; round < 50; ++round) {
      const uint64_t i = round == 0 ? count - 1 : random() % count;
      leaves[i] = random();
      tree.update_leaf(i, leaves[i]);
      const Tree anew = Tree::from_leaves(geometry, leaves);
      ASSERT_EQ(tree.leaf(i), leaves[i]);
      for (unsigned level = 0; level < tree.level_count(); ++level) {
        ASSERT_TRUE(std::ranges::equal(tree.level(level), anew.level(level)));
      }
    }
  }
}

TEST(MerkleTree, DiffFindsExactlyTheChangedSegments) {
  std::mt19937_64 random(12);
  for (const size_t count : {1, 2, 15, 16, 17, 256, 257, 5000}) {
    const std::vector<Digest> leaves = random_digests(count, count);
    const Geometry geometry(count * 256, 256);
    const Tree tree = Tree::from_leaves(geometry, leaves);
    for (const size_t changes : {size_t{0}, size_t{1}, size_t{2}, count / 3, count}) {
      std::vector<Digest> other = leaves;
      std::set<uint64_t> changed;
      for (size_t i = 0; i < changes; ++i) {
        const uint64_t at = changes == count ? i : random() % count;
        other[at] ^= 1ULL << (random() % 64);
        if (other[at] != leaves[at]) {
          changed.insert(at);
        } else {
          changed.erase(at);
        }
      }
      std::vector<uint64_t> found;
      ASSERT_TRUE(tree.diff(Tree::from_leaves(geometry, other), found));
      ASSERT_EQ(found, std::vector<uint64_t>(changed.begin(), changed.end()));
    }
  }
}

TEST(MerkleTree, DiffOfDamagedBytesNamesTheSegments) {
  Bytes bytes = test::xxhash_bytes(100 * 1024 + 1);
  const Tree good = tree_of_bytes(bytes, 1024);
  bytes[0] ^= 1;
  bytes[5 * 1024 - 1] ^= 0x80;
  bytes[100 * 1024] ^= 4;
  std::vector<uint64_t> found;
  ASSERT_TRUE(good.diff(tree_of_bytes(bytes, 1024), found));
  EXPECT_EQ(found, (std::vector<uint64_t>{0, 4, 100}));
}

TEST(MerkleTree, DiffRefusesAnotherGeometry) {
  const Bytes bytes = test::xxhash_bytes(2048);
  std::vector<uint64_t> found;
  EXPECT_FALSE(tree_of_bytes(bytes, 256).diff(tree_of_bytes(bytes, 512), found));
  EXPECT_FALSE(tree_of_bytes(bytes, 256).diff(tree_of_bytes(test::xxhash_bytes(2047), 256), found));
  EXPECT_TRUE(found.empty());
}

// The peer's side of a remote descent: starting from a trusted root, children are asked for and
// each answer is checked against the digest already trusted.
TEST(MerkleTree, RemoteDescentChecksEveryAnswer) {
  const Geometry geometry(5000 * 256, 256);
  const Tree tree = Tree::from_leaves(geometry, random_digests(5000, 13));
  uint64_t index = 4321;
  for (unsigned level = 1; level < tree.level_count(); ++level) {
    index /= kFanout;
    const auto answer = tree.children(level, index);
    EXPECT_EQ(node_digest(level, index, answer), tree.level(level)[index]);
    EXPECT_NE(node_digest(level, index + 1, answer), tree.level(level)[index]);
    EXPECT_NE(node_digest(level, index, answer.first(answer.size() - 1)), tree.level(level)[index]);
  }
  EXPECT_EQ(tree.level(tree.level_count() - 1)[0], tree.root());
}

}  // namespace
}  // namespace verity::merkle
