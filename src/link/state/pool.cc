// SPDX-License-Identifier: BSD-3-Clause
#include "link/state/pool.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace verity::link {

namespace {

constexpr size_t kLine = 64;
constexpr size_t kChunkBytes = 128 * 1024;
constexpr uint32_t kFewLarge = 4;

size_t slot_bytes(size_t frame) { return (sizeof(Slot) + frame + kLine - 1) / kLine * kLine; }

}  // namespace

Pool::Pool(size_t max_frame, size_t limit, size_t max_large) noexcept
    : capacity_{kSmallFrame, 512 - sizeof(Slot), 2048 - sizeof(Slot), max_frame,
                std::max(max_frame, max_large)},
      limit_(limit) {
  for (unsigned c = 0; c < kSizeClasses; ++c) {
    if (c != kLarge) capacity_[c] = std::min(capacity_[c], max_frame);
    low_[c] = c == 0 ? 128 : c == kLarge ? kFewLarge : 16;
  }
}

Pool::~Pool() {
  for (void* chunk : chunks_) std::free(chunk);
}

Slot* Pool::take_reserve(size_t size) noexcept {
  void* memory = std::aligned_alloc(kLine, slot_bytes(size));
  if (memory == nullptr) return nullptr;
  Slot* slot = new (memory) Slot;
  slot->on_heap = 1;
  return slot;
}

// A larger slot is one for want of a fitting one, and takes more of the cache.
Slot* Pool::take_larger(unsigned wanted) noexcept {
  wants_refill_ = true;
  for (unsigned c = wanted + 1; c < kSizeClasses; ++c) {
    if (free_[c] != nullptr) return take_from(c);
  }
  return nullptr;
}

void Pool::give_slow(Slot* slot) noexcept {
  delete slot->repair;
  slot->repair = nullptr;
  if (slot->on_heap) {
    std::free(slot);
    return;
  }
  give(slot);
}

void Pool::refill() noexcept {
  wants_refill_ = false;
  for (unsigned c = 0; c < kSizeClasses; ++c) {
    if (used_[c] && free_count_[c] < low_[c]) grow(c);
  }
}

void Pool::trim(size_t keep) noexcept {
  uint32_t idle = 0;
  for (const uint32_t count : free_count_) idle += count;
  if (footprint_ <= keep || idle != total_) return;
  for (void* chunk : chunks_) std::free(chunk);
  chunks_.clear();
  footprint_ = 0;
  total_ = 0;
  for (unsigned c = 0; c < kSizeClasses; ++c) {
    free_[c] = nullptr;
    free_count_[c] = 0;
    used_[c] = false;
  }
}

void Pool::grow(unsigned size_class) noexcept {
  const size_t bytes = slot_bytes(capacity_[size_class]);
  const size_t room = limit_ > footprint_ ? (limit_ - footprint_) / bytes : 0;
  const size_t least = size_class == kLarge ? kFewLarge : 8;
  const size_t count = std::min(std::max<size_t>(kChunkBytes / bytes, least), room);
  if (count == 0) return;
  auto* chunk = static_cast<uint8_t*>(std::aligned_alloc(kLine, count * bytes));
  if (chunk == nullptr) return;
  try {
    chunks_.push_back(chunk);
  } catch (const std::bad_alloc&) {
    std::free(chunk);
    return;
  }
  footprint_ += count * bytes;
  total_ += static_cast<uint32_t>(count);
  for (size_t i = 0; i < count; ++i) {
    Slot* slot = new (chunk + i * bytes) Slot;
    slot->size_class = size_class;
    give(slot);
  }
}

}  // namespace verity::link
