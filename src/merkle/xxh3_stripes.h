// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_MERKLE_XXH3_STRIPES_H
#define VERITY_MERKLE_XXH3_STRIPES_H

#ifndef XXH_INLINE_ALL
#error "for kernel_impl.h only"
#endif

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// XXH3's loop for long input, written anew so that scattered input needs no streaming state, a copy
// can share the pass with the hash, and the loop runs at the limit of the CPU's ports. Source: the
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
static constexpr size_t kBlock = kBlockStripes * kStripe;

// A kernel may define Vec, one vector register, and its operations (VERITY_VEC). Then
// - the accumulators stay in registers until the digest is made: xxhash.h's own functions keep them
//   in memory with some compilers, at less than half the speed once the copy joins in;
// - the products and the data of a block are added up separately, and the neighbours are swapped in
//   the sum of the data instead of in each stripe: five operations for a vector instead of six.
//   Addition is modulo 2^64, so its order does not matter.
// Otherwise the steps are those of xxhash.h.
#if defined(VERITY_VEC)
static constexpr size_t kVecs = kStripe / sizeof(Vec);

struct Accumulators {
  Vec lanes[kVecs];
};

XXH_FORCE_INLINE void accumulators_begin(Accumulators* acc) {
  XXH_ALIGN(64) static constexpr xxh_u64 kInit[XXH_ACC_NB] = XXH3_INIT_ACC;
#pragma GCC unroll 4
  for (size_t lane = 0; lane < kVecs; ++lane) {
    acc->lanes[lane] = vec_load(reinterpret_cast<const uint8_t*>(kInit) + lane * sizeof(Vec));
  }
}

XXH_FORCE_INLINE void accumulators_store(const Accumulators& acc, xxh_u64* out) {
#pragma GCC unroll 4
  for (size_t lane = 0; lane < kVecs; ++lane) {
    vec_store(reinterpret_cast<uint8_t*>(out) + lane * sizeof(Vec), acc.lanes[lane]);
  }
}

// acc = (acc ^ acc >> 47 ^ secret) * prime
XXH_FORCE_INLINE void scramble(Accumulators* acc) {
#pragma GCC unroll 4
  for (size_t lane = 0; lane < kVecs; ++lane) {
    const Vec secret = vec_load(XXH3_kSecret + kSecret - kStripe + lane * sizeof(Vec));
    const Vec a = acc->lanes[lane];
    acc->lanes[lane] = vec_mul_prime(vec_xor(vec_xor(a, vec_shift_right_47(a)), secret));
  }
}

// What several stripes of one block add to the accumulators.
struct Sums {
  Vec products[kVecs];
  Vec data[kVecs];
};

XXH_FORCE_INLINE void sums_begin(Sums* sums) {
#pragma GCC unroll 4
  for (size_t lane = 0; lane < kVecs; ++lane) {
    sums->products[lane] = sums->data[lane] = vec_zero();
  }
}

// One lane of one stripe: products += low32(in ^ secret) * high32(in ^ secret), data += in.
XXH_FORCE_INLINE void sums_add(Sums* sums, size_t lane, Vec data, Vec secret) {
  sums->products[lane] = vec_add(sums->products[lane], vec_mul_halves(vec_xor(data, secret)));
  sums->data[lane] = vec_add(sums->data[lane], data);
  // Without this gcc adds the stripes of a block up as a tree and runs out of registers.
  VERITY_VEC_KEEP(sums->products[lane]);
  VERITY_VEC_KEEP(sums->data[lane]);
}

// Loads one vector, and stores it to `out + offset` if `copy`.
XXH_FORCE_INLINE Vec vec_take(const uint8_t* in, size_t offset, uint8_t* out, bool copy) {
  Vec data = vec_load(in + offset);
  VERITY_VEC_KEEP(data);  // one load, not one for each use
  if (copy) { vec_store(out + offset, data); }
  return data;
}

// acc += products + data with its 64-bit neighbours swapped
XXH_FORCE_INLINE void sums_end(const Sums& sums, Accumulators* acc) {
#pragma GCC unroll 4
  for (size_t lane = 0; lane < kVecs; ++lane) {
    const Vec sum = vec_add(sums.products[lane], vec_swap_pairs(sums.data[lane]));
    acc->lanes[lane] = vec_add(acc->lanes[lane], sum);
  }
}

