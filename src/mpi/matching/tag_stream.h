// SPDX-License-Identifier: BSD-3-Clause
// The messages of one full tag: those that have arrived, in the order of their first active
// messages, and the receives that completed with the tag, in the order of posting. The first
// belongs to the first.
#ifndef VERITY_MPI_MATCHING_TAG_STREAM_H
#define VERITY_MPI_MATCHING_TAG_STREAM_H

#include <cstddef>
#include <cstdint>

#include "mpi/matching/arrivals.h"
#include "mpi/matching/post.h"
#include "mpi/matching/sequence_check.h"

namespace verity::mpi {

class TagStream {
 public:
  explicit TagStream(uint64_t tag) noexcept : tag_(tag) {}
  ~TagStream() { free_arrivals(first_); }
  TagStream(const TagStream&) = delete;
  TagStream& operator=(const TagStream&) = delete;

  [[nodiscard]] uint64_t tag() const noexcept { return tag_; }

  void enqueue(Arrival* arrival) noexcept {
    (first_ == nullptr ? first_ : last_->next) = arrival;
    last_ = arrival;
  }
  // The message that arrived first; nullptr: none.
  [[nodiscard]] Arrival* dequeue() noexcept {
    Arrival* first = first_;
    if (first != nullptr) first_ = first->next;
    return first;
  }

  // A receive that completed with this tag, until its message is certain.
  void insert(Post* post) noexcept;
  [[nodiscard]] Post* first_completed() const noexcept { return static_cast<Post*>(completed_); }
  void pop_completed() noexcept;

  // Nothing of it is under way: it may be evicted.
  [[nodiscard]] bool is_idle() const noexcept {
    return first_ == nullptr && completed_ == nullptr && !sequence.has_gap() && !is_waiting;
  }

  SequenceCheck sequence;
  bool is_waiting = false;  // linked among those with completed receives (ReceiveMatcher)
  TagStream* next_waiting = nullptr;
  TagStream* next_in_bucket = nullptr;  // StreamTable's

 private:
  uint64_t tag_;
  Arrival *first_ = nullptr, *last_ = nullptr;
  PostLink *completed_ = nullptr, *completed_last_ = nullptr;
};

}  // namespace verity::mpi

#endif
