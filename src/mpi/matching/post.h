// SPDX-License-Identifier: BSD-3-Clause
// A receive that the program posted, as the matching keeps it, and the memory of all of them.
#ifndef VERITY_MPI_MATCHING_POST_H
#define VERITY_MPI_MATCHING_POST_H

#include <cstddef>
#include <cstdint>

#include "mpi/matching/message.h"

namespace verity::mpi {

// The call that posted a receive, for the caller's own use.
struct PostingCall {
  void (*callback)();  // the completion callback of the receive's own caller
  void* user_data;
  const void* request;  // once the call has returned one
  bool freed;           // the caller has freed the request
};

struct PostLink {
  PostLink *previous, *next;
};

inline constexpr uint32_t kNoMaskIndex = ~uint32_t{0};

// A posted receive, until its message is certain. It is linked in a list of the pending receives
// (PostedReceives) or of the completed ones of a tag (TagStream); an unused one in its pool.
struct Post : PostLink {
  uint64_t tag, mask;   // as posted
  uint64_t order;       // of posting; 0: it is not in use
  Receive* receive;     // nullptr: the result is not needed
  uint32_t mask_index;  // the counter of its mask in PostedReceives; kNoMaskIndex: none yet
  bool pending;         // it has no message yet
  bool matched;         // it receives a message that a matched probe has dequeued before
  bool simple;          // needs nothing but resolved() when it completes; set by the caller
  size_t received;      // bytes
  void* owner;          // the caller's
  PostingCall call;     // the caller's
};

// Posts are allocated in chunks and reused; none is freed before the pool is destroyed.
class PostPool {
 public:
  PostPool() noexcept = default;
  ~PostPool();
  PostPool(const PostPool&) = delete;
  PostPool& operator=(const PostPool&) = delete;

  [[nodiscard]] bool has_room() const noexcept { return free_ != nullptr; }
  // Allocates a further chunk. False: no memory.
  [[nodiscard, gnu::cold]] bool grow() noexcept;
  // Precondition: has_room().
  [[nodiscard]] Post* take() noexcept {
    Post* post = free_;
    free_ = static_cast<Post*>(post->next);
    return post;
  }
  void recycle(Post* post) noexcept {
    post->order = 0;
    post->pending = false;
    post->next = free_;
    free_ = post;
  }
  // The pending one whose call returned that request; nullptr: there is none.
  [[nodiscard]] Post* find(const void* request) noexcept;

 private:
  struct Chunk {
    Chunk* next;
    Post posts[64];
  };

  Post* free_ = nullptr;
  Chunk* chunks_ = nullptr;
};

}  // namespace verity::mpi

#endif
