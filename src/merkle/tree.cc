// SPDX-License-Identifier: BSD-3-Clause
#include "merkle/tree.h"

#include <algorithm>

namespace verity::merkle {

namespace {

// Cuts a scattered payload into consecutive segments, remembering where it is: hash_range from the
// start for every leaf would be quadratic in the number of pieces.
class SegmentHasher {
 public:
  explicit SegmentHasher(util::Pieces pieces) noexcept : rest_(pieces) {}

  Digest next(size_t length) noexcept {
    while (!rest_.empty() && offset_ >= rest_.front().length) {
      offset_ -= rest_.front().length;
      rest_ = rest_.subspan(1);
    }
    const Digest digest = hash_range(rest_, offset_, length);
    offset_ += length;
    return digest;
  }

 private:
  util::Pieces rest_;
  size_t offset_ = 0;  // into rest_.front()
};

// Level, index and number of children in one word, without overlap: an index of level 1 or more
// is below 2^(56 - kFanoutShift), a level below 2^5.
constexpr unsigned kCountBits = kFanoutShift + 1;
constexpr unsigned kIndexBits = 56 - kFanoutShift;
static_assert(kMaxLevels < 32 && kCountBits + kIndexBits + 5 <= 64);

constexpr uint64_t position_word(unsigned level, uint64_t index, size_t children) noexcept {
  return (((static_cast<uint64_t>(level) << kCountBits) | children) << kIndexBits) | index;
}

}  // namespace

Digest node_digest(unsigned level, uint64_t index, std::span<const Digest> children) noexcept {
  return mix(hash(children.data(), children.size_bytes()),
             position_word(level, index, children.size()));
}

void leaf_digests(const Geometry& geometry, util::Pieces pieces, std::span<Digest> out) noexcept {
  SegmentHasher segments(pieces);
  const uint64_t count = geometry.leaf_count();
  for (uint64_t i = 0; i < count; ++i) { out[i] = segments.next(geometry.leaf_length(i)); }
}

Digest root_of(const Geometry& geometry, std::span<const Digest> leaves) noexcept {
  const uint64_t count = geometry.leaf_count();
  if (count == 1) { return leaves[0]; }
  if (count <= kFanout) { return node_digest(1, 0, leaves.first(count)); }
  RootBuilder builder;
  builder.add(leaves.first(count));
  return builder.finish();
}

Digest root(const Geometry& geometry, util::Pieces pieces) noexcept {
  const uint64_t count = geometry.leaf_count();
  if (count == 1) { return hash(pieces); }
  Digest leaves[kFanout];
  if (count <= kFanout) {
    leaf_digests(geometry, pieces, leaves);
    return node_digest(1, 0, {leaves, count});
  }
  SegmentHasher segments(pieces);
  RootBuilder builder;
  for (uint64_t first = 0; first < count; first += kFanout) {
    const uint64_t group = std::min<uint64_t>(kFanout, count - first);
    for (uint64_t i = 0; i < group; ++i) {
      leaves[i] = segments.next(geometry.leaf_length(first + i));
    }
    builder.add({leaves, group});
  }
  return builder.finish();
}

void RootBuilder::push(unsigned level, Digest digest) noexcept {
  const unsigned slot = count_[level]++ % kFanout;
  open_[level][slot] = digest;
  if (slot == kFanout - 1) { close_node(level, kFanout); }
}

void RootBuilder::add(std::span<const Digest> leaves) noexcept {
  while (!leaves.empty()) {
    if (count_[0] % kFanout != 0 || leaves.size() < kFanout) {
      push(0, leaves.front());
      leaves = leaves.subspan(1);
      continue;
    }
    push(1, node_digest(1, count_[0] / kFanout, leaves.first(kFanout)));  // without copying
    count_[0] += kFanout;
    leaves = leaves.subspan(kFanout);
  }
}

// Hashes the last `children` digests of `level` into their parent.
void RootBuilder::close_node(unsigned level, unsigned children) noexcept {
  const uint64_t index = (count_[level] - 1) / kFanout;
  push(level + 1, node_digest(level + 1, index, {open_[level].data(), children}));
}

Digest RootBuilder::finish() noexcept {
  unsigned level = 0;
  for (; count_[level] > 1; ++level) {
    const unsigned children = count_[level] % kFanout;
    if (children != 0) { close_node(level, children); }
  }
  return open_[level][0];
}

Tree::Tree(const Geometry& geometry) : geometry_(geometry), first_{} {
  uint64_t total = 0;
  for (unsigned level = 0; level < geometry_.level_count(); ++level) {
    first_[level] = total;
    total += geometry_.level_size(level);
  }
  digests_.resize(total);
}

Tree Tree::build(const Geometry& geometry, util::Pieces pieces) {
  Tree tree(geometry);
  leaf_digests(geometry, pieces, tree.digests_);
  tree.build_parents();
  return tree;
}

Tree Tree::from_leaves(const Geometry& geometry, std::span<const Digest> leaves) {
  Tree tree(geometry);
  std::copy_n(leaves.begin(), geometry.leaf_count(), tree.digests_.begin());
  tree.build_parents();
  return tree;
}

void Tree::build_parents() noexcept {
  for (unsigned level = 1; level < level_count(); ++level) {
    for (uint64_t index = 0; index < geometry_.level_size(level); ++index) {
      refresh(level, index);
    }
  }
}

void Tree::refresh(unsigned level, uint64_t index) noexcept {
  digests_[first_[level] + index] = node_digest(level, index, children(level, index));
}

std::span<const Digest> Tree::level(unsigned level) const noexcept {
  return std::span(digests_).subspan(first_[level], geometry_.level_size(level));
}

std::span<const Digest> Tree::children(unsigned level, uint64_t index) const noexcept {
  const std::span<const Digest> below = this->level(level - 1);
  const uint64_t first = index * kFanout;
  return below.subspan(first, std::min<uint64_t>(kFanout, below.size() - first));
}

void Tree::update_leaf(uint64_t i, Digest digest) noexcept {
  digests_[i] = digest;
  for (unsigned level = 1; level < level_count(); ++level) {
    i /= kFanout;
    refresh(level, i);
  }
}

bool Tree::diff(const Tree& other, std::vector<uint64_t>& segments) const {
  if (!(geometry_ == other.geometry_)) { return false; }
  // Depth first, on a fixed stack: one [next, end) range of nodes per level.
  struct Range {
    uint64_t next;
    uint64_t end;
  };
  std::array<Range, kMaxLevels> ranges;
  unsigned level = level_count() - 1;
  const unsigned top = level;
  ranges[top] = {0, 1};
  while (level < kMaxLevels) {
    Range& range = ranges[level];
    if (range.next == range.end) {
      if (level == top) { break; }
      ++level;
      continue;
    }
    const uint64_t node = range.next++;
    if (digests_[first_[level] + node] == other.digests_[first_[level] + node]) { continue; }
    if (level == 0) {
      segments.push_back(node);
      continue;
    }
    --level;
    const uint64_t first = node * kFanout;
    ranges[level] = {first, std::min(first + kFanout, geometry_.level_size(level))};
  }
  return true;
}

}  // namespace verity::merkle
