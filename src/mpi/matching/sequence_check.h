// SPDX-License-Identifier: BSD-3-Clause
// Whether all messages of one tag have come through the plugin: a sender numbers them, and a gap in
// the numbers shows that one bypassed it.
#ifndef VERITY_MPI_MATCHING_SEQUENCE_CHECK_H
#define VERITY_MPI_MATCHING_SEQUENCE_CHECK_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "mpi/matching/stamp.h"

namespace verity::mpi {

// What has happened to any tag of the worker, and makes the numbers of the others less certain.
struct WorkerHistory {
  bool bypassed;  // a message bypassed the plugin
  bool evicted;   // idle tags were evicted: a numbering may be seen first in its middle
};

class SequenceCheck {
 public:
  // A message arrived, with a stamp or without (nullptr). False: the order of arrivals does not say
  // for certain which receive gets it.
  [[nodiscard]] bool advance(const Stamp* stamp, WorkerHistory history) noexcept;
  // The stamp is the one expected next, and nothing is missing: then advance_to_next() does what
  // advance() would, which would return true.
  [[nodiscard]] bool is_next(const Stamp& stamp) const noexcept {
    return uid_ == stamp.uid && next_ == stamp.sequence && complete_;
  }
  void advance_to_next() noexcept {
    ++next_;
    unstamped_ = 0;
  }

  // A message of this tag bypassed the plugin: from here on nothing is certain by order.
  void set_gap() noexcept {
    has_gap_ = true;
    complete_ = false;
  }
  [[nodiscard]] bool has_gap() const noexcept { return has_gap_; }

 private:
  struct Numbering {
    uint64_t uid;   // 0: none
    uint32_t next;  // sequence expected next
  };
  // Several processes have the same tag bits where a communicator has the number of one that was
  // freed, and its ranks are others. A process whose table is full begins ever new ones.
  static constexpr size_t kMostFormer = 64;

  [[nodiscard]] bool follows(const Stamp& stamp, WorkerHistory history) noexcept;
  [[nodiscard]] bool changes(const Stamp& stamp) noexcept;
  void keep_former(const Numbering& numbering) noexcept;

  uint64_t uid_ = 0;
  uint32_t next_ = 0;       // sequence expected next, of this numbering
  uint32_t unstamped_ = 0;  // messages without a stamp since the last one with it
  bool numbered_ = false;   // a numbering was seen
  bool complete_ = false;   // ... and nothing of it is missing
  bool has_gap_ = false;
  std::vector<Numbering> former_;  // the last one first
};

inline void SequenceCheck::keep_former(const Numbering& numbering) noexcept {
  if (former_.size() == kMostFormer) former_.pop_back();
  try {
    former_.insert(former_.begin(), numbering);
  } catch (const std::bad_alloc&) {  // a gap, should it come again
  }
}

// To another numbering: whether that may begin, or go on, with this stamp. Of the messages without
// one since the last those are taken to be the other's that its number leaves out.
inline bool SequenceCheck::changes(const Stamp& stamp) noexcept {
  const auto known =
      std::find_if(former_.begin(), former_.end(),
                   [&stamp](const Numbering& numbering) { return numbering.uid == stamp.uid; });
  const bool is_new = known == former_.end();
  const uint32_t left_out = stamp.sequence - (is_new ? 0 : known->next);
  const bool fits = left_out <= unstamped_;
  if (!is_new) former_.erase(known);
  keep_former({uid_, next_ - (fits ? left_out : 0)});
  return fits;
}

// The first messages of a numbering may have had no stamp; the last ones of the numbering before
// may have bypassed the plugin, if any message of the worker did. The same holds for a tag that was
// evicted.
inline bool SequenceCheck::follows(const Stamp& stamp, WorkerHistory history) noexcept {
  if (numbered_ && uid_ != stamp.uid) return changes(stamp) && !history.bypassed;
  return stamp.sequence == next_ || (!numbered_ && history.evicted && !history.bypassed);
}

inline bool SequenceCheck::advance(const Stamp* stamp, WorkerHistory history) noexcept {
  if (stamp == nullptr) {
    ++next_;
    ++unstamped_;
    return false;
  }
  if (!follows(*stamp, history)) set_gap();
  numbered_ = true;
  complete_ = !has_gap_;
  uid_ = stamp->uid;
  next_ = stamp->sequence + 1;
  unstamped_ = 0;
  return !has_gap_;
}

}  // namespace verity::mpi

#endif
