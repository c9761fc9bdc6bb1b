// SPDX-License-Identifier: BSD-3-Clause
// Signatures of messages that have arrived and that no receive is known to have got yet.
#ifndef VERITY_MPI_MATCHING_ARRIVALS_H
#define VERITY_MPI_MATCHING_ARRIVALS_H

#include <cstddef>
#include <cstdint>

namespace verity::mpi {

// What the first active message of a message carried; the signature's bytes follow.
struct Arrival {
  Arrival* next;
  uint16_t length;  // of the signature; 0: it carried none
  bool is_long;     // which free list it belongs to
  bool certain;     // all earlier messages of its tag are accounted for
  uint8_t* bytes() noexcept { return reinterpret_cast<uint8_t*>(this + 1); }
};

// Allocates arrivals and keeps those that were recycled, in two sizes.
class ArrivalPool {
 public:
  ArrivalPool() noexcept = default;
  ~ArrivalPool();
  ArrivalPool(const ArrivalPool&) = delete;
  ArrivalPool& operator=(const ArrivalPool&) = delete;

  // A copy of the signature, of at most kMaxSignature bytes. nullptr: no memory.
  [[nodiscard]] Arrival* make(const uint8_t* signature, size_t length, bool certain) noexcept;
  void recycle(Arrival* arrival) noexcept {
    arrival->next = free_[arrival->is_long];
    free_[arrival->is_long] = arrival;
  }

 private:
  Arrival* free_[2] = {nullptr, nullptr};  // short ones, long ones
};

void free_arrivals(Arrival* list) noexcept;

}  // namespace verity::mpi

#endif
