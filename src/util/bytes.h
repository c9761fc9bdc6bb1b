// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_UTIL_BYTES_H
#define VERITY_UTIL_BYTES_H

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

#include "util/piece.h"

namespace verity::util {

// A payload as the concatenation of pieces, in order. Views only: nothing here owns memory.
using Pieces = std::span<const Piece>;

// Sum of the lengths in bytes. The sum must fit size_t (true of pieces of real memory).
[[nodiscard]] inline size_t total_length(Pieces pieces) noexcept {
  size_t total = 0;
  for (const Piece& piece : pieces) { total += piece.length; }
  return total;
}

// Copies bytes [offset, offset + length) of the concatenation to `dst`, which must not overlap any
// piece. Returns the bytes copied: less than `length` only if the pieces end before.
inline size_t copy_out(Pieces pieces, size_t offset, void* dst, size_t length) noexcept {
  auto* out = static_cast<std::byte*>(dst);
  size_t done = 0;
  for (const Piece& piece : pieces) {
    if (done == length) { break; }
    if (offset >= piece.length) {
      offset -= piece.length;
      continue;
    }
    const size_t here = std::min(piece.length - offset, length - done);
    std::memcpy(out + done, static_cast<const std::byte*>(piece.data) + offset, here);
    done += here;
    offset = 0;
  }
  return done;
}

}  // namespace verity::util

#endif
