// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_MERKLE_XXH3_STRIPES_H
#define VERITY_MERKLE_XXH3_STRIPES_H

#ifndef XXH_INLINE_ALL
#error "for kernel_impl.h only"
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// XXH3's long-input loop driven from outside, so that scattered input needs no streaming state and
// a copy can share the pass with the hash. The vector steps are those of xxhash.h. Source: the
// XXH3 section of xxHash's specification, for the default secret and seed 0:
//
//   input   | stripe 0 | stripe 1 | ...  | stripe n-1 | 1..64 bytes |     n = (length - 1) / 64
//                                               | last stripe: 64 bytes |  overlaps stripe n-1
//   a scramble follows each 16 stripes; then the 8 accumulators are merged with the length.
namespace verity::merkle {

static_assert(XXH_VERSION_NUMBER >= 801, "xxHash 0.8.1 or later is needed");

static constexpr size_t kStripe = XXH_STRIPE_LEN;
static constexpr size_t kSecret = XXH_SECRET_DEFAULT_SIZE;
static constexpr size_t kBlockStripes = (kSecret - kStripe) / XXH_SECRET_CONSUME_RATE;

struct Stripes {
  XXH_ALIGN(64) xxh_u64 acc[XXH_ACC_NB];
  size_t in_block;  // stripes since the last scramble
};

XXH_FORCE_INLINE void stripes_begin(Stripes* state) {
  static constexpr xxh_u64 kInit[XXH_ACC_NB] = XXH3_INIT_ACC;
  memcpy(state->acc, kInit, sizeof(kInit));
  state->in_block = 0;
}

// The accumulators while stripes of one block are taken: in registers where the kernel defines Vec
// and its steps (xxhash.h's own function leaves them in memory with some compilers, at less than
// half the speed once the copy joins in), else through xxhash.h.
#if defined(VERITY_VEC)
static constexpr size_t kVecs = kStripe / sizeof(Vec);

struct Accumulators {
  Vec lanes[kVecs];
};

XXH_FORCE_INLINE Accumulators accumulators_load(const xxh_u64* acc) {
  Accumulators loaded;
#pragma GCC unroll 4
  for (size_t i = 0; i < kVecs; ++i) {
    loaded.lanes[i] = vec_load(reinterpret_cast<const uint8_t*>(acc) + i * sizeof(Vec));
  }
  return loaded;
}

XXH_FORCE_INLINE void accumulators_store(const Accumulators& from, xxh_u64* acc) {
#pragma GCC unroll 4
  for (size_t i = 0; i < kVecs; ++i) {
    vec_store(reinterpret_cast<uint8_t*>(acc) + i * sizeof(Vec), from.lanes[i]);
  }
}

// acc += low32(in ^ secret) * high32(in ^ secret) + in with its 64-bit neighbours swapped.
XXH_FORCE_INLINE void accumulate(Accumulators& acc, const uint8_t* in, const uint8_t* secret,
                                 uint8_t* out) {
#pragma GCC unroll 4
  for (size_t i = 0; i < kVecs; ++i) {
    const Vec data = vec_load(in + i * sizeof(Vec));
    if (out != nullptr) { vec_store(out + i * sizeof(Vec), data); }
    const Vec keyed = vec_xor(data, vec_load(secret + i * sizeof(Vec)));
    acc.lanes[i] = vec_add(acc.lanes[i], vec_add(vec_mul_halves(keyed), vec_swap_pairs(data)));
  }
}
#else
struct Accumulators {
  XXH_ALIGN(64) xxh_u64 lanes[XXH_ACC_NB];
};

XXH_FORCE_INLINE Accumulators accumulators_load(const xxh_u64* acc) {
  Accumulators loaded;
  memcpy(loaded.lanes, acc, sizeof(loaded.lanes));
  return loaded;
}

XXH_FORCE_INLINE void accumulators_store(const Accumulators& from, xxh_u64* acc) {
  memcpy(acc, from.lanes, sizeof(from.lanes));
}

XXH_FORCE_INLINE void accumulate(Accumulators& acc, const uint8_t* in, const uint8_t* secret,
                                 uint8_t* out) {
  XXH3_accumulate_512(acc.lanes, in, secret);
  if (out != nullptr) { memcpy(out, in, kStripe); }
}
#endif

// Takes `count` consecutive stripes; copies them to `out` if that is not null.
XXH_FORCE_INLINE void stripes_take(Stripes* state, const uint8_t* in, size_t count, uint8_t* out) {
  while (count != 0) {
    const size_t room = kBlockStripes - state->in_block;
    const size_t now = count < room ? count : room;
    const uint8_t* const secret = XXH3_kSecret + state->in_block * XXH_SECRET_CONSUME_RATE;
    Accumulators acc = accumulators_load(state->acc);
    for (size_t i = 0; i < now; ++i) {
      XXH_PREFETCH(in + i * kStripe + XXH_PREFETCH_DIST);
      accumulate(acc, in + i * kStripe, secret + i * XXH_SECRET_CONSUME_RATE,
                 out == nullptr ? nullptr : out + i * kStripe);
    }
    accumulators_store(acc, state->acc);
    in += now * kStripe;
    out = out == nullptr ? nullptr : out + now * kStripe;
    count -= now;
    state->in_block += now;
    if (state->in_block == kBlockStripes) {
      XXH3_scrambleAcc(state->acc, XXH3_kSecret + kSecret - kStripe);
      state->in_block = 0;
    }
  }
}

// `last` points to the final 64 bytes of the input of `length` bytes.
XXH_FORCE_INLINE Digest stripes_end(Stripes* state, const uint8_t* last, size_t length) {
  XXH3_accumulate_512(state->acc, last,
                      XXH3_kSecret + kSecret - kStripe - XXH_SECRET_LASTACC_START);
  return XXH3_mergeAccs(state->acc, XXH3_kSecret + XXH_SECRET_MERGEACCS_START,
                        static_cast<xxh_u64>(length) * XXH_PRIME64_1);
}

}  // namespace verity::merkle

#endif
