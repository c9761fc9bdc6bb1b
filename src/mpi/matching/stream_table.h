// SPDX-License-Identifier: BSD-3-Clause
// The tag streams of one worker, by tag. When there are too many the idle ones are evicted.
#ifndef VERITY_MPI_MATCHING_STREAM_TABLE_H
#define VERITY_MPI_MATCHING_STREAM_TABLE_H

#include <cstddef>
#include <cstdint>
#include <memory>

#include "mpi/matching/tag_stream.h"

namespace verity::mpi {

class StreamTable {
 public:
  static constexpr size_t kMost = 1 << 15;

  StreamTable() noexcept;
  ~StreamTable();
  StreamTable(const StreamTable&) = delete;
  StreamTable& operator=(const StreamTable&) = delete;

  // The stream of that tag, made if there is none; `in_use` is not evicted. nullptr: no memory.
  [[nodiscard]] TagStream* find_or_add(uint64_t tag, const TagStream* in_use) noexcept {
    if (last_ != nullptr && last_->tag() == tag) return last_;
    return last_ = search_or_add(tag, in_use);
  }
  // The one that was found last (the message that arrives is often the one that is received next),
  // or nullptr.
  [[nodiscard]] TagStream* last() const noexcept { return last_; }
  void forget_last() noexcept { last_ = nullptr; }

  [[nodiscard]] size_t size() const noexcept { return size_; }
  [[nodiscard]] bool has_evicted() const noexcept { return has_evicted_; }
  // An eviction left more than half of them: the next ones would be as frequent as they are
  // useless.
  [[nodiscard]] bool is_crowded() const noexcept { return is_crowded_; }

 private:
  static constexpr size_t kBuckets = 4096;

  [[nodiscard]] TagStream* search_or_add(uint64_t tag, const TagStream* in_use) noexcept;
  void evict_idle(const TagStream* in_use) noexcept;

  std::unique_ptr<TagStream*[]> buckets_;
  TagStream* last_ = nullptr;
  size_t size_ = 0;
  bool has_evicted_ = false;
  bool is_crowded_ = false;
};

}  // namespace verity::mpi

#endif
