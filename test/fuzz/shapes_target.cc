// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <vector>

#include "fuzz/targets.h"
#include "merkle/bitmap.h"
#include "merkle/tree.h"

namespace verity::fuzz {

namespace {

void check_geometry(uint64_t length, uint64_t segment) {
  const auto made = merkle::Geometry::make(length, segment);
  require(made.has_value() == merkle::is_valid_segment_size(segment),
          "make() and is_valid_segment_size() differ");
  if (!made) return;
  const uint64_t leaves = made->leaf_count();
  require(leaves >= 1 && made->level_size(made->level_count() - 1) == 1, "a tree has one root");
  require(made->level_count() <= merkle::kMaxLevels, "too many levels");
  require(made->leaf_offset(leaves - 1) + made->leaf_length(leaves - 1) == length,
          "leaves do not add up");
}

void check_tree(Input& input) {
  const uint32_t segment = 256u << input.u8() % 4;
  std::vector<uint8_t> bytes(input.u16());
  for (uint8_t& byte : bytes) byte = input.u8();
  const merkle::Geometry geometry(bytes.size(), segment);
  const util::Piece whole{bytes.data(), bytes.size()};
  const merkle::Digest root = merkle::root(geometry, {&whole, 1});
  // The same however it is cut.
  std::vector<util::Piece> pieces;
  for (size_t at = 0; at < bytes.size();) {
    const size_t length =
        std::min<size_t>(bytes.size() - at, input.u8() + (input.empty() ? 100u : 0u));
    pieces.push_back({bytes.data() + at, length});
    at += length;
  }
  require(merkle::root(geometry, pieces) == root, "pieces change the root");
  std::vector<merkle::Digest> leaves(geometry.leaf_count());
  merkle::leaf_digests(geometry, pieces, leaves);
  require(merkle::root_of(geometry, leaves) == root, "leaves have another root");
  if (bytes.empty()) return;
  merkle::Tree before = merkle::Tree::build(geometry, {&whole, 1});
  require(before.root() == root, "the tree has another root");
  const size_t at = input.u16() % bytes.size();
  bytes[at] ^= 1;
  const merkle::Tree after = merkle::Tree::build(geometry, {&whole, 1});
  std::vector<uint64_t> segments;
  require(before.diff(after, segments) && segments == std::vector<uint64_t>{at / segment},
          "the difference is not found");
  before.update_leaf(at / segment, after.leaf(at / segment));
  require(before.root() == after.root(), "an updated tree differs");
}

void check_bitmap(Input& input) {
  const uint64_t bits = input.u16() % 2048;
  std::vector<uint8_t> bytes(merkle::bitmap_bytes(bits));
  for (uint8_t& byte : bytes) byte = input.u8();
  const merkle::Bitmap bitmap(bytes.data(), bits);
  uint64_t members = 0;
  uint64_t sum = 0;
  for (uint64_t i = 0; i < bits; ++i) {
    if (bitmap.test(i)) ++members, sum += i;
  }
  uint64_t walked = 0;
  bitmap.for_each([&](uint64_t i) { walked += i; });
  require(bitmap.count() == members && walked == sum && bitmap.any() == (members != 0),
          "a bitmap miscounts");
  bitmap.fill();
  require(bitmap.count() == bits && bitmap.reserved_bits_are_zero(), "a full bitmap is not");
  bitmap.clear();
  require(!bitmap.any(), "an empty bitmap is not");
}

}  // namespace

void shapes_target(const uint8_t* data, size_t size) {
  Input input(data, size);
  check_geometry(input.u64(), input.u8() % 2 != 0 ? uint64_t{1} << input.u8() % 64 : input.u64());
  check_bitmap(input);
  check_tree(input);
}

}  // namespace verity::fuzz
