// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/matching/tag_stream.h"

namespace verity::mpi {

void TagStream::insert(Post* post) noexcept {
  PostLink* before = completed_last_;
  while (before != nullptr && static_cast<Post*>(before)->order > post->order)
    before = before->previous;
  PostLink*& link = before == nullptr ? completed_ : before->next;
  post->previous = before;
  post->next = link;
  (link == nullptr ? completed_last_ : link->previous) = post;
  link = post;
}

void TagStream::pop_completed() noexcept {
  completed_ = completed_->next;
  (completed_ == nullptr ? completed_last_ : completed_->previous) = nullptr;
}

}  // namespace verity::mpi
