// SPDX-License-Identifier: BSD-3-Clause
//
// The layout of a datatype as a path of repetitions of one type, its atom: a predefined type, a
// structure of several types, or whatever is not looked into.
#ifndef VERITY_TYPELIB_SHAPE_H
#define VERITY_TYPELIB_SHAPE_H

#include <vector>

#include "normalize/path.h"
#include "typelib/handle.h"

namespace verity::typelib {

struct Shape {
  normalize::TypePath path;  // displacements in bytes; empty for a datatype without elements
  MPI_Datatype atom = MPI_DATATYPE_NULL;
};

// Deeper nestings are not looked into, nor structures of one type with more elements.
inline constexpr unsigned kMaxDepth = 200;
inline constexpr uint64_t kMaxStructElements = 1'000'000;

// Normalizes the structures inside of `datatype`, which it appends to `atoms`, and returns the
// layout around them. Whoever uses the shape keeps `atoms` as long. Throws MpiError,
// std::bad_alloc.
[[nodiscard]] Shape shape_of(MPI_Datatype datatype, unsigned depth, std::vector<Handle>* atoms);

// The cost of storage of what build() makes of it, but for the atom and for bounds. Throws
// MpiError, std::bad_alloc. UINT64_MAX: it cannot be normalized.
[[nodiscard]] uint64_t cost_of(const Shape& shape);

// A datatype of that layout and those bounds, of least cost. Throws MpiError, std::bad_alloc. An
// empty handle where a count does not fit an int.
[[nodiscard]] Handle build(const Shape& shape, const Extent& bounds);

}  // namespace verity::typelib

#endif
