// SPDX-License-Identifier: BSD-3-Clause
//
// Layouts written by hand, as the MPI calls that build a datatype name them (without MPI_Type_, in
// lower case), and the names of basic types:
//
//   contiguous(count, T)               vector(count, blocklength, stride, T)       hvector: stride
//   in bytes indexed_block(blocklength, <displacements>, T) hindexed_block: in bytes
//   indexed(<blocklengths>, <displacements>, T)                                    hindexed: in
//   bytes subarray(<sizes>, <subsizes>, <starts>, T)      in the order of C resized(lb, extent, T)
//   dup(T)                             a basic type: MPI_INT, MPI_DOUBLE ...
//
// or a list of displacements in elements: 0 1 2 7 8 9, <0,1,2,7,8,9>.
#ifndef VERITY_TYPES_LAYOUT_H
#define VERITY_TYPES_LAYOUT_H

#include <string>
#include <string_view>

#include "normalize/path.h"
#include "signature/basic.h"

namespace verity::types {

// A datatype of equal elements.
struct Layout {
  normalize::TypePath path;  // displacements in bytes
  signature::BasicType basic;
  int64_t lower_bound = 0;  // bytes, as MPI_Type_get_extent
  int64_t extent = 0;
};

// More displacements in one list, or in a datatype whose blocks differ in length, are refused.
inline constexpr uint64_t kMaxLayoutIndices = 10'000'000;

// Returns "" and sets *layout_p; or what is wrong and at which character (from 1).
[[nodiscard]] std::string parse_layout(std::string_view text, Layout* layout_p);

// The same of a list of displacements of elements of type `basic`.
[[nodiscard]] std::string parse_displacements(std::string_view text,
                                              const signature::BasicType& basic, Layout* layout_p);

}  // namespace verity::types

#endif