// Adds `count` stripes of one block. `secret` is that of the first; copies to `out` if `copy`.
XXH_FORCE_INLINE void add_stripes(Accumulators* acc, const uint8_t* in, size_t count,
                                  const uint8_t* secret, uint8_t* out, bool copy) {
  Sums sums;
  sums_begin(&sums);
#pragma GCC unroll 2
  for (size_t i = 0; i < count; ++i) {
    XXH_PREFETCH(in + i * kStripe + XXH_PREFETCH_DIST);
#pragma GCC unroll 4
    for (size_t lane = 0; lane < kVecs; ++lane) {
      const size_t at = i * kStripe + lane * sizeof(Vec);
      const Vec key = vec_load(secret + i * XXH_SECRET_CONSUME_RATE + lane * sizeof(Vec));
      sums_add(&sums, lane, vec_take(in, at, out, copy), key);
    }
  }
  sums_end(sums, acc);
}

// The secret of each stripe of a block. Loaded once where registers suffice (VERITY_VEC_SECRET):
// the secret advances by 8 bytes a stripe, so that most 64-byte loads of it touch two cache lines.
struct BlockSecret {
#if defined(VERITY_VEC_SECRET)
  Vec of_stripe[kBlockStripes];
#endif
};

XXH_FORCE_INLINE void block_secret_load([[maybe_unused]] BlockSecret* secret) {
#if defined(VERITY_VEC_SECRET)
  static_assert(kVecs == 1);
#pragma GCC unroll 16
  for (size_t i = 0; i < kBlockStripes; ++i) {
    secret->of_stripe[i] = vec_load(XXH3_kSecret + i * XXH_SECRET_CONSUME_RATE);
    VERITY_VEC_KEEP(secret->of_stripe[i]);
  }
#endif
}

XXH_FORCE_INLINE Vec block_secret_of([[maybe_unused]] const BlockSecret& secret, size_t stripe,
                                     [[maybe_unused]] size_t lane) {
#if defined(VERITY_VEC_SECRET)
  return secret.of_stripe[stripe];
#else
  return vec_load(XXH3_kSecret + stripe * XXH_SECRET_CONSUME_RATE + lane * sizeof(Vec));
#endif
}

// Adds `count` whole blocks.
XXH_FORCE_INLINE void add_blocks(Accumulators* acc, const uint8_t* in, size_t count, uint8_t* out,
                                 bool copy) {
  BlockSecret secret;
  block_secret_load(&secret);
  for (; count != 0; --count) {
    Sums sums;
    sums_begin(&sums);
#pragma GCC unroll 16
    for (size_t i = 0; i < kBlockStripes; ++i) {
      XXH_PREFETCH(in + i * kStripe + XXH_PREFETCH_DIST);
#pragma GCC unroll 4
      for (size_t lane = 0; lane < kVecs; ++lane) {
        const size_t at = i * kStripe + lane * sizeof(Vec);
        sums_add(&sums, lane, vec_take(in, at, out, copy), block_secret_of(secret, i, lane));
      }
      asm volatile("" ::: "memory");  // keeps loads and prefetches in ascending order
    }
    sums_end(sums, acc);
    scramble(acc);
    in += kBlock;
    if (copy) { out += kBlock; }
  }
}
#else
struct Accumulators {
  XXH_ALIGN(64) xxh_u64 lanes[XXH_ACC_NB];
};

XXH_FORCE_INLINE void accumulators_begin(Accumulators* acc) {
  static constexpr xxh_u64 kInit[XXH_ACC_NB] = XXH3_INIT_ACC;
  memcpy(acc->lanes, kInit, sizeof(kInit));
}

XXH_FORCE_INLINE void accumulators_store(const Accumulators& acc, xxh_u64* out) {
  memcpy(out, acc.lanes, sizeof(acc.lanes));
}

XXH_FORCE_INLINE void scramble(Accumulators* acc) {
  XXH3_scrambleAcc(acc->lanes, XXH3_kSecret + kSecret - kStripe);
}

