// SPDX-License-Identifier: BSD-3-Clause
// The kernel every CPU of the target architecture runs.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define XXH_INLINE_ALL
#define VERITY_KERNEL kKernelBaseline
#if defined(__x86_64__)
#define XXH_VECTOR XXH_SSE2
#define VERITY_KERNEL_NAME "sse2"
#elif defined(__aarch64__)
#define XXH_VECTOR XXH_NEON
#define VERITY_KERNEL_NAME "neon"
#else
#define VERITY_KERNEL_NAME "generic"  // xxhash.h picks what the compiler flags allow
#endif

#if defined(__x86_64__)
#include <emmintrin.h>
#include <xxhash.h>

// One vector register, for xxh3_stripes.h.
#define VERITY_VEC
#define VERITY_VEC_KEEP(v) asm("" : "+x"(v))
namespace {
using Vec = __m128i;
XXH_FORCE_INLINE Vec vec_load(const void* from) {
  return _mm_loadu_si128(static_cast<const __m128i*>(from));
}
XXH_FORCE_INLINE void vec_store(void* to, Vec v) { _mm_storeu_si128(static_cast<__m128i*>(to), v); }
XXH_FORCE_INLINE Vec vec_xor(Vec a, Vec b) { return _mm_xor_si128(a, b); }
XXH_FORCE_INLINE Vec vec_add(Vec a, Vec b) { return _mm_add_epi64(a, b); }
XXH_FORCE_INLINE Vec vec_zero() { return _mm_setzero_si128(); }
XXH_FORCE_INLINE Vec vec_shift_right_47(Vec a) { return _mm_srli_epi64(a, 47); }
XXH_FORCE_INLINE Vec vec_mul_prime(Vec a) {
  const Vec prime = _mm_set1_epi64x(XXH_PRIME32_1);
  const Vec high = _mm_mul_epu32(_mm_srli_epi64(a, 32), prime);
  return _mm_add_epi64(_mm_mul_epu32(a, prime), _mm_slli_epi64(high, 32));
}
XXH_FORCE_INLINE Vec vec_mul_halves(Vec a) { return _mm_mul_epu32(a, _mm_srli_epi64(a, 32)); }
XXH_FORCE_INLINE Vec vec_swap_pairs(Vec a) { return _mm_shuffle_epi32(a, _MM_SHUFFLE(1, 0, 3, 2)); }
}  // namespace
#endif

#include "merkle/kernel_impl.h"
