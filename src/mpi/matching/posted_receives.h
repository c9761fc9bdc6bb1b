// SPDX-License-Identifier: BSD-3-Clause
// The receives of one worker that are posted and pending, which UCP calls expected, and the first
// of them that could take a tag.
//
// Nearly all receives complete before anyone asks for the first one. So a post joins the list of
// the recent ones, and only find_first() sorts these into buckets by tag and mask.
#ifndef VERITY_MPI_MATCHING_POSTED_RECEIVES_H
#define VERITY_MPI_MATCHING_POSTED_RECEIVES_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mpi/matching/post.h"

namespace verity::mpi {

class PostedReceives {
 public:
  PostedReceives() noexcept = default;
  ~PostedReceives();
  PostedReceives(const PostedReceives&) = delete;
  PostedReceives& operator=(const PostedReceives&) = delete;

  // Whether there is memory for one more.
  [[nodiscard]] bool has_room() const noexcept { return pool_.has_room(); }
  [[nodiscard]] bool make_room() noexcept { return has_room() || pool_.grow(); }
  // Precondition: has_room().
  [[nodiscard]] Post* add(uint64_t tag, uint64_t mask, Receive* receive) noexcept {
    Post* post = pool_.take();
    post->tag = tag & mask;
    post->mask = mask;
    post->order = ++last_order_;
    post->receive = receive;
    post->mask_index = kNoMaskIndex;
    post->pending = true;
    post->matched = post->simple = false;
    post->call.request = nullptr;
    append(recent_, post);
    ++size_;
    return post;
  }
  // The receive is not pending any more; the post stays the caller's until recycle().
  void remove(Post* post) noexcept {
    post->previous->next = post->next;
    post->next->previous = post->previous;
    post->pending = false;
    --size_;
    if (post->mask_index != kNoMaskIndex) [[unlikely]]
      --masks_[post->mask_index].pending;
  }
  // The same where `post->simple`: it was not sorted, and recycle() follows.
  void remove_simple(Post* post) noexcept {
    post->previous->next = post->next;
    post->next->previous = post->previous;
    --size_;
  }
  void recycle(Post* post) noexcept { pool_.recycle(post); }

  // The pending receive posted first of those that could take the tag (nullptr: none) in *first_p.
  // False: no memory to sort them.
  [[nodiscard]] bool find_first(uint64_t tag, const Post** first_p) noexcept;
  // The pending or matched one whose call returned that request; nullptr: there is none.
  [[nodiscard]] Post* find(const void* request) noexcept { return pool_.find(request); }

  // A receive of a message that a matched probe has dequeued: it has a post for its caller's use,
  // but takes no part in the order. nullptr: no memory.
  [[nodiscard]] Post* add_matched() noexcept;
  void recycle_matched(Post* post) noexcept {
    --matched_;
    recycle(post);
  }

  // Of the receive posted last.
  [[nodiscard]] uint64_t last_order() const noexcept { return last_order_; }
  [[nodiscard]] size_t size() const noexcept { return size_; }
  [[nodiscard]] size_t matched() const noexcept { return matched_; }

 private:
  struct Mask {
    uint64_t mask;
    size_t pending;
  };
  static constexpr size_t kBuckets = 4096;

  static void append(PostLink& list, PostLink* post) noexcept {
    PostLink* last = list.previous;
    post->previous = last;
    post->next = &list;
    last->next = post;
    list.previous = post;
  }
  [[nodiscard]] uint32_t index_of(uint64_t mask) noexcept;
  [[nodiscard]] bool sort_recent() noexcept;
  [[nodiscard]] PostLink& bucket(uint64_t tag, uint64_t mask) noexcept;

  PostPool pool_;
  PostLink recent_{&recent_, &recent_};  // in the order of posting, not sorted yet
  PostLink* buckets_ = nullptr;  // the others; each in the order of posting, of several tags
  std::vector<Mask> masks_;
  uint32_t last_mask_ = 0;  // index of the mask used last, if there is one
  uint64_t last_order_ = 1;
  size_t size_ = 0, matched_ = 0;
};

}  // namespace verity::mpi

#endif
