// SPDX-License-Identifier: BSD-3-Clause
#include "link/state/bounce_buffers.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

namespace verity::link {

unsigned BounceBuffers::class_of(size_t size) noexcept {
  const auto bits = static_cast<unsigned>(std::bit_width(std::max<size_t>(size, 1) - 1));
  return std::max(bits, kSmallest) - kSmallest;
}

void* BounceBuffers::take(size_t size) noexcept {
  const unsigned c = class_of(size);
  const size_t bytes = c < kClasses ? size_t{1} << (c + kSmallest) : size;
  Free* kept = c < kClasses ? free_[c] : nullptr;
  if (kept != nullptr) {
    free_[c] = kept->next;
    kept_ -= bytes;
  }
  void* buffer = kept != nullptr ? kept : std::malloc(bytes);
  if (buffer != nullptr) in_use_ += bytes;
  return buffer;
}

void BounceBuffers::give(void* buffer, size_t size) noexcept {
  const unsigned c = class_of(size);
  const size_t bytes = c < kClasses ? size_t{1} << (c + kSmallest) : size;
  in_use_ -= bytes;
  if (c >= kClasses || bytes > keep_ - kept_) {
    std::free(buffer);
    return;
  }
  free_[c] = new (buffer) Free{free_[c]};
  kept_ += bytes;
}

void BounceBuffers::trim() noexcept {
  for (Free*& first : free_) {
    while (first != nullptr) {
      Free* next = first->next;
      std::free(first);
      first = next;
    }
  }
  kept_ = 0;
}

}  // namespace verity::link
