// SPDX-License-Identifier: BSD-3-Clause
//
// A hash map from (address, type) to a number: open addressing, no removal.
#ifndef VERITY_AUTOLINK_FLAT_MAP_H
#define VERITY_AUTOLINK_FLAT_MAP_H

#include <cstdint>
#include <utility>
#include <vector>

namespace verity::autolink {

class FlatMap {
 public:
  struct Entry {
    const void* address = nullptr;  // never null in use
    uint32_t type = 0;
    uint64_t value = 0;
  };

  // The entry's value, made with `value` when it is new. Valid until the next insertion.
  std::pair<uint64_t*, bool> insert(const void* address, uint32_t type, uint64_t value) {
    if ((size_ + 1) * 4 > slots_.size() * 3) grow();
    Entry& entry = slots_[find(address, type)];
    const bool is_new = entry.address == nullptr;
    if (is_new) {
      entry = {address, type, value};
      ++size_;
    }
    return {&entry.value, is_new};
  }
  [[nodiscard]] const uint64_t* get(const void* address, uint32_t type) const noexcept {
    if (slots_.empty()) return nullptr;
    const Entry& entry = slots_[find(address, type)];
    return entry.address == nullptr ? nullptr : &entry.value;
  }

 private:
  [[nodiscard]] uint64_t find(const void* address, uint32_t type) const noexcept {
    const uint64_t mask = slots_.size() - 1;
    uint64_t h =
        (reinterpret_cast<uintptr_t>(address) ^ uint64_t{type} << 48) * 0x9e3779b97f4a7c15u;
    for (h ^= h >> 32;; ++h) {
      const Entry& entry = slots_[h & mask];
      if (entry.address == nullptr || (entry.address == address && entry.type == type))
        return h & mask;
    }
  }
  void grow() {
    std::vector<Entry> old(slots_.empty() ? 64 : slots_.size() * 2);
    old.swap(slots_);
    for (const Entry& entry : old) {
      if (entry.address != nullptr) slots_[find(entry.address, entry.type)] = entry;
    }
  }

  std::vector<Entry> slots_;
  uint64_t size_ = 0;
};

}  // namespace verity::autolink

#endif
