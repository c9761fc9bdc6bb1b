// SPDX-License-Identifier: BSD-3-Clause
//
// A type path as the MPI calls that build it, and as a drawing.
#ifndef VERITY_NORMALIZE_CALLS_H
#define VERITY_NORMALIZE_CALLS_H

#include <string>
#include <string_view>

#include "normalize/path.h"

namespace verity::normalize {

// What a path describes in bytes: elements of this type, and the bounds that the datatype shall
// have.
struct Element {
  std::string_view name;    // MPI_INT
  int64_t size = 1;         // bytes: the unit of the leaf
  int64_t lower_bound = 0;  // of the whole datatype, bytes
  int64_t extent = 0;
};

// C, a call in each line, from the innermost type outwards; the last one makes `newtype`, which is
// not committed yet. Counts beyond int need MPI 4's large-count calls, which are written then. No
// more than `most` displacements of an idx are written out, and a comment says how many are not.
// Precondition: the path is not empty.
[[nodiscard]] std::string mpi_calls(const TypePath& path, const Element& element, std::size_t most);

// A line for each node, from the outermost inwards.
[[nodiscard]] std::string draw(const TypePath& path, const Element& element, std::size_t most);

}  // namespace verity::normalize

#endif
