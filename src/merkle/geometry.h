// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_MERKLE_GEOMETRY_H
#define VERITY_MERKLE_GEOMETRY_H

#include <bit>
#include <cstdint>
#include <optional>

namespace verity::merkle {

// Children of an inner node. From 16 to 64 the parents cost under 1 % of hashing the leaves; what
// differs is the descent to one bad leaf of 1024: two answers of 256 bytes each, where 16 takes
// three round trips and 64 sends 640 bytes. Up to 32 leaves (64 KiB in segments of 2 KiB) have one
// parent. Both peers must agree on it: it is part of the format.
inline constexpr unsigned kFanout = 32;
inline constexpr unsigned kFanoutShift = std::countr_zero(kFanout);
static_assert(std::has_single_bit(kFanout));

inline constexpr uint32_t kMinSegmentSize = 256;
inline constexpr uint32_t kMaxSegmentSize = 65536;

// Levels of the tallest tree, leaves included: 2^64 bytes in the smallest segments.
inline constexpr unsigned kMaxLevels =
    1 + (64 - std::countr_zero(kMinSegmentSize) + kFanoutShift - 1) / kFanoutShift;

// A power of two from 256 to 65536 bytes.
[[nodiscard]] constexpr bool is_valid_segment_size(uint64_t size) noexcept {
  return size >= kMinSegmentSize && size <= kMaxSegmentSize && std::has_single_bit(size);
}

// The shape of the tree over `length` bytes. Level 0 holds the leaves, one per segment; the last
// level holds the root. Zero bytes are one empty leaf. A value type without memory; all arithmetic
// is 64-bit and cannot overflow.
//
//   level 2 (root)              node 0
//                          /      |      \           <- up to kFanout children
//   level 1           node 0    node 1   node 2
//                    /  |  \      ...       |
//   level 0     leaf 0 .. leaf F-1 ...  leaf 2F      <- the last leaf may be short
class Geometry {
 public:
  // Refuses an invalid segment size (which may come from a peer or from the environment).
  [[nodiscard]] static constexpr std::optional<Geometry> make(uint64_t length,
                                                              uint64_t segment_size) noexcept {
    if (!is_valid_segment_size(segment_size)) { return std::nullopt; }
    return Geometry(length, static_cast<uint32_t>(segment_size));
  }

  // Precondition: is_valid_segment_size(segment_size).
  constexpr Geometry(uint64_t length, uint32_t segment_size) noexcept
      : length_(length), shift_(static_cast<unsigned>(std::countr_zero(segment_size))) {}

  [[nodiscard]] constexpr uint64_t length() const noexcept { return length_; }
  [[nodiscard]] constexpr uint32_t segment_size() const noexcept { return 1U << shift_; }

  // At least 1.
  [[nodiscard]] constexpr uint64_t leaf_count() const noexcept {
    return length_ == 0 ? 1 : ((length_ - 1) >> shift_) + 1;
  }

  // First byte of leaf `i`. Precondition for this and leaf_length: i < leaf_count().
  [[nodiscard]] constexpr uint64_t leaf_offset(uint64_t i) const noexcept { return i << shift_; }

  // Bytes of leaf `i`: segment_size() except for the last.
  [[nodiscard]] constexpr uint32_t leaf_length(uint64_t i) const noexcept {
    const uint64_t rest = length_ - leaf_offset(i);
    return rest < segment_size() ? static_cast<uint32_t>(rest) : segment_size();
  }

  // Nodes at `level`; 1 at the root and (for the convenience of loops) above it.
  [[nodiscard]] constexpr uint64_t level_size(unsigned level) const noexcept {
    const unsigned shift = level * kFanoutShift;
    return shift >= 64 ? 1 : ((leaf_count() - 1) >> shift) + 1;
  }

  // 1 for a single leaf, at most kMaxLevels.
  [[nodiscard]] constexpr unsigned level_count() const noexcept {
    return 1 + (static_cast<unsigned>(std::bit_width(leaf_count() - 1)) + kFanoutShift - 1) /
                   kFanoutShift;
  }

  friend constexpr bool operator==(const Geometry&, const Geometry&) noexcept = default;

 private:
  uint64_t length_;
  unsigned shift_;
};

}  // namespace verity::merkle

#endif
