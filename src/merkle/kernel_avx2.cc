// SPDX-License-Identifier: BSD-3-Clause
// Compiled for AVX2 by pragma, not by compiler flags: the build system needs no per-file flags, and
// the system headers, included before the pragma, stay compiled for the baseline.
#if defined(__x86_64__)
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#define VERITY_KERNEL kKernelAvx2
#define VERITY_KERNEL_NAME "avx2"
#define VERITY_KERNEL_CLEAR_UPPER _mm256_zeroupper
#define XXH_VECTOR XXH_AVX2

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

#include <xxhash.h>

// One vector register, for xxh3_stripes.h.
#define VERITY_VEC
#define VERITY_VEC_KEEP(v) asm("" : "+x"(v))
namespace {
using Vec = __m256i;
XXH_FORCE_INLINE Vec vec_load(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
XXH_FORCE_INLINE void vec_store(void* to, Vec v) {
  _mm256_storeu_si256(static_cast<__m256i*>(to), v);
}
XXH_FORCE_INLINE Vec vec_xor(Vec a, Vec b) { return _mm256_xor_si256(a, b); }
XXH_FORCE_INLINE Vec vec_add(Vec a, Vec b) { return _mm256_add_epi64(a, b); }
XXH_FORCE_INLINE Vec vec_zero() { return _mm256_setzero_si256(); }
XXH_FORCE_INLINE Vec vec_shift_right_47(Vec a) { return _mm256_srli_epi64(a, 47); }
XXH_FORCE_INLINE Vec vec_mul_prime(Vec a) {
  const Vec prime = _mm256_set1_epi64x(XXH_PRIME32_1);
  const Vec high = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), prime);
  return _mm256_add_epi64(_mm256_mul_epu32(a, prime), _mm256_slli_epi64(high, 32));
}
XXH_FORCE_INLINE Vec vec_mul_halves(Vec a) { return _mm256_mul_epu32(a, _mm256_srli_epi64(a, 32)); }
XXH_FORCE_INLINE Vec vec_swap_pairs(Vec a) {
  return _mm256_shuffle_epi32(a, _MM_SHUFFLE(1, 0, 3, 2));
}
}  // namespace

#include "merkle/kernel_impl.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
