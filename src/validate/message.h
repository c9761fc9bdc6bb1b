// SPDX-License-Identifier: BSD-3-Clause
//
// Messages of a validation between the owner of a buffer (whose bytes are right) and the holder of
// a copy.
//
//    0       1       2       3       4       5       6       7
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 0 |             magic             |version| kind  |segment|levels |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 8 |            serial             |sender |           0           |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 16|                            length                             |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 24|                             count                             |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 32|                           body check                          |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 40|                         header check                          |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 48|  body ...
//
//   ROOT         owner   the root of the tree over its bytes (8)
//   DIGESTS      holder  `count` parent nodes (8 each) at the upper level, then the digests
//                        (8 each) of their descendants at the lower level, in order
//   DIFFERENCES  owner   `count` nodes (8 each) at the lower level whose digests differ
//   SEGMENTS     owner   `count` segments that differ (8 each), then their bytes, then zeros
//                        up to a multiple of 8; LAST_SEGMENTS: no more follow
//   MORE         holder  wants the next SEGMENTS
//   DAMAGED      either  the last message failed its check: the round begins again
//   GIVE_UP      owner   too many damaged messages, or an error: the holder shall end
// The holder ends a validation, with one of
//   GOOD                 equal
//   UNEQUAL              it has another number of bytes
//   GIVEN_UP             too many rounds, an error, or GIVE_UP came
//
// segment  log2 of the segment size.
// levels   low nibble: the lower level, high nibble: the upper one (DIGESTS, DIFFERENCES).
// serial   of the validation between these two processes: the sender's n-th send belongs to the
//          receiver's n-th receive.
// sender   0: the owner, 1: the holder.
// length   bytes of the sender's buffer.
// checks   XXH3 of the body, and of bytes 0 to 39.
//
// Little endian. The owner answers each DIGESTS by itself and keeps no state between them, so that
// a message that comes twice, or late after a round began again, does no harm.
//
// The holder that has sent its last message does not wait for an answer, so that this message
// cannot be repeated. It carries its header three times, each in 64 bytes of its own, and a byte
// more: no other message has an odd length, so that the owner knows the last one even where none of
// the copies can be read.
#ifndef VERITY_VALIDATE_MESSAGE_H
#define VERITY_VALIDATE_MESSAGE_H

#include <cstdint>
#include <span>
#include <vector>

namespace verity::validate {

inline constexpr uint32_t kMagic = 0x4c415656;  // "VVAL"
inline constexpr uint8_t kVersion = 2;

enum class Kind : uint8_t {
  kRoot = 1,
  kGood = 2,
  kDigests = 3,
  kDifferences = 4,
  kSegments = 5,
  kLastSegments = 6,
  kMore = 7,
  kDamaged = 8,
  kUnequal = 9,
  kGivenUp = 10,
  kGiveUp = 11,
};
// Whether a holder's message of that kind is its last one.
[[nodiscard]] constexpr bool is_end(Kind kind) noexcept {
  return kind == Kind::kGood || kind == Kind::kUnequal || kind == Kind::kGivenUp;
}

struct Header {
  uint32_t magic = kMagic;
  uint8_t version = kVersion;
  uint8_t kind = 0;
  uint8_t segment_log2 = 0;
  uint8_t levels = 0;
  uint32_t serial = 0;
  uint8_t sender = 0;
  uint8_t zero[3] = {};
  uint64_t length = 0;
  uint64_t count = 0;
  uint64_t body_check = 0;
  uint64_t header_check = 0;
};
static_assert(sizeof(Header) == 48);

using Bytes = std::vector<uint8_t>;

// A received message; the body points into the bytes.
struct Message {
  Header header;
  std::span<const uint8_t> body;

  [[nodiscard]] Kind kind() const noexcept { return static_cast<Kind>(header.kind); }
  // Word `i` of the body. Precondition: it has that many.
  [[nodiscard]] uint64_t word(uint64_t i) const noexcept;
  [[nodiscard]] uint64_t words() const noexcept { return body.size() / sizeof(uint64_t); }
};

// Appends a 64-bit word.
void put(Bytes& out, uint64_t word);
// A message that begins with an unsealed header; the caller appends the body and calls seal().
[[nodiscard]] Bytes begin(const Header& header);
void seal(Bytes& message) noexcept;

inline constexpr size_t kRootSize = sizeof(Header) + sizeof(uint64_t);
inline constexpr size_t kEndCopies = 3;
inline constexpr size_t kEndCopySize = 64;
inline constexpr size_t kEndSize = kEndCopies * kEndCopySize + 1;
// The last message of a holder. Precondition: is_end().
[[nodiscard]] Bytes make_end(const Header& header);

enum class Reading : uint8_t {
  kGood,
  kBadBody,    // the header is right: it says whose message it is
  kBadHeader,  // nothing in it can be used
  kLostEnd,    // some holder's last message, of which nothing can be used
  kForeign,    // no message of a validation, or nothing in it shows that it was one
};
// Damage to the magic alone is repaired.
[[nodiscard]] Reading read(std::span<const uint8_t> bytes, Message* message_p) noexcept;

}  // namespace verity::validate

#endif
