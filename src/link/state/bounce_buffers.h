// SPDX-License-Identifier: BSD-3-Clause
// Bounce buffers: copies of zero-copy payloads. Freed ones are kept, so that a steady stream of
// copies allocates nothing.
#ifndef VERITY_LINK_STATE_BOUNCE_BUFFERS_H
#define VERITY_LINK_STATE_BOUNCE_BUFFERS_H

#include <cstddef>
#include <cstdint>

namespace verity::link {

class BounceBuffers {
 public:
  // `keep`: bytes of free buffers that are kept at most.
  explicit BounceBuffers(size_t keep) noexcept : keep_(keep) {}
  BounceBuffers(const BounceBuffers&) = delete;
  BounceBuffers& operator=(const BounceBuffers&) = delete;
  ~BounceBuffers() { trim(); }

  // `size` bytes or more; the caller gives them back with the same `size`. nullptr when memory is
  // out.
  [[nodiscard]] void* take(size_t size) noexcept;
  void give(void* buffer, size_t size) noexcept;
  // Bytes of buffers that were taken and not given back.
  [[nodiscard]] size_t in_use() const noexcept { return in_use_; }
  // Frees what is kept.
  void trim() noexcept;

 private:
  static constexpr unsigned kSmallest = 12;  // log2 of bytes
  static constexpr unsigned kClasses = 13;   // larger ones are not kept
  struct Free {
    Free* next;
  };
  // log2 of the bytes of the class, counted from kSmallest.
  [[nodiscard]] static unsigned class_of(size_t size) noexcept;

  Free* free_[kClasses] = {};
  size_t kept_ = 0;
  size_t in_use_ = 0;
  const size_t keep_;
};

}  // namespace verity::link

#endif
