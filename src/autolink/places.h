// SPDX-License-Identifier: BSD-3-Clause
//
// The elements of one type, by their addresses, and their numbers in the order of the addresses.
//
// One bit stands for each address at which an element may begin: a multiple of the granule, which
// is the type's alignment. 512 of them are a page; a hash table leads to the pages. Structures lie
// densely in memory, so that the pages of a whole structure fit the processor's cache, where a hash
// table with an entry for each element would not; and the number of an element is the number of
// bits before its own, so that nothing has to be stored for it.
#ifndef VERITY_AUTOLINK_PLACES_H
#define VERITY_AUTOLINK_PLACES_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace verity::autolink {

// Elements that lie one behind the other.
struct Run {
  const uint8_t* begin = nullptr;
  uint64_t count = 0;
};

class Places {
 public:
  // A place in the order of the addresses.
  struct Cursor {
    size_t page = 0;
    unsigned bit = 0;
  };
  static constexpr uint64_t kNone = ~uint64_t{0};

  // `granule` is a power of two that divides the size.
  Places(uint64_t size, uint64_t granule) noexcept;

  // Whether an element at `address` can be added.
  [[nodiscard]] bool has_room_at(const void* address) const noexcept {
    return (number_of(address) & (granule_ - 1)) == 0;
  }
  // Returns whether it is new. May throw std::bad_alloc.
  bool add(const void* address) {
    const uint64_t unit = number_of(address) >> shift_;
    uint64_t& word = page_of(unit / kBits).bits[unit % kBits / 64];
    const uint64_t bit = uint64_t{1} << unit % 64;
    const bool is_new = (word & bit) == 0;
    word |= bit;
    count_ += is_new;
    return is_new;
  }
  // `count` of them, one behind the other.
  void add_run(const void* address, uint64_t count);
  // One that was added.
  void remove(const void* address) noexcept;
  [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
  [[nodiscard]] uint64_t count() const noexcept { return count_; }

  // After the last add(), before all that follows.
  void sort();
  // Whether an element begins inside of another one.
  [[nodiscard]] bool overlaps() const noexcept;
  // At most `most` elements from the cursor on, and moves it behind them; a count of 0 at the end.
  [[nodiscard]] Run next(Cursor* cursor_p, uint64_t most) const noexcept;

  // After the last remove(), before the numbers are used.
  void number() noexcept;
  // The number of the element that begins at `address`, or kNone.
  [[nodiscard]] uint64_t find(const void* address) const noexcept {
    if (!has_room_at(address)) return kNone;
    const uint64_t unit = number_of(address) >> shift_;
    const Page* page = find_page(unit / kBits);
    if (page == nullptr) return kNone;
    const unsigned word = unit % kBits / 64;
    const uint64_t bit = uint64_t{1} << unit % 64;
    if ((page->bits[word] & bit) == 0) return kNone;
    return page->first + page->before[word] + ones(page->bits[word] & (bit - 1));
  }
  // Where the last element begins that begins at `address` or before it; nullptr: there is none.
  [[nodiscard]] const uint8_t* last_until(const void* address) const noexcept;

 private:
  static constexpr unsigned kWords = 8;
  static constexpr uint64_t kBits = kWords * 64;
  struct Page {
    uint64_t key = 0;    // the address of its first bit, in pages
    uint64_t first = 0;  // number of its first element
    std::array<uint64_t, kWords> bits{};
    std::array<uint16_t, kWords> before{};  // elements of the words before this one
  };

  static uint64_t number_of(const void* address) noexcept {
    return reinterpret_cast<uintptr_t>(address);
  }
  // The processor's own instruction is not in the baseline that the library is built for.
  static uint64_t ones(uint64_t x) noexcept {
    x -= x >> 1 & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + (x >> 2 & 0x3333333333333333u);
    return ((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu) * 0x0101010101010101u >> 56;
  }
  [[nodiscard]] Page& page_of(uint64_t key) {
    return last_ < pages_.size() && pages_[last_].key == key ? pages_[last_]
                                                             : find_or_make_page(key);
  }
  [[nodiscard]] Page& find_or_make_page(uint64_t key);
  [[nodiscard]] const Page* find_page(uint64_t key) const noexcept {
    if (last_ < pages_.size() && pages_[last_].key == key) return &pages_[last_];
    if (slots_.empty()) return nullptr;
    const uint32_t place = slots_[slot_of(key)];
    if (place == 0) return nullptr;
    last_ = place - 1;
    return &pages_[last_];
  }
  // Of the page, or the free one that it would take.
  [[nodiscard]] size_t slot_of(uint64_t key) const noexcept {
    const size_t mask = slots_.size() - 1;
    uint64_t h = key * 0x9e3779b97f4a7c15u;
    for (h ^= h >> 32;; ++h) {
      const uint32_t place = slots_[h & mask];
      if (place == 0 || pages_[place - 1].key == key) return h & mask;
    }
  }
  void index(size_t slots);
  [[nodiscard]] const uint8_t* address_of(const Page& page, unsigned bit) const noexcept {
    return reinterpret_cast<const uint8_t*>((page.key * kBits + bit) << shift_);
  }
  // Moves the cursor to the next element; false: there is none.
  bool seek(Cursor* cursor_p) const noexcept;
  [[nodiscard]] uint64_t dense(Cursor* cursor_p, uint64_t most) const noexcept;

  uint64_t granule_;
  unsigned shift_;
  uint64_t stride_;  // granules of an element
  uint64_t count_ = 0;
  std::vector<Page> pages_;
  std::vector<uint32_t> slots_;  // of a hash table by the key: 1 + the place in pages_; 0: free
  mutable size_t last_ = 0;      // the page that was used last
};

}  // namespace verity::autolink

#endif
