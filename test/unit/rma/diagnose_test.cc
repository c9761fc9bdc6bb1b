// SPDX-License-Identifier: BSD-3-Clause
// What is reported of damaged reads: each part once, with what was wrong in it, and whether the
// program did it.
#include <algorithm>
#include <set>
#include <utility>

#include "unit/rma/pair.h"

namespace verity::test {
namespace {

using health::FaultKind;
using health::Pattern;

constexpr unsigned kSegment = 256;
constexpr size_t kChunk = 16 * 1024;

class RmaDiagnose : public ::testing::Test, public RmaPair {
 protected:
  explicit RmaDiagnose(bool observe = false) : RmaPair({kChunk, 8, observe}) {}
  // The first `times` readings of byte `at` bring a wrong bit.
  void hurt(uint64_t at, unsigned times = 1) {
    reader.damage = [at, left = times](uint64_t offset, Message& bytes) mutable {
      if (at < offset || at >= offset + bytes.size() || left == 0) return;
      --left;
      bytes[at - offset] ^= 0x10;
    };
  }
  std::vector<uint8_t> memory = bytes_of(4 * kChunk);
  std::vector<uint8_t> target;
  uint64_t token = share(memory);
};

TEST_F(RmaDiagnose, NothingIsToldOfAGoodRead) {
  run(memory, target, token, 3);
  EXPECT_TRUE(reader.faults.empty());
}

TEST_F(RmaDiagnose, OneBitWhateverThePieces) {
  const uint64_t at = kChunk + 5000;
  for (unsigned pieces = 1; pieces < 6; ++pieces) {
    hurt(at);
    run(memory, target, token, pieces);
    ASSERT_EQ(reader.faults.size(), pieces);
    const RmaEnd::SeenFault& seen = reader.faults.back();
    EXPECT_EQ(seen.fault.offset, kChunk);
    EXPECT_EQ(seen.fault.length, kChunk);
    EXPECT_EQ(seen.fault.segments, 1u);
    EXPECT_EQ(seen.fault.attempts, 1u);
    EXPECT_EQ(seen.syndrome.pattern, Pattern::kSingleBit);
    EXPECT_EQ(seen.syndrome.bit[0], at * 8 + 4);
  }
}

TEST_F(RmaDiagnose, ZeroedLineAcrossTwoSegments) {
  reader.damage = [once = true](uint64_t offset, Message& bytes) mutable {
    if (!std::exchange(once, offset != 0)) return;
    if (offset == 0) std::fill_n(bytes.begin() + 2 * kSegment - 32, 64, uint8_t{0});
  };
  run(memory, target, token);
  ASSERT_EQ(reader.faults.size(), 1u);
  EXPECT_EQ(reader.faults[0].fault.segments, 2u);
  EXPECT_EQ(reader.faults[0].syndrome.pattern, Pattern::kZeroed);
  EXPECT_GE(reader.faults[0].syndrome.first, 2 * kSegment - 32u);
  EXPECT_LT(reader.faults[0].syndrome.last, 2 * kSegment + 32u);
}

// It stays wrong when read again, and comes in frames then.
TEST_F(RmaDiagnose, SameWrongBytesAgain) {
  hurt(300, 1000);
  run(memory, target, token);
  EXPECT_TRUE(target == memory);
  ASSERT_EQ(reader.faults.size(), 1u);
  EXPECT_EQ(reader.faults[0].fault.kind, FaultKind::kPersistent);
  EXPECT_EQ(reader.faults[0].syndrome.pattern, Pattern::kSingleBit);
  EXPECT_EQ(reader.faults[0].syndrome.bit[0], 300 * 8 + 4u);
}

TEST_F(RmaDiagnose, AProgramThatWritesMeanwhile) {
  reader.before_read = [this, n = 0u]() mutable {
    if (n++ == 0) memory[100] ^= 0xff;  // after the digest, before the bytes
  };
  run(memory, target, token);
  for (const RmaEnd::SeenFault& seen : reader.faults) {
    EXPECT_TRUE(seen.fault.kind == FaultKind::kSourceChanged ||
                seen.fault.kind == FaultKind::kAmbiguous);
    if (seen.fault.kind != FaultKind::kSourceChanged) continue;
    EXPECT_EQ(seen.syndrome.bits, 0u);
  }
}

TEST_F(RmaDiagnose, OnlySomeBytesAreKept) {
  memory = bytes_of(16 * kChunk);
  token = share(memory);
  reader.damage = [seen = std::set<uint64_t>()](uint64_t offset, Message& bytes) mutable {
    if (!seen.insert(offset).second) return;
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(~byte);
  };
  run(memory, target, token);
  EXPECT_TRUE(target == memory);
  ASSERT_EQ(reader.faults.size(), 16u);
  for (const RmaEnd::SeenFault& seen : reader.faults) {
    EXPECT_EQ(seen.fault.segments, kChunk / kSegment);
    EXPECT_LE(seen.syndrome.compared, rma::DamagedBytes::kKept);
    EXPECT_GT(seen.syndrome.bytes, 0u);
  }
}

class RmaObserve : public RmaDiagnose {
 protected:
  RmaObserve() : RmaDiagnose(true) {}
};

TEST_F(RmaObserve, IsToldWithoutASyndrome) {
  hurt(300);
  run(memory, target, token);
  ASSERT_EQ(reader.faults.size(), 1u);
  EXPECT_EQ(reader.faults[0].fault.kind, FaultKind::kAmbiguous);
  EXPECT_EQ(reader.faults[0].syndrome.bits, 0u);
}

}  // namespace
}  // namespace verity::test
