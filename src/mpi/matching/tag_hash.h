// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_MPI_MATCHING_TAG_HASH_H
#define VERITY_MPI_MATCHING_TAG_HASH_H

#include <cstdint>

namespace verity::mpi {

// 12 bits. `mask`: of a receive; 0 for the tag of a message.
[[nodiscard]] inline uint64_t hash_tag(uint64_t tag, uint64_t mask) noexcept {
  return ((tag ^ (mask * 0x9e3779b97f4a7c15ull)) * 0xbf58476d1ce4e5b9ull) >> 52;
}

}  // namespace verity::mpi

#endif
