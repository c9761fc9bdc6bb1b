// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TOOLS_BENCH_BUFFER_H
#define VERITY_TOOLS_BENCH_BUFFER_H

#include <cstddef>
#include <cstring>
#include <new>

namespace verity::tools::bench {

// Page-aligned bytes that were touched, so that no page fault falls into a measurement.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer() { release(); }

  // At least `size` bytes (and a page). True when the memory moved.
  bool grow(std::size_t size) {
    if (size < kPage) size = kPage;
    if (size <= size_) return false;
    release();
    data_ = ::operator new(size, std::align_val_t(kPage));
    size_ = size;
    std::memset(data_, 'v', size_);
    return true;
  }

  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  void release() {
    if (data_ != nullptr) ::operator delete(data_, std::align_val_t(kPage));
    data_ = nullptr;
  }

  static constexpr std::size_t kPage = 4096;
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace verity::tools::bench

#endif
