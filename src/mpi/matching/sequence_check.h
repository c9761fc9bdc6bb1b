// SPDX-License-Identifier: BSD-3-Clause
// Whether all messages of one tag have come through the plugin: a sender numbers them, and a gap in
// the numbers shows that one bypassed it. Messages without a stamp have numbers, too: where several
// senders have the tag, they may fill what looks like a gap. Then the tag is in doubt, and nothing
// of it is compared any more; but no bypass is known, which would end that of other tags.
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
    uint32_t next;  // sequence expected next, if the messages without a stamp behind it are its
    uint32_t last;  // ... if none of them is
  };
  enum class Step { kCertain, kInDoubt, kGap };
  // Several processes have the same tag bits where a communicator has the number of one that was
  // freed, and its ranks are others. A process whose table is full begins ever new ones.
  static constexpr size_t kMostFormer = 64;

  [[nodiscard]] Step step(const Stamp& stamp, WorkerHistory history) noexcept;
  [[nodiscard]] Step change(const Stamp& stamp, WorkerHistory history) noexcept;
  [[nodiscard]] Numbering take_former(uint64_t uid) noexcept;
  void keep_former(const Numbering& numbering) noexcept;

  uint64_t uid_ = 0;
  uint32_t next_ = 0;       // sequence expected next, of this numbering
  uint32_t unstamped_ = 0;  // messages without a stamp since the last one with it
  uint32_t unclaimed_ = 0;  // ... before, that are not known to be of the numbering at that time
  bool numbered_ = false;   // a numbering was seen
  bool complete_ = false;   // ... and nothing of it is missing
  bool has_gap_ = false;
  bool in_doubt_ = false;          // something may be missing
  bool forgot_ = false;            // a former numbering
  std::vector<Numbering> former_;  // the last one first
};

inline void SequenceCheck::keep_former(const Numbering& numbering) noexcept {
  if (former_.size() == kMostFormer) {
    former_.pop_back();
    forgot_ = true;
  }
  try {
    former_.insert(former_.begin(), numbering);
  } catch (const std::bad_alloc&) { forgot_ = true; }
}

// A numbering that is not the last one. One that was not seen has uid 0: it may have begun with
// messages that had no stamp.
inline SequenceCheck::Numbering SequenceCheck::take_former(uint64_t uid) noexcept {
  const auto known =
      std::find_if(former_.begin(), former_.end(),
                   [uid](const Numbering& numbering) { return numbering.uid == uid; });
  if (known == former_.end()) return {0, 0, 0};
  const Numbering numbering = *known;
  former_.erase(known);
  return numbering;
}

// To another numbering, which may begin, or go on, with this stamp. Of the messages without one
// since the last those that its number leaves out are taken to be its, and certainly so if the
// others are the last one's. What is left out may also have come earlier, or the number not be
// known any more. But the last ones of any numbering may have bypassed the plugin, if any message
// of the worker did.
inline SequenceCheck::Step SequenceCheck::change(const Stamp& stamp,
                                                 WorkerHistory history) noexcept {
  const Numbering own = take_former(stamp.uid);
  const uint32_t left_out = stamp.sequence - own.next;
  const bool certain = left_out <= unstamped_;
  keep_former({uid_, next_ - (certain ? left_out : 0), next_ - unstamped_});
  const uint32_t most_left_out = stamp.sequence - own.last;
  const bool possible = most_left_out <= unstamped_ + unclaimed_;
  if (possible) unclaimed_ += unstamped_ - most_left_out;
  if (history.bypassed) return Step::kGap;
  if (certain) return Step::kCertain;
  const bool unknown = own.uid == 0 && (forgot_ || history.evicted);
  return possible || unknown ? Step::kInDoubt : Step::kGap;
}

// Of a numbering that goes on the messages without a stamp since its last one may be another's. The
// first one may have begun with some, and is in its middle where the tag was evicted.
inline SequenceCheck::Step SequenceCheck::step(const Stamp& stamp, WorkerHistory history) noexcept {
  if (numbered_ && uid_ != stamp.uid) return change(stamp, history);
  if (stamp.sequence == next_) return Step::kCertain;
  if (history.bypassed) return Step::kGap;
  if (!numbered_ && history.evicted) return Step::kCertain;
  const uint32_t left_out = stamp.sequence - (next_ - unstamped_);
  if (left_out > unstamped_) return Step::kGap;
  unclaimed_ += unstamped_ - left_out;
  return Step::kInDoubt;
}

inline bool SequenceCheck::advance(const Stamp* stamp, WorkerHistory history) noexcept {
  if (stamp == nullptr) {
    ++next_;
    ++unstamped_;
    return false;
  }
  const Step taken = step(*stamp, history);
  if (taken == Step::kGap) set_gap();
  in_doubt_ = in_doubt_ || taken == Step::kInDoubt;
  numbered_ = true;
  complete_ = !has_gap_ && !in_doubt_;
  uid_ = stamp->uid;
  next_ = stamp->sequence + 1;
  unstamped_ = 0;
  return complete_;
}

}  // namespace verity::mpi

#endif