XXH_FORCE_INLINE void add_stripes(Accumulators* acc, const uint8_t* in, size_t count,
                                  const uint8_t* secret, uint8_t* out, bool copy) {
  for (size_t i = 0; i < count; ++i) {
    XXH_PREFETCH(in + i * kStripe + XXH_PREFETCH_DIST);
    XXH3_accumulate_512(acc->lanes, in + i * kStripe, secret + i * XXH_SECRET_CONSUME_RATE);
    if (copy) { memcpy(out + i * kStripe, in + i * kStripe, kStripe); }
  }
}

XXH_FORCE_INLINE void add_blocks(Accumulators* acc, const uint8_t* in, size_t count, uint8_t* out,
                                 bool copy) {
  for (; count != 0; --count) {
    add_stripes(acc, in, kBlockStripes, XXH3_kSecret, out, copy);
    scramble(acc);
    in += kBlock;
    if (copy) { out += kBlock; }
  }
}
#endif

// `last` points to the final 64 bytes of the input of `length` bytes.
XXH_FORCE_INLINE Digest accumulators_end(Accumulators* acc, const uint8_t* last, size_t length) {
  add_stripes(acc, last, 1, XXH3_kSecret + kSecret - kStripe - XXH_SECRET_LASTACC_START, nullptr,
              false);
  XXH_ALIGN(64) xxh_u64 words[XXH_ACC_NB];
  accumulators_store(*acc, words);
  xxh_u64 merged = static_cast<xxh_u64>(length) * XXH_PRIME64_1;
#pragma GCC unroll 4
  for (size_t i = 0; i < XXH_ACC_NB; i += 2) {
    merged += XXH3_mix2Accs(words + i, XXH3_kSecret + XXH_SECRET_MERGEACCS_START + i * 8);
  }
  return XXH3_avalanche(merged);
}

// Digest of contiguous input, which is copied to `out` in the same pass if `copy`.
XXH_FORCE_INLINE Digest digest_of(const uint8_t* in, size_t length, uint8_t* out, bool copy) {
  Accumulators acc;
  accumulators_begin(&acc);
  const size_t stripes = (length - 1) / kStripe;
  const size_t blocks = stripes / kBlockStripes;
  const size_t last = length - kStripe;
  if (copy) { memcpy(out + last, in + last, kStripe); }
  const uint8_t* rest = in;
  if (blocks != 0) {
    add_blocks(&acc, in, blocks, out, copy);
    rest += blocks * kBlock;
    if (copy) { out += blocks * kBlock; }
  }
  add_stripes(&acc, rest, stripes % kBlockStripes, XXH3_kSecret, out, copy);
  return accumulators_end(&acc, in + last, length);
}

// Input that comes in several runs of stripes.
struct Stripes {
  Accumulators acc;
  size_t in_block;  // stripes since the last scramble
};

XXH_FORCE_INLINE void stripes_begin(Stripes* state) {
  accumulators_begin(&state->acc);
  state->in_block = 0;
}

// Takes `count` consecutive stripes.
static void stripes_take(Stripes* state, const uint8_t* in, size_t count) {
  Accumulators acc = state->acc;
  while (count != 0) {
    const size_t blocks = state->in_block == 0 ? count / kBlockStripes : 0;
    if (blocks != 0) {
      add_blocks(&acc, in, blocks, nullptr, false);
      in += blocks * kBlock;
      count -= blocks * kBlockStripes;
      continue;
    }
    const size_t room = kBlockStripes - state->in_block;
    const size_t now = count < room ? count : room;
    const uint8_t* const secret = XXH3_kSecret + state->in_block * XXH_SECRET_CONSUME_RATE;
    add_stripes(&acc, in, now, secret, nullptr, false);
    in += now * kStripe;
    count -= now;
    state->in_block += now;
    if (state->in_block == kBlockStripes) {
      scramble(&acc);
      state->in_block = 0;
    }
  }
  state->acc = acc;
}

XXH_FORCE_INLINE Digest stripes_end(Stripes* state, const uint8_t* last, size_t length) {
  return accumulators_end(&state->acc, last, length);
}

}  // namespace verity::merkle

#endif
