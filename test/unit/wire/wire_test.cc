// SPDX-License-Identifier: BSD-3-Clause
// Sealing and checking frames: what is right is found right, and any change is found.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/rng.h"
#include "wire/address.h"
#include "wire/codec.h"
#include "wire/compact.h"

namespace verity::wire {
namespace {

constexpr uint64_t kNonce = 0x1234567890abcdefull;

FrameHeader header_for(size_t length, unsigned segment_log2, FrameKind kind = FrameKind::kData) {
  FrameHeader h{};
  h.link = 0x01000005;
  h.psn = 0xfffffffe;
  h.ack = 17;
  h.length = static_cast<uint32_t>(length);
  h.kind = kind_byte(kind);
  h.am_id = am_byte(13, Class::kAsync);
  h.segment = segment_byte(segment_log2);
  if (kind == FrameKind::kData && length > (size_t{1} << segment_log2)) h.flags |= kTree;
  return h;
}

std::vector<uint8_t> hello_of(unsigned device, unsigned iface) {
  HelloExt ext{};
  ext.uid = 77;
  ext.epoch = 3;
  ext.link = 9;
  ext.mode = 2;
  ext.device_length = static_cast<uint8_t>(device);
  ext.iface_length = static_cast<uint8_t>(iface);
  std::vector<uint8_t> bytes(sizeof(ext) + device + iface + sizeof(uint64_t), 0x42);
  std::memcpy(bytes.data(), &ext, sizeof(ext));
  seal_hello(bytes.data(), bytes.size(), kNonce);
  return bytes;
}

std::vector<uint8_t> frame_of(size_t length, unsigned segment_log2,
                              FrameKind kind = FrameKind::kData,
                              const std::vector<uint8_t>& hello = {}) {
  std::vector<uint8_t> bytes(sizeof(FrameHeader) + length);
  sim::Rng rng(length);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(rng.next());
  bytes.insert(bytes.end(), hello.begin(), hello.end());
  FrameHeader h = header_for(length, segment_log2, kind);
  if (!hello.empty()) h.flags |= kHello;
  const util::Piece payload{bytes.data() + sizeof(h), length};
  if ((h.flags & kTree) != 0) {
    seal_tree(&h, {&payload, 1}, kNonce);
    std::memcpy(bytes.data(), &h, sizeof(h));
  } else {
    std::memcpy(bytes.data(), &h, sizeof(h));
    seal_single(reinterpret_cast<FrameHeader*>(bytes.data()), bytes.size(), kNonce);
  }
  return bytes;
}

Verdict verdict_of(const std::vector<uint8_t>& bytes, uint64_t nonce = kNonce) {
  // Of just this size, for AddressSanitizer.
  const std::vector<uint8_t> copy(bytes);
  FrameView view;
  const Verdict parsed = parse(copy.data(), copy.size(), &view);
  return parsed == Verdict::kGood ? check(copy.data(), copy.size(), view, nonce) : parsed;
}

void flip(std::vector<uint8_t>& bytes, size_t bit) {
  bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] ^ (1u << bit % 8));
}

TEST(Wire, AllLengthsAreRight) {
  for (size_t length = 0; length < 700; ++length) {
    for (const FrameKind kind : {FrameKind::kData, FrameKind::kNack, FrameKind::kRepair}) {
      ASSERT_EQ(verdict_of(frame_of(length, 8, kind)), Verdict::kGood) << length;
    }
    ASSERT_EQ(
        verdict_of(frame_of(length, 8, FrameKind::kData, hello_of(length % 64, length % 128))),
        Verdict::kGood);
  }
}

TEST(Wire, TreesOfAllSizesAreRight) {
  for (unsigned log2 = kMinSegmentLog2; log2 <= 11; ++log2) {
    const size_t segment = size_t{1} << log2;
    for (size_t leaves = 2; leaves <= kMaxFrameLeaves; leaves = leaves * 3 / 2 + 1) {
      for (const size_t last : {size_t{1}, segment / 2 + 1, segment}) {
        ASSERT_EQ(verdict_of(frame_of((leaves - 1) * segment + last, log2)), Verdict::kGood)
            << leaves;
      }
    }
    ASSERT_EQ(verdict_of(frame_of(kMaxFrameLeaves * segment, log2)), Verdict::kGood);
    ASSERT_EQ(verdict_of(frame_of(kMaxFrameLeaves * segment + 1, log2)), Verdict::kMalformed);
  }
}

TEST(Wire, EachBitOfShortFramesMatters) {
  for (const size_t length : {0, 1, 7, 8, 9, 40, 128, 129, 240, 241, 256, 257, 300, 600}) {
    for (const bool greet : {false, true}) {
      const std::vector<uint8_t> right =
          frame_of(length, 8, FrameKind::kData, greet ? hello_of(3, 5) : std::vector<uint8_t>{});
      for (size_t bit = 0; bit < right.size() * 8; ++bit) {
        std::vector<uint8_t> wrong = right;
        flip(wrong, bit);
        ASSERT_NE(verdict_of(wrong), Verdict::kGood) << length << ' ' << bit;
      }
    }
  }
}

