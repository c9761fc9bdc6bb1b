// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/matching/sequence_check.h"

namespace verity::mpi {

// The first messages of a numbering may have had no stamp; the last ones of the numbering before
// may have bypassed the plugin, if any message of the worker did. The same holds for a tag that was
// evicted.
bool SequenceCheck::follows(const Stamp& stamp, WorkerHistory history) const noexcept {
  if (numbered_ && uid_ != stamp.uid) return stamp.sequence <= unstamped_ && !history.bypassed;
  return stamp.sequence == next_ || (!numbered_ && history.evicted && !history.bypassed);
}

bool SequenceCheck::advance(const Stamp* stamp, WorkerHistory history) noexcept {
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
