// SPDX-License-Identifier: BSD-3-Clause
// A type in words, and in few bytes, so that a receiver can show the sender's.
//
// Description: a node, with numbers as varints (7 bits a byte, low ones first, the shortest form):
//
//   leaf       1000cccc  id  size          c: Class; the id's number and the size as in BasicType
//   sequence   0nnnnnnn  n times: copies (1 or more), node       n from 0 to 126
//              01111111  n (127 or more), n times: copies, node
//
// At most kMaxDescriptionDepth nodes lie in each other. It starts with the node: there is no
// header, the record has the length.
#ifndef VERITY_SIGNATURE_DESCRIBE_H
#define VERITY_SIGNATURE_DESCRIBE_H

#include <cstddef>
#include <span>
#include <string>

#include "signature/type.h"

namespace verity::signature {

inline constexpr unsigned kMaxDescriptionDepth = 64;
// Longest text of describe(), in characters, unless the caller says otherwise.
inline constexpr size_t kMaxWords = 200;

// "100 x MPI_INT", "50 x {MPI_INT, 3 x MPI_DOUBLE}", "nothing". Cut with "..." where it would be
// longer than about `limit`.
[[nodiscard]] std::string describe(const Type& type, uint64_t copies, size_t limit = kMaxWords);

// Writes the description of `type` to `out` and returns its length in bytes; 0 when it needs more
// than `capacity` bytes or is too deep: there is then no description. Does not allocate.
[[nodiscard]] size_t encode(const Type& type, void* out, size_t capacity) noexcept;

// Reads a description, which may be any bytes; all of them must be used. Returns nullptr, and sets
// *type_p to a type with the same signatures as the encoded one; or the name of what is wrong
// (static storage), and leaves *type_p. Memory is in proportion to the number of bytes. May throw
// std::bad_alloc.
[[nodiscard]] const char* decode(std::span<const uint8_t> bytes, Type* type_p);

}  // namespace verity::signature

#endif
