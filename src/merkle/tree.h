// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_MERKLE_TREE_H
#define VERITY_MERKLE_TREE_H

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "merkle/geometry.h"
#include "merkle/hash.h"
#include "util/bytes.h"

// Merkle trees over payloads. A leaf is the plain XXH3 of its segment, so that a payload of up to
// one segment costs a single hash: its root is its leaf. An inner node is
//   mix(XXH3(digests of its children), level | number of children | index)
// so leaves that are swapped, moved to another place, dropped or added change the root. The root
// does not bind the length in bytes and the segment size: the frame that carries it does.
// The free functions neither allocate nor fail and may run on any thread.
namespace verity::merkle {

// Digest of the inner node `index` of `level` (1 or more) with 1 to kFanout children. Public for
// those who check a peer's answer during a remote descent.
[[nodiscard]] Digest node_digest(unsigned level, uint64_t index,
                                 std::span<const Digest> children) noexcept;

// Digests of all segments into `out`, which has room for leaf_count() of them.
// Precondition: total_length(pieces) == geometry.length().
void leaf_digests(const Geometry& geometry, util::Pieces pieces, std::span<Digest> out) noexcept;

// Root over `leaves`, which has leaf_count() of them. Fixed stack of about 3.5 KiB.
[[nodiscard]] Digest root_of(const Geometry& geometry, std::span<const Digest> leaves) noexcept;

// Root of the payload in one pass, without memory for the leaves. Precondition as leaf_digests.
[[nodiscard]] Digest root(const Geometry& geometry, util::Pieces pieces) noexcept;

// Root of leaves that arrive one by one, in order. Holds at most kFanout digests per level.
class RootBuilder {
 public:
  RootBuilder() noexcept = default;
  void add(Digest leaf) noexcept { push(0, leaf); }
  void add(std::span<const Digest> leaves) noexcept;
  // The root of all leaves added (at least one). The builder is spent afterwards.
  [[nodiscard]] Digest finish() noexcept;

 private:
  void push(unsigned level, Digest digest) noexcept;
  void close_node(unsigned level, unsigned children) noexcept;

  std::array<uint64_t, kMaxLevels> count_{};  // digests seen per level
  // Open nodes; only what count_ covers is initialized.
  std::array<std::array<Digest, kFanout>, kMaxLevels> open_;
};

// A tree with all its levels in memory, for repair and for partial updates. Creating one allocates
// and may throw std::bad_alloc: not for the data path. One thread at a time.
class Tree {
 public:
  // Precondition: total_length(pieces) == geometry.length().
  [[nodiscard]] static Tree build(const Geometry& geometry, util::Pieces pieces);
  // Precondition: leaves.size() == geometry.leaf_count().
  [[nodiscard]] static Tree from_leaves(const Geometry& geometry, std::span<const Digest> leaves);

  [[nodiscard]] const Geometry& geometry() const noexcept { return geometry_; }
  [[nodiscard]] Digest root() const noexcept { return digests_.back(); }
  [[nodiscard]] Digest leaf(uint64_t i) const noexcept { return digests_[i]; }
  [[nodiscard]] unsigned level_count() const noexcept { return geometry_.level_count(); }
  // Digests of one level, 0 = leaves. Valid until the tree is destroyed or assigned.
  [[nodiscard]] std::span<const Digest> level(unsigned level) const noexcept;
  // The children of inner node `index` of `level` (1 or more): what a peer requests on its descent.
  [[nodiscard]] std::span<const Digest> children(unsigned level, uint64_t index) const noexcept;

  // Replaces one leaf and recomputes its path only: level_count() - 1 nodes. noexcept.
  void update_leaf(uint64_t i, Digest digest) noexcept;

  // Appends to `segments`, in ascending order, the indices of leaves that differ from `other`,
  // visiting only subtrees that differ. False, and nothing appended, if the geometries differ.
  [[nodiscard]] bool diff(const Tree& other, std::vector<uint64_t>& segments) const;

 private:
  explicit Tree(const Geometry& geometry);
  void build_parents() noexcept;
  void refresh(unsigned level, uint64_t index) noexcept;

  Geometry geometry_;
  std::array<uint64_t, kMaxLevels> first_;  // where each level starts in digests_
  std::vector<Digest> digests_;             // levels one after the other, leaves first, root last
};

}  // namespace verity::merkle

#endif
