/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The bytes of a test message: a function of a key and the offset, so that a receiver who knows the
 * key finds any wrong byte, and a message taken for another is distinguished from a damaged one.
 */
#ifndef VERITY_TEST_MPI_CONTENT_H
#define VERITY_TEST_MPI_CONTENT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Mixes 64 bits so that neighbouring inputs give unrelated outputs (splitmix64's finalizer). */
static inline uint64_t content_mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

static inline uint64_t content_mix2(uint64_t a, uint64_t b) {
  return content_mix(content_mix(a) + 0x9e3779b97f4a7c15u * (b + 1));
}

/* The key of the message number `sequence` from `source` to `target`. */
static inline uint64_t content_key(uint64_t seed, int source, int target, uint64_t sequence) {
  return content_mix2(content_mix2(seed, ((uint64_t)source << 32) | (uint32_t)target), sequence);
}

static inline uint64_t content_word(uint64_t key, size_t index) {
  uint64_t x = key + 0x9e3779b97f4a7c15u * (uint64_t)index;
  return x ^ (x >> 29) ^ (x << 23);
}

static inline void content_fill(void* buffer, size_t length, uint64_t key) {
  uint8_t* bytes = buffer;
  size_t index = 0;
  uint64_t word;

  for (; (index + 1) * 8 <= length; ++index) {
    word = content_word(key, index);
    memcpy(bytes + index * 8, &word, 8);
  }
  word = content_word(key, index);
  memcpy(bytes + index * 8, &word, length - index * 8);
}

/* Number of bytes that differ from the content of `key`; *first_p is the offset of the first one.
 */
static inline size_t content_check(const void* buffer, size_t length, uint64_t key,
                                   size_t* first_p) {
  const uint8_t* bytes = buffer;
  size_t wrong = 0;

  *first_p = 0;
  for (size_t index = 0; index * 8 < length; ++index) {
    size_t size = length - index * 8 < 8 ? length - index * 8 : 8;
    uint64_t word = content_word(key, index);
    if (memcmp(bytes + index * 8, &word, size) == 0) { continue; }
    for (size_t i = 0; i < size; ++i) {
      if (bytes[index * 8 + i] != ((const uint8_t*)&word)[i]) {
        if (wrong++ == 0) { *first_p = index * 8 + i; }
      }
    }
  }
  return wrong;
}

/* A small generator for schedules: equal seeds give equal schedules on every rank. */
typedef struct {
  uint64_t state;
} content_rng;

static inline uint64_t content_next(content_rng* rng) {
  rng->state += 0x9e3779b97f4a7c15u;
  return content_mix(rng->state);
}

/* A number in 0..limit-1 (limit > 0). */
static inline uint64_t content_below(content_rng* rng, uint64_t limit) {
  return content_next(rng) % limit;
}

#endif
