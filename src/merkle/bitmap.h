// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_MERKLE_BITMAP_H
#define VERITY_MERKLE_BITMAP_H

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace verity::merkle {

// A set of leaf numbers as it travels in frames: bit i is bit (i % 8) of byte (i / 8). A view: the
// bytes, bitmap_bytes(bits) of them at any alignment, belong to the caller.
//
//   byte   0                 1
//   bit    7 6 5 4 3 2 1 0   - - - 12 11 10 9 8      13 leaves; the bits '-' are reserved, zero
[[nodiscard]] constexpr size_t bitmap_bytes(uint64_t bits) noexcept {
  return static_cast<size_t>(bits / 8 + (bits % 8 != 0 ? 1 : 0));
}

template <typename Byte>
class BasicBitmap {
 public:
  constexpr BasicBitmap(Byte* bytes, uint64_t bits) noexcept : bytes_(bytes), bits_(bits) {}

  [[nodiscard]] constexpr uint64_t size() const noexcept { return bits_; }
  [[nodiscard]] constexpr size_t byte_size() const noexcept { return bitmap_bytes(bits_); }

  // Precondition for set, reset and test: i < size().
  constexpr void set(uint64_t i) const noexcept requires(!std::is_const_v<Byte>) {
    bytes_[i / 8] = static_cast<Byte>(bytes_[i / 8] | (1U << (i % 8)));
  }
  constexpr void reset(uint64_t i) const noexcept requires(!std::is_const_v<Byte>) {
    bytes_[i / 8] = static_cast<Byte>(bytes_[i / 8] & ~(1U << (i % 8)));
  }
  void clear() const noexcept requires(!std::is_const_v<Byte>) {
    if (byte_size() != 0) { std::memset(bytes_, 0, byte_size()); }
  }
  // All bits of the set, reserved ones zero.
  void fill() const noexcept requires(!std::is_const_v<Byte>) {
    if (byte_size() != 0) {
      std::memset(bytes_, 0xff, byte_size());
      bytes_[byte_size() - 1] = static_cast<Byte>(0xffU >> reserved_bits());
    }
  }
  [[nodiscard]] constexpr bool test(uint64_t i) const noexcept {
    return ((bytes_[i / 8] >> (i % 8)) & 1U) != 0;
  }

  // Members of the set; reserved bits do not count.
  [[nodiscard]] uint64_t count() const noexcept {
    uint64_t total = 0;
    for (uint64_t base = 0; base < bits_; base += 64) {
      total += static_cast<uint64_t>(std::popcount(word(base)));
    }
    return total;
  }
  [[nodiscard]] bool any() const noexcept {
    for (uint64_t base = 0; base < bits_; base += 64) {
      if (word(base) != 0) { return true; }
    }
    return false;
  }
  // False if a peer set bits beyond the last leaf.
  [[nodiscard]] constexpr bool reserved_bits_are_zero() const noexcept {
    return reserved_bits() == 0 || (bytes_[byte_size() - 1] >> (8 - reserved_bits())) == 0;
  }

  // Calls visit(uint64_t i) for each member, ascending. The set may change during the walk at
  // members already visited.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (uint64_t base = 0; base < bits_; base += 64) {
      for (uint64_t rest = word(base); rest != 0; rest &= rest - 1) {
        visit(base + static_cast<uint64_t>(std::countr_zero(rest)));
      }
    }
  }

 private:
  [[nodiscard]] constexpr unsigned reserved_bits() const noexcept {
    return static_cast<unsigned>((8 - bits_ % 8) % 8);
  }

  // Up to 64 bits from bit `base`, a multiple of 64, without touching memory past the end.
  [[nodiscard]] uint64_t word(uint64_t base) const noexcept {
    uint64_t value = 0;
    const uint64_t left = bits_ - base;
    const size_t bytes = left >= 64 ? 8 : bitmap_bytes(left);
    for (size_t i = 0; i < bytes; ++i) {
      value |= static_cast<uint64_t>(bytes_[base / 8 + i]) << (8 * i);
    }
    return left >= 64 ? value : value & ((uint64_t{1} << left) - 1);
  }

  Byte* bytes_;
  uint64_t bits_;
};

using Bitmap = BasicBitmap<uint8_t>;
using ConstBitmap = BasicBitmap<const uint8_t>;

}  // namespace verity::merkle

#endif
