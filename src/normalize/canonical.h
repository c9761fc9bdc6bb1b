// SPDX-License-Identifier: BSD-3-Clause
//
// The canonical path of a layout: equal layouts have equal canonical paths, whatever described
// them. It is what the optimal path is looked for in, and a key for caches and for comparing
// layouts.
#ifndef VERITY_NORMALIZE_CANONICAL_H
#define VERITY_NORMALIZE_CANONICAL_H

#include <span>
#include <string>

#include "normalize/path.h"

namespace verity::normalize {

// The repetitions of a layout, innermost first, and the displacement of its first element, which is
// no part of them.
struct Canonical {
  // Vectors of at least two copies, none of which goes on where the one inside it ends; indexed
  // nodes of at least three copies whose first index is 0. Empty for a single element.
  std::vector<Node> nodes;
  int64_t offset = 0;
  uint64_t elements = 0;

  [[nodiscard]] bool operator==(const Canonical& other) const = default;
};

// The largest c that divides the length n such that the sequence consists of n / c vectors of c
// elements and the same stride; 1 when there is none. O(n). Precondition: not empty.
[[nodiscard]] uint64_t longest_vector(std::span<const int64_t> displacements);

// Of a sequence: at most O(n sqrt n), which `verity-types normalize --measure` shows. An empty one
// has no elements. Precondition: no displacement is beyond 2^61.
[[nodiscard]] Canonical canonical(std::span<const int64_t> displacements);

// Of what a path describes, without expanding it: O(k sqrt k) for k indices in all. `unit` is the
// distance of adjacent elements in the leaf. Returns "" and sets *canonical_p; or what is wrong
// with the path: not well-formed, or a number of elements or a displacement that 63 bits do not
// hold.
[[nodiscard]] std::string canonical(const TypePath& path, int64_t unit, Canonical* canonical_p);

}  // namespace verity::normalize

#endif
