// SPDX-License-Identifier: BSD-3-Clause
//
// What puts to a piece of another process's memory leave there, by UCP's rules: those before a
// fence come before what is behind it, and the end of a flush says that all before it is applied.
// Other operations on the same bytes have no order, so that none are begun.
#ifndef VERITY_TEST_UCX_PUT_MODEL_H
#define VERITY_TEST_UCX_PUT_MODEL_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace verity::test {

// Times are the steps of whoever puts.
class PutModel {
 public:
  static constexpr size_t kBlock = 64;  // bytes; an operation has all blocks that it touches
  explicit PutModel(size_t length)
      : bytes_(length), used_(length / kBlock), put_(used_.size()), read_(used_.size()) {}

  // Whether all operations there came before that fence, or are over.
  [[nodiscard]] bool is_free(size_t offset, size_t length, uint32_t fence) const {
    const uint32_t before = std::max(fence, flushed_);
    for (size_t b = offset / kBlock; b * kBlock < offset + length; ++b) {
      if (used_[b] > before || read_[b] != 0) return false;
    }
    return true;
  }
  void put(size_t offset, const std::vector<uint8_t>& bytes, uint32_t step) {
    std::copy(bytes.begin(), bytes.end(), bytes_.data() + offset);
    for (size_t b = offset / kBlock; b * kBlock < offset + bytes.size(); ++b)
      used_[b] = put_[b] = step;
  }
  // What a get brings. No fence puts what comes behind it behind its end.
  [[nodiscard]] std::vector<uint8_t> get(size_t offset, size_t length, uint32_t step) {
    for (size_t b = offset / kBlock; b * kBlock < offset + length; ++b) {
      used_[b] = step;
      ++read_[b];
    }
    return {bytes_.data() + offset, bytes_.data() + offset + length};
  }
  void get_ended(size_t offset, size_t length) {
    for (size_t b = offset / kBlock; b * kBlock < offset + length; ++b) --read_[b];
  }
  // A flush of that step has ended: whether the puts before it are in `memory`.
  [[nodiscard]] bool flush_ended(const uint8_t* memory, uint32_t step) {
    bool good = true;
    for (size_t b = 0; b < put_.size(); ++b) {
      if (put_[b] <= flushed_ || put_[b] > step) continue;
      good = good && std::memcmp(memory + b * kBlock, bytes_.data() + b * kBlock, kBlock) == 0;
    }
    flushed_ = std::max(flushed_, step);
    return good;
  }

 private:
  std::vector<uint8_t> bytes_;
  std::vector<uint32_t> used_, put_;  // by block: the last operation, and the last put
  std::vector<unsigned> read_;        // by block: gets that are open
  uint32_t flushed_ = 0;
};

}  // namespace verity::test

#endif
