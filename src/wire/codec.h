// SPDX-License-Identifier: BSD-3-Clause
// Sealing frames before they are sent and checking them as they arrive. Pure functions of bytes;
// thread-safe.
#ifndef VERITY_WIRE_CODEC_H
#define VERITY_WIRE_CODEC_H

#include <cstring>
#include <string_view>

#include "merkle/hash.h"
#include "util/bytes.h"
#include "wire/frame.h"

namespace verity::wire {

// What a received frame turned out to be.
enum class Verdict : uint8_t {
  kGood,
  kMalformed,   // too short, wrong magic or version, reserved bits set, unknown kind or flag:
                // nothing in it is trusted
  kBadLength,   // the header's lengths do not add up to the received length
  kBadFrame,    // single-hash frame: header or payload differ, which of them is not known
  kBadHeader,   // tree frame: the header differs
  kBadPayload,  // tree frame: the header is right, the payload differs
  kBadHello,    // tree frame: header right, HELLO extension differs
};

[[nodiscard]] std::string_view to_string(Verdict verdict) noexcept;

// A parsed frame; pointers go into the received bytes.
struct FrameView {
  FrameHeader header;
  const uint8_t* payload;
  const uint8_t* hello;  // nullptr when there is none
  size_t hello_length;   // bytes, its digest included
};

// The nonce of frames of class `c` from the interface `source` to the interface `target`.
[[nodiscard]] uint64_t nonce(uint64_t source, uint64_t target, Class c) noexcept;

[[nodiscard]] constexpr uint8_t kind_byte(FrameKind kind) noexcept {
  return static_cast<uint8_t>(kMagic << 4 | static_cast<uint8_t>(kind));
}
[[nodiscard]] constexpr uint8_t am_byte(uint8_t am_id, Class c) noexcept {
  return static_cast<uint8_t>((am_id & 0x1f) | static_cast<uint8_t>(c) << 7);
}
[[nodiscard]] constexpr uint8_t segment_byte(unsigned segment_log2) noexcept {
  return static_cast<uint8_t>(kVersion << 4 | (segment_log2 - kMinSegmentLog2));
}

// The digest of a tree frame's header (bytes 12 to 31); its low half is the header check.
[[nodiscard]] inline uint64_t header_digest(const FrameHeader& header, uint64_t nonce) noexcept {
  return merkle::mix(merkle::hash(&header.link, sizeof(header) - offsetof(FrameHeader, link)),
                     nonce);
}

// Sets root and check of the single-hash frame of `size` contiguous bytes at `header`. All other
// fields are set.
inline void seal_single(FrameHeader* header, size_t size, uint64_t nonce) noexcept {
  header->check = 0;
  header->root =
      merkle::mix(merkle::hash(&header->check, size - offsetof(FrameHeader, check)), nonce);
}

// Seals the frame while copying it to `dest`: one pass over the bytes for both.
inline void seal_copy(FrameHeader* header, void* dest, size_t size, uint64_t nonce) noexcept {
  auto* out = static_cast<uint8_t*>(dest);
  constexpr size_t kFrom = offsetof(FrameHeader, check);
  header->check = 0;
  header->root =
      merkle::mix(merkle::copy_and_hash(out + kFrom, &header->check, size - kFrom), nonce);
  std::memcpy(out, &header->root, sizeof(header->root));
}

// The same for a frame whose bytes after the header lie in pieces (zero copy; the HELLO is the last
// of them).
void seal_single(FrameHeader* header, util::Pieces rest, uint64_t nonce) noexcept;

// Sets root and check of a tree frame with the given payload (a HELLO carries its own digest).
void seal_tree(FrameHeader* header, util::Pieces payload, uint64_t nonce) noexcept;

// The root that a tree frame with this header has when its payload's Merkle root is `tree_root`.
[[nodiscard]] inline uint64_t bind_tree(uint64_t tree_root, uint64_t digest_of_header) noexcept {
  return merkle::mix(tree_root, digest_of_header);
}

// Writes the digest after the HELLO extension of `size` bytes (digest included) at `hello`.
void seal_hello(void* hello, size_t size, uint64_t nonce) noexcept;

// Checks the structure of a received frame without hashing: kGood, kMalformed or kBadLength. Fills
// the view as far as kGood.
[[nodiscard]] Verdict parse(const void* data, size_t size, FrameView* view) noexcept;

// Whether a header that travelled inside of a REPAIR is one that a data frame may have.
[[nodiscard]] bool is_data_header(const FrameHeader& header) noexcept;

// Checks the digests of a parsed frame of `size` bytes at `data`.
[[nodiscard]] Verdict check(const void* data, size_t size, const FrameView& view,
                            uint64_t nonce) noexcept;

// Whether `payload` is the one that the tree or single-hash header of the data frame `header` was
// sealed with. Frames that carried a HELLO and a single hash cannot be checked so: false.
[[nodiscard]] bool check_rebuilt(const FrameHeader& header, const void* payload,
                                 uint64_t nonce) noexcept;

// The HELLO of a parsed frame: bounds are checked by parse(). The addresses point into the frame.
struct HelloView {
  HelloExt ext;
  const uint8_t* device_address;
  const uint8_t* iface_address;
};
[[nodiscard]] HelloView read_hello(const FrameView& view) noexcept;

// The frame is plain data for an established link: the fast path's test, true for nearly every
// frame. `size` must be at least sizeof(FrameHeader).
[[nodiscard]] inline bool is_plain_data(const FrameHeader& header, size_t size) noexcept {
  return header.kind == kind_byte(FrameKind::kData) && (header.flags & ~kAckRequest) == 0 &&
         sizeof(FrameHeader) + size_t{header.length} == size && (header.am_id & 0x60) == 0;
}

// Checks the digest of a frame for which is_plain_data() holds.
[[nodiscard]] inline bool check_plain_data(const void* data, size_t size, uint64_t nonce) noexcept {
  uint64_t root;
  std::memcpy(&root, data, sizeof(root));
  const auto* bytes = static_cast<const uint8_t*>(data) + offsetof(FrameHeader, check);
  return merkle::mix(merkle::hash(bytes, size - offsetof(FrameHeader, check)), nonce) == root;
}

}  // namespace verity::wire

#endif
