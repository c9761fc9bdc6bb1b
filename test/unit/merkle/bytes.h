// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TEST_UNIT_MERKLE_BYTES_H
#define VERITY_TEST_UNIT_MERKLE_BYTES_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "util/bytes.h"

namespace verity::test {

using Bytes = std::vector<uint8_t>;

// The byte sequence of xxHash's own sanity check: its published digests apply.
inline Bytes xxhash_bytes(size_t length) {
  Bytes bytes(length);
  uint64_t state = 2654435761U;
  for (uint8_t& byte : bytes) {
    byte = static_cast<uint8_t>(state >> 56);
    state *= 11400714785074694797U;
  }
  return bytes;
}

// `bytes` as pieces that end at each of `cuts` (ascending). Equal cuts make empty pieces.
inline std::vector<util::Piece> cut(std::span<const uint8_t> bytes, std::vector<size_t> cuts) {
  cuts.push_back(bytes.size());
  std::vector<util::Piece> pieces;
  size_t start = 0;
  for (const size_t end : cuts) {
    pieces.push_back({bytes.data() + start, end - start});
    start = end;
  }
  return pieces;
}

inline void flip(Bytes& bytes, size_t bit) {
  bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] ^ (1U << (bit % 8)));
}

}  // namespace verity::test

#endif
