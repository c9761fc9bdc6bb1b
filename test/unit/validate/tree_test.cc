// SPDX-License-Identifier: BSD-3-Clause
#include "ucx-verity/tree.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <random>
#include <vector>

namespace {

constexpr uint32_t kSegment = 256;

struct Free {
  void operator()(verity_tree* tree) const { verity_tree_free(tree); }
};
using Tree = std::unique_ptr<verity_tree, Free>;

Tree build(const std::vector<uint8_t>& data) {
  verity_tree* tree = nullptr;
  EXPECT_EQ(verity_tree_build(data.data(), data.size(), kSegment, &tree), 0);
  return Tree(tree);
}

std::vector<uint8_t> random_bytes(size_t size) {
  std::mt19937 random(7);
  std::vector<uint8_t> bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

TEST(VerityTree, DiffFindsWhatChanged) {
  std::vector<uint8_t> data = random_bytes(kSegment * 2000 + 17);
  const Tree before = build(data);
  for (const size_t leaf : {0u, 1u, 999u, 2000u}) data[leaf * kSegment] ^= 1;
  const Tree after = build(data);
  uint64_t leaves[3];
  size_t count = 0;
  ASSERT_EQ(verity_tree_diff(before.get(), after.get(), leaves, 3, &count), 0);
  EXPECT_EQ(count, 4u);
  EXPECT_EQ(leaves[2], 999u);
}

TEST(VerityTree, UpdateIsAsIfBuiltAgain) {
  std::vector<uint8_t> data = random_bytes(kSegment * 1100);
  const Tree tree = build(data);
  for (size_t i = 1000; i < 1800; ++i) data[i] ^= 0xff;
  ASSERT_EQ(verity_tree_update(tree.get(), data.data(), 1000, 800), 0);
  EXPECT_EQ(verity_tree_root(tree.get()), verity_tree_root(build(data).get()));
  EXPECT_EQ(verity_tree_update(tree.get(), data.data(), data.size(), 1), EINVAL);
  EXPECT_EQ(verity_tree_update(tree.get(), data.data(), data.size(), 0), 0);
}

TEST(VerityTree, PathProvesALeaf) {
  for (const size_t leaves : {1u, 2u, 32u, 33u, 1025u}) {
    const std::vector<uint8_t> data = random_bytes(kSegment * leaves - 3);
    const Tree tree = build(data);
    for (const uint64_t leaf : {uint64_t{0}, uint64_t{leaves / 2}, uint64_t{leaves - 1}}) {
      size_t count = 0;
      (void)verity_tree_path(tree.get(), leaf, nullptr, 0, &count);
      std::vector<uint64_t> path(count);
      ASSERT_EQ(verity_tree_path(tree.get(), leaf, path.data(), path.size(), &count), 0);
      uint64_t digest = 0;
      ASSERT_EQ(verity_tree_node(tree.get(), 0, leaf, &digest), 0);
      const auto holds = [&](uint64_t of, const std::vector<uint64_t>& by) {
        return verity_tree_check_path(data.size(), kSegment, leaf, of, by.data(), by.size(),
                                      verity_tree_root(tree.get()));
      };
      EXPECT_EQ(holds(digest, path), 1);
      EXPECT_EQ(holds(digest ^ 1, path), 0);
      if (path.empty()) continue;
      path.back() ^= 1;
      EXPECT_EQ(holds(digest, path), 0);
      path.pop_back();
      EXPECT_EQ(holds(digest, path), 0);
    }
  }
}

TEST(VerityTree, ShapeAndNodes) {
  const Tree tree = build(random_bytes(kSegment * 33));
  EXPECT_EQ(verity_tree_leaf_count(tree.get()), 33u);
  EXPECT_EQ(verity_tree_level_count(tree.get()), 3u);
  EXPECT_EQ(verity_tree_level_size(tree.get(), 1), 2u);
  EXPECT_EQ(verity_tree_level_size(tree.get(), 3), 0u);
  uint64_t digest = 0;
  ASSERT_EQ(verity_tree_node(tree.get(), 2, 0, &digest), 0);
  EXPECT_EQ(digest, verity_tree_root(tree.get()));
  EXPECT_EQ(verity_tree_node(tree.get(), 1, 2, &digest), EINVAL);
}

TEST(VerityTree, BadArguments) {
  verity_tree* made = nullptr;
  EXPECT_EQ(verity_tree_build("", 0, 1000, &made), EINVAL);
  EXPECT_EQ(verity_tree_build("", 0, 128, &made), EINVAL);
  EXPECT_EQ(verity_tree_build(nullptr, 1, kSegment, &made), EINVAL);
  EXPECT_EQ(verity_tree_build("", 0, kSegment, nullptr), EINVAL);
  EXPECT_EQ(made, nullptr);
  verity_tree_free(nullptr);
  const Tree small = build(random_bytes(1));
  const Tree large = build(random_bytes(kSegment + 1));
  size_t count = 0;
  EXPECT_EQ(verity_tree_diff(small.get(), large.get(), nullptr, 0, &count), EINVAL);
  EXPECT_EQ(verity_tree_path(small.get(), 1, nullptr, 0, &count), EINVAL);
}

}  // namespace
