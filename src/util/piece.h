// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_UTIL_PIECE_H
#define VERITY_UTIL_PIECE_H

#include <stddef.h>

// Apart from bytes.h because the per-ISA hash kernels include it: a header for them must hold no
// inline function or template, or the linker might pick the copy compiled for a newer CPU.
namespace verity::util {

// One contiguous part of a scattered buffer. Not owned; `data` may be null when `length` is 0.
struct Piece {
  const void* data;
  size_t length;  // bytes
};

}  // namespace verity::util

#endif
