// SPDX-License-Identifier: BSD-3-Clause
// Objects that are used again, so that steady work allocates nothing.
#ifndef VERITY_RMA_SPARES_H
#define VERITY_RMA_SPARES_H

#include <memory>
#include <new>
#include <vector>

namespace verity::rma {

template <typename T>
class Spares {
 public:
  // Keeps so many. Throws std::bad_alloc.
  explicit Spares(size_t most) { spare_.reserve(most); }

  // nullptr: no memory.
  [[nodiscard]] T* take() noexcept {
    if (spare_.empty()) return new (std::nothrow) T;
    T* object = spare_.back().release();
    spare_.pop_back();
    return object;
  }
  // The vector never grows here: there was room from the start.
  void give(T* object) noexcept {
    if (spare_.size() < spare_.capacity()) {
      std::destroy_at(object);
      spare_.emplace_back(std::construct_at(object));
    } else {
      delete object;
    }
  }

 private:
  std::vector<std::unique_ptr<T>> spare_;
};

}  // namespace verity::rma

#endif