TEST(Wire, AnyDamageOfLongFramesIsFound) {
  sim::Rng rng(5);
  for (unsigned round = 0; round < 30; ++round) {
    const auto log2 = static_cast<unsigned>(rng.between(8, 13));
    const size_t length = rng.below(std::min<size_t>(200'000, size_t{kMaxFrameLeaves} << log2));
    const std::vector<uint8_t> right = frame_of(length, log2);
    for (unsigned i = 0; i < 100; ++i) {
      std::vector<uint8_t> wrong = right;
      for (uint64_t n = rng.between(1, 8); n != 0; --n) flip(wrong, rng.below(wrong.size() * 8));
      if (wrong == right) continue;
      ASSERT_NE(verdict_of(wrong), Verdict::kGood);
    }
  }
}

TEST(Wire, SegmentsMayNotChangePlaces) {
  std::vector<uint8_t> frame = frame_of(1024, 8);
  std::swap_ranges(frame.begin() + 32, frame.begin() + 32 + 256, frame.begin() + 32 + 512);
  EXPECT_EQ(verdict_of(frame), Verdict::kBadPayload);
}

TEST(Wire, WhatIsDamagedIsTold) {
  std::vector<uint8_t> frame = frame_of(1024, 8, FrameKind::kData, hello_of(3, 5));
  std::vector<uint8_t> header = frame;
  header[offsetof(FrameHeader, ack)] ^= 1;
  EXPECT_EQ(verdict_of(header), Verdict::kBadHeader);
  std::vector<uint8_t> payload = frame;
  payload[sizeof(FrameHeader) + 1000] ^= 1;
  EXPECT_EQ(verdict_of(payload), Verdict::kBadPayload);
  std::vector<uint8_t> hello = frame;
  hello[sizeof(FrameHeader) + 1024] ^= 1;
  EXPECT_EQ(verdict_of(hello), Verdict::kBadHello);
  frame.push_back(0);
  EXPECT_EQ(verdict_of(frame), Verdict::kBadLength);
  EXPECT_EQ(verdict_of({}), Verdict::kMalformed);
  EXPECT_EQ(verdict_of(std::vector<uint8_t>(31)), Verdict::kMalformed);
}

TEST(Wire, AnyTruncationOrExtensionIsFound) {
  for (const size_t length : {0, 5, 256, 700}) {
    const std::vector<uint8_t> right = frame_of(length, 8);
    for (size_t size = 0; size < right.size() + 50; ++size) {
      std::vector<uint8_t> wrong = right;
      wrong.resize(size);
      if (size == right.size()) continue;
      ASSERT_NE(verdict_of(wrong), Verdict::kGood);
    }
  }
}

TEST(Wire, NonceBindsBothEndsDirectionAndClass) {
  const std::vector<uint8_t> frame = frame_of(100, 8);
  const std::vector<uint8_t> tree = frame_of(1000, 8);
  for (unsigned bit = 0; bit < 64; ++bit) {
    EXPECT_NE(verdict_of(frame, kNonce ^ (uint64_t{1} << bit)), Verdict::kGood);
    EXPECT_NE(verdict_of(tree, kNonce ^ (uint64_t{1} << bit)), Verdict::kGood);
  }
  EXPECT_NE(nonce(1, 2, Class::kSync), nonce(2, 1, Class::kSync));
  EXPECT_NE(nonce(1, 2, Class::kSync), nonce(1, 2, Class::kAsync));
  EXPECT_NE(nonce(1, 2, Class::kSync), nonce(1, 3, Class::kSync));
}

TEST(Wire, PiecesSealAsOneBuffer) {
  const std::vector<uint8_t> whole = frame_of(200, 8);
  FrameHeader h = header_for(200, 8);
  const uint8_t* at = whole.data() + sizeof(h);
  const util::Piece pieces[] = {{at, 0}, {at, 1}, {at + 1, 99}, {nullptr, 0}, {at + 100, 100}};
  seal_single(&h, pieces, kNonce);
  EXPECT_EQ(std::memcmp(&h, whole.data(), sizeof(h)), 0);
  std::vector<uint8_t> copied(whole.size());
  std::vector<uint8_t> source = whole;
  seal_copy(reinterpret_cast<FrameHeader*>(source.data()), copied.data(), source.size(), kNonce);
  EXPECT_EQ(copied, whole);
}

// Reserved bits and unknown values are refused even when the digest fits.
TEST(Wire, ReservedBitsAreRefused) {
  const auto refused = [](auto&& change) {
    std::vector<uint8_t> frame = frame_of(10, 8);
    auto* h = reinterpret_cast<FrameHeader*>(frame.data());
    change(*h);
    seal_single(h, frame.size(), kNonce);
    return verdict_of(frame) == Verdict::kMalformed;
  };
  EXPECT_TRUE(refused([](FrameHeader& h) { h.kind = 0xb0; }));
  EXPECT_TRUE(refused([](FrameHeader& h) { h.kind = 0xb7; }));
  EXPECT_TRUE(refused([](FrameHeader& h) { h.kind = 0xa1; }));
  EXPECT_TRUE(refused([](FrameHeader& h) { h.flags |= 0x40; }));
  EXPECT_TRUE(refused([](FrameHeader& h) { h.flags |= kTree; }));
  EXPECT_TRUE(refused([](FrameHeader& h) { h.am_id |= 0x20; }));
  EXPECT_TRUE(refused([](FrameHeader& h) { h.am_id |= 0x40; }));
  EXPECT_TRUE(refused([](FrameHeader& h) { h.segment = 0x10; }));
  EXPECT_TRUE(refused([](FrameHeader& h) { h.segment = 0x29; }));
  EXPECT_FALSE(refused([](FrameHeader&) {}));
}

// A data frame above one segment must be a tree: else a REPAIR could claim any size.
TEST(Wire, LongDataFramesAreTrees) {
  std::vector<uint8_t> frame = frame_of(257, 8);
  auto* h = reinterpret_cast<FrameHeader*>(frame.data());
  h->flags = 0;
  seal_single(h, frame.size(), kNonce);
  EXPECT_EQ(verdict_of(frame), Verdict::kMalformed);
}

TEST(Wire, HelloLengthsMustAddUp) {
  for (unsigned device : {0u, 63u, 64u, 255u}) {
    for (unsigned iface : {0u, 127u, 128u, 255u}) {
      const bool fits = device <= kMaxDeviceAddress && iface <= kMaxIfaceAddress;
      EXPECT_EQ(verdict_of(frame_of(5, 8, FrameKind::kAck, hello_of(device, iface))),
                fits ? Verdict::kGood : Verdict::kBadLength);
    }
  }
}

TEST(Wire, ReservedBytesOfAHelloAreZero) {
  for (const size_t at : {offsetof(HelloExt, reserved), offsetof(HelloExt, reserved) + 2,
                          offsetof(HelloExt, reserved2), sizeof(HelloExt) - 1}) {
    std::vector<uint8_t> hello = hello_of(3, 5);
    hello[at] = 1;
    seal_hello(hello.data(), hello.size(), kNonce);
    EXPECT_EQ(verdict_of(frame_of(5, 8, FrameKind::kAck, hello)), Verdict::kBadLength) << at;
  }
}

// Other versions look for the version where it is.
TEST(Wire, AddressesAreAsDrawn) {
  const AddressTail tail{kAddressMagic,      kVersion,     0x32, 0x04030201,
                         0x1817161514131211, {1, 22, 203}, 0};
  std::vector<uint8_t> bytes(sizeof(tail));
  std::memcpy(bytes.data(), &tail, sizeof(tail));
  EXPECT_EQ(bytes, (std::vector<uint8_t>{0x79, 0x76, kVersion, 0x32, 1,    2,    3, 4,  0x11, 0x12,
                                         0x13, 0x14, 0x15,     0x16, 0x17, 0x18, 1, 22, 203,  0}));
  EXPECT_EQ(offsetof(EpAddressTail, link), 20u);
  EXPECT_EQ(offsetof(EpAddressTail, host), 24u);
}

TEST(Wire, InterfacesOfOneWorkerAreTold) {
  constexpr uint64_t kWorker = 0xa1b2c3d4e5f60700;
  for (uint64_t number : {uint64_t{0}, uint64_t{1}, kMostInterfaces})
    EXPECT_EQ(worker_of(kWorker + number), kWorker);
  for (unsigned bit = 8; bit < 64; ++bit)
    EXPECT_NE(worker_of(kWorker ^ uint64_t{1} << bit), kWorker);
}

CompactFields compact_fields() { return {0xab123456, 0x1fffe, 0x4004d, 21, kCompactKind}; }

std::vector<uint8_t> compact_of(size_t length) {
  std::vector<uint8_t> frame(kCompactHeader + length);
  sim::Rng rng(length);
  for (uint8_t& byte : frame) byte = static_cast<uint8_t>(rng.next());
  write_compact(frame.data() + kCompactHeader, compact_fields());
  seal_compact(frame.data() + kCompactHeader, length, kNonce, compact_key(compact_fields()));
  return frame;
}

// `full`: what the receiver takes the abbreviated fields for; the others are the frame's.
bool good_compact(const std::vector<uint8_t>& bytes, const CompactFields& full,
                  uint64_t nonce = kNonce) {
  const std::vector<uint8_t> copy(bytes);
  const CompactView view = read_compact(copy.data());
  const CompactFields& f = view.fields;
  const CompactFields fields{(full.link & ~kCompactLinkMask) | f.link,
                             (full.psn & ~0xffffu) | f.psn, (full.ack & ~0xffffu) | f.ack, f.am_id,
                             f.kind};
  return well_formed(view) && (full.psn & 0xffff) == f.psn &&
         check_compact(copy.data(), copy.size(), view, nonce, compact_key(fields));
}

TEST(Wire, CompactFramesBindEverything) {
  // Of each way that XXH3 takes, which hashes eight bytes more than the payload.
  for (size_t length : {0, 1, 8, 9, 40, 120, 121, 232, 233, 248, 249, 600}) {
    const CompactFields f = compact_fields();
    const std::vector<uint8_t> right = compact_of(length);
    ASSERT_TRUE(good_compact(right, f));
    for (unsigned bit = 0; bit < 64; ++bit)
      EXPECT_FALSE(good_compact(right, f, kNonce ^ (uint64_t{1} << bit)));
    for (unsigned bit = 0; bit < 32; ++bit) {
      const uint32_t change = 1u << bit;
      EXPECT_FALSE(good_compact(right, {f.link, f.psn ^ change, f.ack, f.am_id, f.kind})) << bit;
      const CompactFields other_ack{f.link, f.psn, f.ack ^ change, f.am_id, f.kind};
      EXPECT_TRUE(bit < 16 || !good_compact(right, other_ack)) << bit;
      const CompactFields other_link{f.link ^ change, f.psn, f.ack, f.am_id, f.kind};
      EXPECT_TRUE(bit < 24 || !good_compact(right, other_link)) << bit;
    }
    for (size_t bit = 0; bit < right.size() * 8; ++bit) {
      std::vector<uint8_t> wrong = right;
      flip(wrong, bit);
      EXPECT_FALSE(good_compact(wrong, f)) << length << ' ' << bit;
    }
    for (size_t size = kCompactHeader; size < right.size() + 50; ++size) {
      std::vector<uint8_t> wrong = right;
      wrong.resize(size);
      EXPECT_EQ(good_compact(wrong, f), size == right.size()) << length << ' ' << size;
    }
  }
}

TEST(Wire, CompactFramesOfAllLengthsAreRight) {
  for (size_t length = 0; length < 700; ++length) {
    std::vector<uint8_t> frame = compact_of(length);
    ASSERT_TRUE(good_compact(frame, compact_fields())) << length;
    std::vector<uint8_t> copied(frame.size());
    seal_compact_copy(frame.data() + kCompactHeader, copied.data(), length, kNonce,
                      compact_key(compact_fields()));
    ASSERT_EQ(copied, frame) << length;
    const CompactFields read = read_compact(frame.data()).fields;
    EXPECT_EQ(read.link, compact_fields().link & kCompactLinkMask);
    EXPECT_EQ(read.psn, compact_fields().psn & 0xffff);
    EXPECT_EQ(read.ack, compact_fields().ack & 0xffff);
    EXPECT_EQ(read.am_id, compact_fields().am_id);
  }
}

TEST(Wire, AnyDamageOfLongCompactFramesIsFound) {
  sim::Rng rng(6);
  for (unsigned round = 0; round < 30; ++round) {
    const std::vector<uint8_t> right = compact_of(rng.below(65536));
    for (unsigned i = 0; i < 50; ++i) {
      std::vector<uint8_t> wrong = right;
      for (uint64_t n = rng.between(1, 8); n != 0; --n) flip(wrong, rng.below(wrong.size() * 8));
      if (wrong == right) continue;
      ASSERT_FALSE(good_compact(wrong, compact_fields()));
    }
  }
}

TEST(Wire, ReservedBitsOfCompactFramesAreRefused) {
  for (unsigned kind = 0; kind < 256; ++kind) {
    for (const unsigned am_id : {0u, 31u, 32u, 64u, 128u}) {
      const CompactView view{0, {1, 2, 3, static_cast<uint8_t>(am_id), static_cast<uint8_t>(kind)}};
      EXPECT_EQ(well_formed(view), (kind == 0xc0 || kind == 0xc1) && am_id < 32)
          << kind << ' ' << am_id;
    }
  }
}

TEST(Wire, NumbersWiden) {
  for (const uint32_t reference : {0u, 1u, 0x7fffu, 0x8000u, 0xffffu, 0x12345678u, 0xfffffff0u}) {
    for (int32_t offset = -32768; offset < 32768; offset += 257) {
      const uint32_t number = reference + static_cast<uint32_t>(offset);
      ASSERT_EQ(widen(number & 0xffff, reference), number);
    }
  }
}

}  // namespace
}  // namespace verity::wire
