// SPDX-License-Identifier: BSD-3-Clause
//
// A pointer on the way, 64 bits in the pointer's place:
//
//   0                                      null, or a target outside of the structure
//   63 62        40 39                  0
//   |0|   type     |   index            | + 1    element `index` of a type
//   |1|              entry                       an interior place: a member of an element
#ifndef VERITY_AUTOLINK_LINK_H
#define VERITY_AUTOLINK_LINK_H

#include <cstdint>

namespace verity::autolink {

inline constexpr unsigned kIndexBits = 40;
inline constexpr uint64_t kMostElements = (uint64_t{1} << kIndexBits) - 2;
inline constexpr uint64_t kInteriorBit = uint64_t{1} << 63;

[[nodiscard]] constexpr uint64_t element_link(uint32_t type, uint64_t index) noexcept {
  return (uint64_t{type} << kIndexBits | index) + 1;
}
[[nodiscard]] constexpr bool is_interior(uint64_t link) noexcept {
  return (link & kInteriorBit) != 0;
}
[[nodiscard]] constexpr uint32_t type_of(uint64_t link) noexcept {
  return static_cast<uint32_t>((link - 1) >> kIndexBits);
}
[[nodiscard]] constexpr uint64_t index_of(uint64_t link) noexcept {
  return (link - 1) & ((uint64_t{1} << kIndexBits) - 1);
}

struct Interior {
  uint32_t type = 0;  // of the element
  uint32_t zero = 0;
  uint64_t index = 0;
  uint64_t offset = 0;  // bytes in it
};
static_assert(sizeof(Interior) == 24);

}  // namespace verity::autolink

#endif
