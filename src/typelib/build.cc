// SPDX-License-Identifier: BSD-3-Clause
#include <climits>

#include "normalize/canonical.h"
#include "normalize/optimal.h"
#include "typelib/shape.h"

namespace verity::typelib {

namespace {

using normalize::Kind;
using normalize::Node;
using normalize::TypePath;

// A leaf of its own.
Handle contiguous(uint64_t count, MPI_Datatype atom) {
  Handle made;
  check(count == 1 ? MPI_Type_dup(atom, made.out())
                   : MPI_Type_contiguous(static_cast<int>(count), atom, made.out()));
  return made;
}

Handle blocks(const normalize::Blocks& all, MPI_Datatype atom) {
  const std::vector<int> lengths(all.lengths.begin(), all.lengths.end());
  const std::vector<MPI_Aint> indices(all.indices.begin(), all.indices.end());
  Handle made;
  check(MPI_Type_create_hindexed(static_cast<int>(indices.size()), lengths.data(), indices.data(),
                                 atom, made.out()));
  return made;
}

// The displacements of a node's copies.
std::vector<MPI_Aint> places(const Node& node) {
  std::vector<MPI_Aint> indices(node.indices.begin(), node.indices.end());
  for (uint64_t copy = indices.size(); copy < node.count; ++copy)
    indices.push_back(static_cast<MPI_Aint>(copy) * node.stride);
  return indices;
}

// Copies of blocks of `length` of the type inside. Open MPI (4.1.4) builds another layout for an
// hvector with a stride of -1 byte.
Handle copies(const Node& node, uint64_t length, MPI_Datatype inner) {
  const int count = static_cast<int>(node.count);
  Handle made;
  if (node.kind == Kind::kVector && node.stride != -1) {
    check(MPI_Type_create_hvector(count, static_cast<int>(length), node.stride, inner, made.out()));
  } else {
    check(MPI_Type_create_hindexed_block(count, static_cast<int>(length), places(node).data(),
                                         inner, made.out()));
  }
  return made;
}

// The blocks of an idx, as long as an int counts.
normalize::Blocks merged_blocks(const Node& node, uint64_t length, MPI_Aint unit) {
  return normalize::merge_adjacent(node.indices, length, unit, INT_MAX);
}

Handle build_path(const TypePath& path, MPI_Datatype atom, MPI_Aint unit) {
  uint64_t length = path.back().count;
  if (path.size() == 1) return contiguous(length, atom);
  Handle made;
  for (auto at = path.rbegin() + 1; at != path.rend(); ++at) {
    const Node& node = *at;
    const bool innermost = made.get() == MPI_DATATYPE_NULL;
    const MPI_Datatype inner = innermost ? atom : made.get();
    if (innermost && node.kind == Kind::kIndexed) {
      const normalize::Blocks merged = merged_blocks(node, length, unit);
      made = merged.pays(node.count) ? blocks(merged, atom) : copies(node, length, inner);
    } else {
      made = copies(node, length, inner);
    }
    length = 1;
  }
  return made;
}

// The innermost idx may have a shorter form.
uint64_t cost_of_path(const TypePath& path, MPI_Aint unit) {
  const uint64_t all = cost(path, normalize::kStorageCost);
  if (path.size() < 2) return all;
  const Node& node = path[path.size() - 2];
  if (node.kind != Kind::kIndexed) return all;
  const normalize::Blocks merged = merged_blocks(node, path.back().count, unit);
  return merged.pays(node.count) ? all - node.count + 2 * merged.indices.size() : all;
}

bool fits_int(const TypePath& path) {
  for (const Node& node : path) {
    if (node.count > INT_MAX) return false;
  }
  return element_count(path).value_or(UINT64_MAX) <= INT64_MAX;
}

Handle no_elements() {
  Handle made;
  check(MPI_Type_contiguous(0, MPI_BYTE, made.out()));
  return made;
}

}  // namespace

uint64_t cost_of(const Shape& shape) {
  const MPI_Aint unit = extent_of(shape.atom).extent;
  normalize::Canonical canonical;
  if (!normalize::canonical(shape.path, unit, &canonical).empty()) return UINT64_MAX;
  return cost_of_path(optimal_path(canonical, unit, normalize::kStorageCost), unit);
}

Handle build(const Shape& shape, const Extent& bounds) {
  Handle made;
  if (shape.path.empty()) {
    made = no_elements();
  } else {
    const MPI_Aint unit = extent_of(shape.atom).extent;
    normalize::Canonical canonical;
    if (!normalize::canonical(shape.path, unit, &canonical).empty()) return {};
    const TypePath best = optimal_path(canonical, unit, normalize::kStorageCost);
    if (!fits_int(best)) return {};
    made = build_path(best, shape.atom, unit);
  }
  if (extent_of(made.get()) == bounds) return made;
  Handle resized;
  check(MPI_Type_create_resized(made.get(), bounds.lower_bound, bounds.extent, resized.out()));
  return resized;
}

}  // namespace verity::typelib
