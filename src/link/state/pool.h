// SPDX-License-Identifier: BSD-3-Clause
// A pool of slots in a few size classes. take() and give() neither allocate nor lock; refill()
// does, off the data path.
//
// Its memory is not registered with any device, on purpose. What leaves from a slot, its first
// sending and its repairs, goes as a copied message of the lower transport (Port::send()), out of
// buffers which that has registered itself. Zero copy from here would save the copy, which is in
// cache; but a slot would then have to wait for the device's completion besides the peer's
// acknowledgement, each memory domain would have to know each block of the pool, and where a
// registration itself is at fault (openucx/ucx issue 10653) a repair through the same one would
// bring the same wrong bytes again. Large messages are zero copy from the user's memory, and need
// no slot's. Where the lower transport reads any memory (tcp), the long frames of remote memory
// access do leave from their slots (ZeroCopy::make_source_in_slot).
#ifndef VERITY_LINK_STATE_POOL_H
#define VERITY_LINK_STATE_POOL_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "link/state/slot.h"

namespace verity::link {

class Pool {
 public:
  // `max_frame`: bytes of the largest frame that is stored, but for some of up to `max_large`; 0:
  // there are none. `limit`: bytes that the pool may hold in all.
  Pool(size_t max_frame, size_t limit, size_t max_large = 0) noexcept;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();

  // A slot for a frame of up to `size` bytes, or nullptr when the class is empty: the caller then
  // waits for refill() or takes its reserve. `size` is at most max_frame or max_large. The last
  // slot taken is the last one given back, which is still in the cache.
  [[nodiscard]] Slot* take(size_t size) noexcept {
    const unsigned wanted = class_of(size);
    used_[wanted] = true;
    return free_[wanted] != nullptr ? take_from(wanted) : take_larger(wanted);
  }

  // A slot of the smallest class, for a frame of at most kSmallFrame bytes; nullptr when that is
  // empty: take() then.
  [[nodiscard]] Slot* take_small() noexcept {
    if (free_[0] == nullptr) [[unlikely]]
      return nullptr;
    used_[0] = true;
    return take_from(0);
  }
  static constexpr size_t kSmallFrame = 128 - sizeof(Slot);

  // A slot from the heap, outside of every limit: a link's reserve of one. nullptr when memory is
  // out.
  [[nodiscard]] static Slot* take_reserve(size_t size) noexcept;

  void give(Slot* slot) noexcept {
    if (slot->repair != nullptr || slot->on_heap) return give_slow(slot);
    slot->next = free_[slot->size_class];
    free_[slot->size_class] = slot;
    ++free_count_[slot->size_class];
  }

  [[nodiscard]] bool wants_refill() const noexcept { return wants_refill_; }
  // Grows every class in use that runs low, up to the limit. Allocates: never called on the
  // fault-free data path.
  void refill() noexcept;
  // Gives all memory back to the system when no slot is taken and more than `keep` bytes are held.
  void trim(size_t keep) noexcept;
  // Bytes held from the system, free slots included.
  [[nodiscard]] size_t footprint() const noexcept { return footprint_; }

 private:
  static constexpr unsigned kSizeClasses = 5;
  static constexpr unsigned kLarge = kSizeClasses - 1;

  [[nodiscard]] unsigned class_of(size_t size) const noexcept {
    unsigned c = 0;
    while (c + 1 < kSizeClasses && size > capacity_[c]) ++c;
    return c;
  }
  [[nodiscard]] Slot* take_from(unsigned size_class) noexcept {
    Slot* slot = free_[size_class];
    free_[size_class] = slot->next;
    if (--free_count_[size_class] < low_[size_class]) wants_refill_ = true;
    return slot;
  }
  [[nodiscard]] Slot* take_larger(unsigned wanted) noexcept;
  void give_slow(Slot* slot) noexcept;
  void grow(unsigned size_class) noexcept;

  Slot* free_[kSizeClasses] = {};
  uint32_t free_count_[kSizeClasses] = {};
  uint32_t low_[kSizeClasses];
  size_t capacity_[kSizeClasses];  // bytes of the largest frame of the class
  bool used_[kSizeClasses] = {};
  bool wants_refill_ = false;
  uint32_t total_ = 0;  // slots in all chunks
  size_t footprint_ = 0;
  size_t limit_;
  std::vector<void*> chunks_;
};

}  // namespace verity::link

#endif
