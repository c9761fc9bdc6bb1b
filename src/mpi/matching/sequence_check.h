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
  [[nodiscard]] uint32_t take_former(uint64_t uid) noexcept;
  void keep_former(const Numbering& numbering) noexcept;

  uint64_t uid_ = 0;
  uint32_t next_ = 0;       // sequence expected next, of this numbering
  uint32_t unstamped_ = 0;  // messages without a stamp since the last one with it
  uint32_t unclaimed_ = 0;  // ... before, that are not known to be of the numbering at that time
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

// What a numbering that is not the last one expects next. One that was not seen may have begun with
// messages that had no stamp.
inline uint32_t SequenceCheck::take_former(uint64_t uid) noexcept {
  const auto known =
      std::find_if(former_.begin(), former_.end(),
                   [uid](const Numbering& numbering) { return numbering.uid == uid; });
  if (known == former_.end()) return 0;
  const uint32_t next = known->next;
  former_.erase(known);
  return next;
}

// Messages without a stamp may be any numbering's: those that the stamp's own leaves out are taken
// to be its, the others remain unclaimed. Since the last stamp of a numbering that goes on only the
// latest ones can be its. The last ones of another numbering may have bypassed the plugin, if any
// message of the worker did. The same holds for a tag that was evicted.
inline bool SequenceCheck::follows(const Stamp& stamp, WorkerHistory history) noexcept {
  const bool goes_on = !numbered_ || uid_ == stamp.uid;
  if (goes_on && stamp.sequence == next_) return true;
  const uint32_t last = next_ - unstamped_;
  const uint32_t left_out = stamp.sequence - (goes_on ? last : take_former(stamp.uid));
  if (!goes_on) keep_former({uid_, last});
  const bool fits = left_out <= unstamped_ + (goes_on ? 0 : unclaimed_);
  if (fits) unclaimed_ += unstamped_ - left_out;
  return (fits || (!numbered_ && history.evicted)) && !history.bypassed;
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
