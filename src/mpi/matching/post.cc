// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/matching/post.h"

#include <cstdlib>
#include <utility>

namespace verity::mpi {

PostPool::~PostPool() {
  while (chunks_ != nullptr) std::free(std::exchange(chunks_, chunks_->next));
}

bool PostPool::grow() noexcept {
  auto* chunk = static_cast<Chunk*>(std::malloc(sizeof(Chunk)));
  if (chunk == nullptr) return false;
  chunk->next = std::exchange(chunks_, chunk);
  for (Post& post : chunk->posts) recycle(&post);
  return true;
}

Post* PostPool::find(const void* request) noexcept {
  for (Chunk* chunk = chunks_; chunk != nullptr; chunk = chunk->next) {
    for (Post& post : chunk->posts) {
      if (post.pending && post.call.request == request) return &post;
    }
  }
  return nullptr;
}

}  // namespace verity::mpi
