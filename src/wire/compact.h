// SPDX-License-Identifier: BSD-3-Clause
// The compact frame: nearly all traffic. A data frame of an established link in the synchronous
// class whose payload is at most one segment and an eighth, in half of the full header's bytes: on
// shared memory an 8-byte message then stays within one cache line.
//
//    0       1       2       3       4       5       6       7
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 0 | kind  |               digest (the high 56 bits)               |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 8 |      link (low 24)    |   psn (low)   |   ack (low)   | am_id |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
// 16|  payload ...
//
// kind    0xc0, or 0xc1 with an acknowledgement request.
// digest  of bytes 8 to the end, bound to the nonce of the link's direction, the kind, and all that
// is abbreviated here: the
//         full link id, psn and ack. A frame that comes 65536 frames late is a wrong one.
// psn, ack  their low 16 bits: windows are smaller than half of that range (kCompactWindow), so the
// rest is known. am_id   low 5 bits; the others are zero. It has a lower active message id of its
// own. Whatever is sent again is sent with a full header (frame.h).
#ifndef VERITY_WIRE_COMPACT_H
#define VERITY_WIRE_COMPACT_H

#include <cstring>

#include "merkle/hash.h"
#include "wire/codec.h"
#include "wire/frame.h"

namespace verity::wire {

inline constexpr size_t kCompactHeader = 16;
inline constexpr uint8_t kCompactKind = 0xc0;
inline constexpr uint8_t kCompactAckRequest = 0x01;
inline constexpr uint32_t kCompactLinkMask = 0xffffff;
// Most frames in flight: an acknowledgement may be this far ahead of the last one.
inline constexpr uint32_t kCompactWindow = 0x7fff;

// Bijective in `digest` for each `key`, and in `key` for each digest: nothing that differs becomes
// equal here.
[[nodiscard]] inline uint64_t bind_compact(uint64_t digest, uint64_t nonce, uint64_t key) noexcept {
  uint64_t v = digest ^ (nonce + key * 0x9e3779b97f4a7c15ull);
  v ^= v >> 37;
  v *= 0x165667919e3779f9ull;
  return v ^ (v >> 32);
}

struct CompactFields {
  uint32_t link;
  uint32_t psn;
  uint32_t ack;
  uint8_t am_id;
  uint8_t kind;
};

// What the digest is bound to besides the nonce. All fields in full.
[[nodiscard]] inline uint64_t compact_key(const CompactFields& f) noexcept {
  return uint64_t{f.psn} | uint64_t{f.link >> 24} << 32 | uint64_t{f.ack >> 16} << 40 |
         uint64_t{f.kind} << 56;
}

[[nodiscard]] inline uint64_t compact_word(const CompactFields& f) noexcept {
  return uint64_t{f.link & kCompactLinkMask} | uint64_t{f.psn & 0xffff} << 24 |
         uint64_t{f.ack & 0xffff} << 40 | uint64_t{f.am_id} << 56;
}

// Writes the header of the frame whose payload lies at `payload`, except for the kind and the
// digest.
inline void write_compact(uint8_t* payload, const CompactFields& f) noexcept {
  const uint64_t word = compact_word(f);
  std::memcpy(payload - sizeof(word), &word, sizeof(word));
}

[[nodiscard]] inline uint64_t compact_root(uint64_t digest, uint64_t nonce, uint64_t key) noexcept {
  return (bind_compact(digest, nonce, key) & ~uint64_t{0xff}) | key >> 56;
}

// Seals a frame written with write_compact(). `key`: compact_key() of its fields.
inline void seal_compact(uint8_t* payload, size_t length, uint64_t nonce, uint64_t key) noexcept {
  const uint64_t digest = merkle::hash(payload - sizeof(uint64_t), length + sizeof(uint64_t));
  const uint64_t root = compact_root(digest, nonce, key);
  std::memcpy(payload - kCompactHeader, &root, sizeof(root));
}

// The same where the frame has at most merkle::kShortHash bytes.
inline void seal_compact_short(uint8_t* payload, size_t length, uint64_t nonce,
                               uint64_t key) noexcept {
  const uint64_t digest = merkle::hash_short(payload - sizeof(uint64_t), length + sizeof(uint64_t));
  const uint64_t root = compact_root(digest, nonce, key);
  std::memcpy(payload - kCompactHeader, &root, sizeof(root));
}

// The same while copying the frame to `dest`: one pass over the bytes for both.
inline void seal_compact_copy(uint8_t* payload, void* dest, size_t length, uint64_t nonce,
                              uint64_t key) noexcept {
  auto* out = static_cast<uint8_t*>(dest);
  const uint64_t digest = merkle::copy_and_hash(out + sizeof(uint64_t), payload - sizeof(uint64_t),
                                                length + sizeof(uint64_t));
  const uint64_t root = compact_root(digest, nonce, key);
  std::memcpy(payload - kCompactHeader, &root, sizeof(root));
  std::memcpy(out, &root, sizeof(root));
}

// A received compact header. `psn` and `ack` hold 16 bits, to be widened by the receiver.
struct CompactView {
  uint64_t root;
  CompactFields fields;
};

// Precondition: at least kCompactHeader bytes at `data`.
[[nodiscard]] inline CompactView read_compact(const void* data) noexcept {
  uint64_t words[2];
  std::memcpy(words, data, sizeof(words));
  return {words[0],
          {static_cast<uint32_t>(words[1]) & kCompactLinkMask,
           static_cast<uint32_t>(words[1] >> 24) & 0xffff,
           static_cast<uint32_t>(words[1] >> 40) & 0xffff, static_cast<uint8_t>(words[1] >> 56),
           static_cast<uint8_t>(words[0])}};
}

// Of a frame whose header was read already.
[[nodiscard]] inline uint8_t compact_am_id(const void* data) noexcept {
  return static_cast<const uint8_t*>(data)[kCompactHeader - 1];
}

[[nodiscard]] inline bool well_formed(const CompactView& view) noexcept {
  return (view.fields.kind & ~kCompactAckRequest) == kCompactKind && view.fields.am_id < 32;
}

// `key`: compact_key() of the widened fields. Compares all but the kind's byte, which is part of
// the key.
[[nodiscard]] inline bool check_compact(const void* data, size_t size, const CompactView& view,
                                        uint64_t nonce, uint64_t key) noexcept {
  const uint64_t digest =
      merkle::hash(static_cast<const uint8_t*>(data) + sizeof(uint64_t), size - sizeof(uint64_t));
  return (bind_compact(digest, nonce, key) ^ view.root) >> 8 == 0;
}

// The 32-bit number next to `reference` that has these low 16 bits.
[[nodiscard]] inline uint32_t widen(uint32_t low, uint32_t reference) noexcept {
  return reference +
         static_cast<uint32_t>(static_cast<int32_t>(static_cast<int16_t>(low - reference)));
}

}  // namespace verity::wire

#endif
