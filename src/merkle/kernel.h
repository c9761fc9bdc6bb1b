// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_MERKLE_KERNEL_H
#define VERITY_MERKLE_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "util/piece.h"

// What one translation unit per instruction set provides. Plain declarations only: those units are
// compiled for newer CPUs, so no inline function or template may reach them (see util/piece.h).
namespace verity::merkle {

// A digest is a number; where it is hashed again (parents) or sent, it is in host byte order. UCX
// itself does not join hosts of different byte order.
using Digest = uint64_t;

// XXH3_64bits, seed 0, for inputs above kShortHash bytes, with one instruction set.
struct Kernel {
  const char* name;
  Digest (*hash_long)(const void* data, size_t length);
  // Bytes [offset, offset + length) counted from the start of `first`, which must all exist;
  // offset <= first->length.
  Digest (*hash_scattered)(const util::Piece* first, size_t offset, size_t length);
  Digest (*copy_and_hash_long)(void* dst, const void* src, size_t length);
};

// Up to this length XXH3 uses no vector code: hash.h inlines it.
inline constexpr size_t kShortHash = 240;

extern const Kernel kKernelBaseline;  // what the compiler flags allow: SSE2, NEON, VSX, scalar
#if defined(__x86_64__)
extern const Kernel kKernelAvx2;
extern const Kernel kKernelAvx512;
#endif

}  // namespace verity::merkle

#endif
