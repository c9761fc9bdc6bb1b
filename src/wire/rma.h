// SPDX-License-Identifier: BSD-3-Clause
// Messages of remote memory access: payloads of data frames whose active message number is kRmaId.
// Being in frames they are checked, repaired and kept in order like every other; here is only what
// they say.
//
//    0       1       2       3       4       5       6       7
//   +-------+-------+-------+-------+-------+-------+-------+-------+
//   | kind  | what  |segment|   0   |              id               |   all
//   +-------+-------+-------+-------+-------+-------+-------+-------+
//   |                             token                             |   PUT, GET, HASH
//   |                            address                            |
//   +-------+-------+-------+-------+-------+-------+-------+-------+
//   |            length             |             known             |   GET (known 0), HASH
//   +-------+-------+-------+-------+-------+-------+-------+-------+
//
// - PUT: the rest are the bytes that the owner writes to its memory at `address`. Not answered but
//   when refused.
// - GET asks for `length` bytes of the owner's memory. Answer: GOT, the rest are the bytes; several
//   of them (RmaPart) where the owner's messages are shorter.
// - HASH asks for the digest of that memory in segments of 2^(8 + segment) bytes. Answer: HASHED,
//   followed by the Merkle root, or with `what` = kLeaves by an index (8 bytes) and the digests of
//   the leaves from that one on; the answer may come in several messages.
// - `known`, with kLeaves: the low half of the root that the owner gave before, which did not fit
//   what was read. If it is another one now, the owner's own program wrote to that memory
//   meanwhile, and the owner can say so.
// - ATOMIC: the owner does what `what` says (RmaAtomic) with 4 or 8 aligned bytes of its memory,
//   `segment` being 2 or 3. With the fetch bit the answer is GOT, with what was there before.
// - `what`, of a request: what is wanted; of an answer: RmaStatus.
// - `id`: what the asking side gave the request; the answer carries it back.
// - `token`: of the registration that the peer gave us with its remote key. It stands for a range,
//   and for what may be done with it.
#ifndef VERITY_WIRE_RMA_H
#define VERITY_WIRE_RMA_H

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "wire/am_ids.h"
#include "wire/frame.h"

namespace verity::wire {

enum class RmaKind : uint8_t {
  kPut = 1,
  kGet = 2,
  kGot = 3,
  kHash = 4,
  kHashed = 5,
  kRefused = 6,
  kAtomic = 7
};

enum class RmaStatus : uint8_t {
  kOk = 0,
  kRefused = 1,  // no such token (any more), outside of its memory, not allowed, or not understood
  kUnreadable = 2,  // the owner's program took the memory away under its registration
  kBusy = 3,        // too many requests, or no memory, at the owner or here
  kRevoked = 4,  // of writes only: the owner's program has deregistered that memory since it gave
                 // the token out
};

// HASH wants: the root, or all leaves.
inline constexpr uint8_t kRoot = 0;
inline constexpr uint8_t kLeaves = 1;

// The most leaves of one HASH.
inline constexpr uint32_t kMaxHashLeaves = 512;

struct RmaHeader {
  uint8_t kind;
  uint8_t what;
  uint8_t segment;
  uint8_t zero;
  uint32_t id;
};
static_assert(sizeof(RmaHeader) == 8);

struct RmaPut {
  RmaHeader header;
  uint64_t token;
  uint64_t address;
};
static_assert(sizeof(RmaPut) == 24);

struct RmaRequest {
  RmaHeader header;
  uint64_t token;
  uint64_t address;
  uint32_t length;
  uint32_t known;
};
static_assert(sizeof(RmaRequest) == 32);

// Numbers as UCX's.
enum class AtomicOp : uint8_t {
  kAdd = 0,
  kAnd = 1,
  kOr = 2,
  kXor = 3,
  kSwap = 4,
  kCompareSwap = 5
};
inline constexpr uint8_t kAtomicFetch = 0x80;

struct RmaAtomic {
  RmaHeader header;
  uint64_t token;
  uint64_t address;
  uint64_t value;
  uint64_t compare;  // of kCompareSwap
};
static_assert(sizeof(RmaAtomic) == 40);

struct RmaLeaves {
  RmaHeader header;
  uint64_t first;
};
static_assert(sizeof(RmaLeaves) == 16);

// A GOT with `segment` = kPart: behind it the bytes from that one on.
struct RmaPart {
  RmaHeader header;
  uint64_t first;
};
static_assert(sizeof(RmaPart) == 16);
inline constexpr uint8_t kPart = 1;

// False when the message is too short for it.
template <typename Message>
[[nodiscard]] bool read_message(const uint8_t* data, size_t length, Message* out) noexcept {
  if (length < sizeof(*out)) return false;
  std::memcpy(out, data, sizeof(*out));
  return true;
}

// What a HASH may ask for.
[[nodiscard]] inline bool is_valid_hash(const RmaRequest& r) noexcept {
  if (r.header.segment > kMaxSegmentLog2 - kMinSegmentLog2 || r.length == 0) return false;
  return ((r.length - 1) >> (r.header.segment + kMinSegmentLog2)) < kMaxHashLeaves &&
         r.header.what <= kLeaves;
}

[[nodiscard]] inline bool is_valid_atomic(const RmaAtomic& a) noexcept {
  const unsigned log2 = a.header.segment;
  return (log2 == 2 || log2 == 3) && a.address % (1u << log2) == 0 &&
         (a.header.what & ~kAtomicFetch) <= static_cast<uint8_t>(AtomicOp::kCompareSwap);
}

}  // namespace verity::wire

#endif
