// SPDX-License-Identifier: BSD-3-Clause
// Compiled for AVX512 by pragma, not by compiler flags: the build system needs no per-file flags,
// and the system headers, included before the pragma, stay compiled for the baseline.
#if defined(__x86_64__)
#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#define VERITY_KERNEL kKernelAvx512
#define VERITY_KERNEL_NAME "avx512"
#define VERITY_KERNEL_CLEAR_UPPER _mm256_zeroupper
#define XXH_VECTOR XXH_AVX512

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f")
// gcc 12 flags its own _mm512_undefined intrinsics once they are inlined here (gcc bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <xxhash.h>

// One vector register, for xxh3_stripes.h.
#define VERITY_VEC
#define VERITY_VEC_KEEP(v) asm("" : "+v"(v))
#define VERITY_VEC_SECRET
namespace {
using Vec = __m512i;
XXH_FORCE_INLINE Vec vec_load(const void* from) { return _mm512_loadu_si512(from); }
XXH_FORCE_INLINE void vec_store(void* to, Vec v) { _mm512_storeu_si512(to, v); }
XXH_FORCE_INLINE Vec vec_xor(Vec a, Vec b) { return _mm512_xor_si512(a, b); }
XXH_FORCE_INLINE Vec vec_add(Vec a, Vec b) { return _mm512_add_epi64(a, b); }
XXH_FORCE_INLINE Vec vec_zero() { return _mm512_setzero_si512(); }
XXH_FORCE_INLINE Vec vec_shift_right_47(Vec a) { return _mm512_srli_epi64(a, 47); }
XXH_FORCE_INLINE Vec vec_mul_prime(Vec a) {
  const Vec prime = _mm512_set1_epi64(XXH_PRIME32_1);
  const Vec high = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), prime);
  return _mm512_add_epi64(_mm512_mul_epu32(a, prime), _mm512_slli_epi64(high, 32));
}
XXH_FORCE_INLINE Vec vec_mul_halves(Vec a) { return _mm512_mul_epu32(a, _mm512_srli_epi64(a, 32)); }
XXH_FORCE_INLINE Vec vec_swap_pairs(Vec a) { return _mm512_shuffle_epi32(a, _MM_PERM_BADC); }
}  // namespace

#include "merkle/kernel_impl.h"

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
