// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/matching/send_numbering.h"

namespace verity::mpi {

SendNumbering::SendNumbering(uint32_t uid)
    : uid_(uid),
      numberings_(std::make_unique<Numbering[]>(kNumberings)),
      last_(numberings_.get()) {}

SendNumbering::Numbering& SendNumbering::search_or_add(const void* endpoint,
                                                       uint64_t tag) noexcept {
  const uint64_t mixed =
      (tag ^ reinterpret_cast<uintptr_t>(endpoint) * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
  const size_t home = (mixed ^ mixed >> 29) >> 20 & (kNumberings - 1) & ~(kPlaces - 1);
  for (size_t i = home; i < home + kPlaces; ++i) {
    if (numberings_[i].endpoint == endpoint && numberings_[i].tag == tag) return numberings_[i];
  }
  ++epoch_;
  return numberings_[home + epoch_ % kPlaces] = {endpoint, tag, epoch_, 0};
}

void SendNumbering::forget(const void* endpoint) noexcept {
  for (size_t i = 0; i < kNumberings; ++i) {
    if (endpoint == nullptr || numberings_[i].endpoint == endpoint) numberings_[i] = {};
  }
}

}  // namespace verity::mpi
