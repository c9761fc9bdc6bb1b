// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/matching/stream_table.h"

#include <new>
#include <utility>

#include "mpi/matching/tag_hash.h"

namespace verity::mpi {

StreamTable::StreamTable() noexcept : buckets_(new (std::nothrow) TagStream*[kBuckets]()) {}

StreamTable::~StreamTable() {
  for (size_t i = 0; buckets_ != nullptr && i < kBuckets; ++i) {
    while (buckets_[i] != nullptr) delete std::exchange(buckets_[i], buckets_[i]->next_in_bucket);
  }
}

TagStream* StreamTable::search_or_add(uint64_t tag, const TagStream* in_use) noexcept {
  if (buckets_ == nullptr) return nullptr;
  TagStream*& bucket = buckets_[hash_tag(tag, 0) % kBuckets];
  for (TagStream* stream = bucket; stream != nullptr; stream = stream->next_in_bucket) {
    if (stream->tag() == tag) return stream;
  }
  if (size_ >= kMost) evict_idle(in_use);
  auto* stream = new (std::nothrow) TagStream(tag);
  if (stream == nullptr) return nullptr;
  stream->next_in_bucket = bucket;
  bucket = stream;
  ++size_;
  return stream;
}

void StreamTable::evict_idle(const TagStream* in_use) noexcept {
  has_evicted_ = true;
  last_ = nullptr;
  for (size_t i = 0; i < kBuckets; ++i) {
    for (TagStream** place = &buckets_[i]; *place != nullptr;) {
      TagStream* stream = *place;
      if (!stream->is_idle() || stream == in_use) {
        place = &stream->next_in_bucket;
        continue;
      }
      *place = stream->next_in_bucket;
      delete stream;
      --size_;
    }
  }
  is_crowded_ = size_ > kMost / 2;
}

}  // namespace verity::mpi
