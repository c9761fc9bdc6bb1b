// SPDX-License-Identifier: BSD-3-Clause
// The numbers of this process's messages: those of one tag to one endpoint are counted from 0 on.
#ifndef VERITY_MPI_MATCHING_SEND_NUMBERING_H
#define VERITY_MPI_MATCHING_SEND_NUMBERING_H

#include <cstddef>
#include <cstdint>
#include <memory>

#include "mpi/matching/stamp.h"

namespace verity::mpi {

// Which message of which numbering.
struct SendNumber {
  uint32_t epoch, sequence;
};

class SendNumbering {
 public:
  // `uid`: of this process, random.
  explicit SendNumbering(uint32_t uid);

  // The number of one more message.
  [[nodiscard]] SendNumber next(const void* endpoint, uint64_t tag) noexcept {
    Numbering& last = *last_;
    if (last.tag != tag || last.endpoint != endpoint) last_ = &search_or_add(endpoint, tag);
    return {last_->epoch, last_->next++};
  }
  // The endpoint ends, and another one may come in its place: the messages to that are others.
  // nullptr: all of them do.
  void forget(const void* endpoint) noexcept;
  [[nodiscard]] Stamp stamp(SendNumber number) const noexcept {
    return {uint64_t{uid_} << 32 | number.epoch, number.sequence};
  }

 private:
  // It lies in one of the places from its home on. One that is replaced by another begins anew
  // later, as another epoch.
  struct Numbering {
    const void* endpoint;
    uint64_t tag;
    uint32_t epoch, next;
  };
  static constexpr size_t kNumberings = 8192;
  static constexpr size_t kPlaces = 8;

  [[nodiscard]] Numbering& search_or_add(const void* endpoint, uint64_t tag) noexcept;

  uint32_t uid_;
  uint32_t epoch_ = 0;
  std::unique_ptr<Numbering[]> numberings_;
  Numbering* last_;
};

}  // namespace verity::mpi

#endif
