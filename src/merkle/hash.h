// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_MERKLE_HASH_H
#define VERITY_MERKLE_HASH_H

#include <cstddef>
#include <cstdint>
#include <span>

// Only the short path is used from here: no vector code in this header's users.
#ifndef XXH_VECTOR
#define XXH_VECTOR XXH_SCALAR
#define VERITY_UNDEF_XXH_VECTOR
#endif
#define XXH_INLINE_ALL
#include <xxhash.h>
#ifdef VERITY_UNDEF_XXH_VECTOR
#undef XXH_VECTOR
#undef VERITY_UNDEF_XXH_VECTOR
#endif

#include "merkle/kernel.h"
#include "util/bytes.h"

// XXH3 64-bit (xxHash 0.8.1 or later, seed 0) of contiguous and scattered bytes. XXH3 is not a MAC:
// it finds faults, not forgers. All functions are thread-safe, never allocate and never fail.
namespace verity::merkle {

namespace detail {
// Starts as the baseline; a load-time constructor replaces it, before any thread can use it.
extern const Kernel* active_kernel;
}  // namespace detail

// The kernel chosen for this CPU when the library was loaded.
[[nodiscard]] inline const Kernel& active_kernel() noexcept { return *detail::active_kernel; }

// Its name: "sse2", "avx2", "avx512", "neon" or "generic".
[[nodiscard]] const char* dispatch_name() noexcept;

// Every kernel this CPU can run, baseline first. For tests and benchmarks, which pass one as the
// first argument of the functions below.
[[nodiscard]] std::span<const Kernel* const> supported_kernels() noexcept;

// Of at most kShortHash bytes. One function for all: senders and receivers have it in the cache for
// each other.
[[nodiscard]] Digest hash_short(const void* data, size_t length) noexcept;

// Digest of `length` bytes; `data` may be null when `length` is 0.
[[nodiscard]] inline Digest hash(const Kernel& kernel, const void* data, size_t length) noexcept {
  if (length <= kShortHash) { return hash_short(data, length); }
  return kernel.hash_long(data, length);
}

[[nodiscard]] inline Digest hash(const void* data, size_t length) noexcept {
  if (length <= kShortHash) return hash_short(data, length);
  return detail::active_kernel->hash_long(data, length);
}

// Digest of bytes [offset, offset + length) of the concatenation of the pieces, equal to that of
// the same bytes contiguous. Precondition: the range lies inside; bytes past the end are left out.
[[nodiscard]] Digest hash_range(const Kernel& kernel, util::Pieces pieces, size_t offset,
                                size_t length) noexcept;

[[nodiscard]] inline Digest hash_range(util::Pieces pieces, size_t offset, size_t length) noexcept {
  return hash_range(*detail::active_kernel, pieces, offset, length);
}

// Digest of the concatenation of all pieces.
[[nodiscard]] inline Digest hash(const Kernel& kernel, util::Pieces pieces) noexcept {
  if (pieces.size() == 1) { return hash(kernel, pieces[0].data, pieces[0].length); }
  return hash_range(kernel, pieces, 0, util::total_length(pieces));
}

[[nodiscard]] inline Digest hash(util::Pieces pieces) noexcept {
  return hash(*detail::active_kernel, pieces);
}

// Copies `length` bytes (no overlap) and returns the digest of the source bytes, in one pass: a
// fault of the copy itself then shows as a mismatch at the receiver. If the source may change
// meanwhile, copy first and hash the copy: here the digest might fit neither.
[[nodiscard]] inline Digest copy_and_hash(const Kernel& kernel, void* dst, const void* src,
                                          size_t length) noexcept {
  if (length <= kShortHash) {
    if (length != 0) { std::memcpy(dst, src, length); }
    return hash_short(src, length);
  }
  return kernel.copy_and_hash_long(dst, src, length);
}

[[nodiscard]] inline Digest copy_and_hash(void* dst, const void* src, size_t length) noexcept {
  return copy_and_hash(*detail::active_kernel, dst, src, length);
}

// Strong mix of two words into one: XXH3 of the 16 bytes. mix(a, b) and mix(b, a) are unrelated,
// and no value of one operand makes the other irrelevant. Binds digests to context words.
[[nodiscard]] inline Digest mix(Digest a, Digest b) noexcept {
  const Digest words[2] = {a, b};
  return XXH3_64bits(words, sizeof(words));
}

}  // namespace verity::merkle

#endif
