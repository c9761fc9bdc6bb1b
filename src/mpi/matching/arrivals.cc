// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/matching/arrivals.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "mpi/matching/message.h"
#include "mpi/matching/stamp.h"
#include "util/words.h"

namespace verity::mpi {

namespace {

constexpr size_t kShort = 64;

inline void copy_signature(uint8_t* out, const uint8_t* signature, size_t length) noexcept {
  if (length >= kHead) [[likely]] {
    util::copy_words<kHead>(out, signature);
    if (length != kHead)
      util::copy_words(out + kStampEnd, signature + kStampEnd, length - kStampEnd);
  } else if (length != 0) {
    std::memcpy(out, signature, length);
  }
}

}  // namespace

ArrivalPool::~ArrivalPool() {
  for (Arrival* list : free_) free_arrivals(list);
}

void free_arrivals(Arrival* list) noexcept {
  while (list != nullptr) std::free(std::exchange(list, list->next));
}

Arrival* ArrivalPool::make(const uint8_t* signature, size_t length, bool certain) noexcept {
  const bool is_long = length > kShort;
  Arrival* arrival = free_[is_long];
  if (arrival != nullptr) [[likely]] {
    free_[is_long] = arrival->next;
  } else {
    arrival =
        static_cast<Arrival*>(std::malloc(sizeof(Arrival) + (is_long ? kMaxSignature : kShort)));
    if (arrival == nullptr) return nullptr;
    arrival->is_long = is_long;
  }
  arrival->next = nullptr;
  arrival->length = static_cast<uint16_t>(length);
  arrival->certain = certain;
  copy_signature(arrival->bytes(), signature, length);
  return arrival;
}

}  // namespace verity::mpi
