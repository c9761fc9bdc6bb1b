// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/matching/posted_receives.h"

#include <cstdlib>

#include "mpi/matching/tag_hash.h"

namespace verity::mpi {

PostedReceives::~PostedReceives() { std::free(buckets_); }

PostLink& PostedReceives::bucket(uint64_t tag, uint64_t mask) noexcept {
  return buckets_[hash_tag(tag, mask) % kBuckets];
}

// Few masks are in use: that of exact receives and those of the wildcards. kNoMaskIndex: no memory.
uint32_t PostedReceives::index_of(uint64_t mask) noexcept {
  if (!masks_.empty() && masks_[last_mask_].mask == mask) return last_mask_;
  for (size_t i = 0; i < masks_.size(); ++i) {
    if (masks_[i].mask == mask) return last_mask_ = static_cast<uint32_t>(i);
  }
  try {
    masks_.push_back({mask, 0});
    return last_mask_ = static_cast<uint32_t>(masks_.size() - 1);
  } catch (...) { return kNoMaskIndex; }
}

// False: no memory.
bool PostedReceives::sort_recent() noexcept {
  if (buckets_ == nullptr) {
    buckets_ = static_cast<PostLink*>(std::malloc(kBuckets * sizeof(PostLink)));
    if (buckets_ == nullptr) return false;
    for (size_t i = 0; i < kBuckets; ++i) buckets_[i] = {&buckets_[i], &buckets_[i]};
  }
  while (recent_.next != &recent_) {
    auto* post = static_cast<Post*>(recent_.next);
    post->mask_index = index_of(post->mask);
    if (post->mask_index == kNoMaskIndex) return false;
    ++masks_[post->mask_index].pending;
    post->simple = false;
    recent_.next = post->next;
    recent_.next->previous = &recent_;
    append(bucket(post->tag, post->mask), post);
  }
  return true;
}

bool PostedReceives::find_first(uint64_t tag, const Post** first_p) noexcept {
  *first_p = nullptr;
  if (!sort_recent()) return false;
  const Post* first = nullptr;
  for (const Mask& known : masks_) {
    if (known.pending == 0) continue;
    const uint64_t key = tag & known.mask;
    const PostLink& list = bucket(key, known.mask);
    for (const PostLink* link = list.next; link != &list; link = link->next) {
      const auto* post = static_cast<const Post*>(link);
      if (post->tag != key || post->mask != known.mask) continue;
      if (first == nullptr || post->order < first->order) first = post;
      break;
    }
  }
  *first_p = first;
  return true;
}

Post* PostedReceives::add_matched() noexcept {
  if (!make_room()) return nullptr;
  Post* post = pool_.take();
  post->order = ++last_order_;
  post->pending = post->matched = true;
  post->receive = nullptr;
  post->call.request = nullptr;
  ++matched_;
  return post;
}

}  // namespace verity::mpi
