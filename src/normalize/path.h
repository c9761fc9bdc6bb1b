// SPDX-License-Identifier: BSD-3-Clause
//
// Type paths: the layout of equal elements in memory as nested repetitions (Träff, "Optimal MPI
// Datatype Normalization for Vector and Index-block Types", EuroMPI 2014). A layout is a sequence
// of displacements; a path describes it from the outermost node inwards:
//
//   con(c)              c elements, one unit after the other: the leaf, always the last node
//   vec(c, d, T)        c copies of T at the displacements 0, d, 2d ...
//   idx(c, <o...>, T)   c copies of T at the displacements o[0], o[1] ...
//
// The displacement of an element is the sum of the displacements that lead to it; elements are
// ordered as the copies are. Displacements are in any unit that the caller chooses (elements,
// bytes); con's unit is the distance of adjacent elements in it.
#ifndef VERITY_NORMALIZE_PATH_H
#define VERITY_NORMALIZE_PATH_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace verity::normalize {

using Displacements = std::vector<int64_t>;

enum class Kind { kContiguous, kVector, kIndexed };

struct Node {
  Kind kind = Kind::kContiguous;
  uint64_t count = 1;     // at least 1
  int64_t stride = 0;     // of a vector
  Displacements indices;  // of an indexed node: `count` of them

  [[nodiscard]] bool operator==(const Node& other) const = default;
};

[[nodiscard]] Node contiguous(uint64_t count);
[[nodiscard]] Node vector(uint64_t count, int64_t stride);
[[nodiscard]] Node indexed(Displacements indices);

// Outermost first. Well-formed: the last node is the only contiguous one; empty for a layout
// without elements.
using TypePath = std::vector<Node>;

// Elements of the layout; nothing when 63 bits do not hold the number.
[[nodiscard]] std::optional<uint64_t> element_count(const TypePath& path);

// The displacement of every element. `unit` is the distance of adjacent elements in the leaf.
// Precondition: element_count(path) fits into memory.
[[nodiscard]] Displacements expand(const TypePath& path, int64_t unit);

// The copies of an idx around blocks of `length` elements that follow each other, merged: blocks of
// different lengths, which MPI's hindexed describes. It is no node of a path, but a shorter form of
// the innermost idx: the paper's heuristic for indexed types.
struct Blocks {
  Displacements indices;
  std::vector<uint64_t> lengths;  // elements

  // Two numbers a block are less to store than one for each of `count` copies.
  [[nodiscard]] bool pays(uint64_t count) const { return 2 * indices.size() < count; }
};
// No merged block is longer than `most` elements, which is what the caller's counts hold.
[[nodiscard]] Blocks merge_adjacent(const Displacements& indices, uint64_t length, int64_t unit,
                                    uint64_t most);

// "idx(2,<0,7>,vec(3,2,con(1)))". No more than `most` indices of a node are written out.
[[nodiscard]] std::string to_string(const TypePath& path, std::size_t most);

}  // namespace verity::normalize

#endif
