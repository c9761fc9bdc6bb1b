// SPDX-License-Identifier: BSD-3-Clause
//
// What travels: one initial message, then packets, which may come in any order.
//
//    0       1       2       3       4       5       6       7
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 0 |             magic             |version| kind  |       0       |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 8 |                          schema hash                          |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 16|                           structure                           |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 24|             type              |               0               |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 32|                             first                             |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 40|                             count                             |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 48|                           body check                          |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 56|                          header check                         |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 64|  body ...
//
// structure  a number that all messages of one structure have in common
// INITIAL    type: the root's. first: elements at the root. count: elements of a packet's body are
// as many as fit these bytes, at least
//            one. Body: the root's link (8), then the number of elements of each type (8 each),
//            those of pointers behind the others
// ELEMENTS   elements [first, first + count) of `type`, with links (link.h) in the place of
// pointers. `first` is a multiple of the number
//            of elements in a packet, and all packets but the last of a type have that number
// INTERIORS  one packet, also when `count` is 0: the interior places (link.h)
// checks     XXH3 of the body, and of bytes 0 to 55
//
// Elements travel as they lie in memory: only peers with equal schema hashes understand each other.
#ifndef VERITY_AUTOLINK_PACKET_H
#define VERITY_AUTOLINK_PACKET_H

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace verity::autolink {

inline constexpr uint32_t kMagic = 0x4b4c4156;  // "VALK"
inline constexpr uint8_t kVersion = 1;

enum class Kind : uint8_t { kInitial = 1, kElements = 2, kInteriors = 3 };

struct Header {
  uint32_t magic = kMagic;
  uint8_t version = kVersion;
  uint8_t kind = 0;
  uint16_t zero = 0;
  uint64_t schema = 0;
  uint64_t structure = 0;
  uint32_t type = 0;
  uint32_t zero2 = 0;
  uint64_t first = 0;
  uint64_t count = 0;
  uint64_t body_check = 0;
  uint64_t header_check = 0;
};
static_assert(sizeof(Header) == 64);

using Bytes = std::vector<uint8_t>;

// Makes *message_p the header and `body` bytes of room behind it, which it returns; seal() when
// they are written.
[[nodiscard]] uint8_t* begin(const Header& header, uint64_t body, Bytes* message_p);
void seal(Bytes* message_p) noexcept;

// Returns "", or what is wrong with the message.
[[nodiscard]] std::string read(std::span<const uint8_t> message, Header* header_p);
[[nodiscard]] inline std::span<const uint8_t> body_of(std::span<const uint8_t> message) noexcept {
  return message.subspan(sizeof(Header));
}

}  // namespace verity::autolink

#endif
