// SPDX-License-Identifier: BSD-3-Clause
#include "merkle/hash.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "unit/merkle/bytes.h"

namespace verity::merkle {
namespace {

using test::Bytes;
using test::cut;
using util::Pieces;

// The whole of XXH3 as compiled into this file, without vector code: independent of the kernels.
Digest reference(const void* data, size_t length) { return XXH3_64bits(data, length); }

class MerkleHash : public testing::TestWithParam<const Kernel*> {
 protected:
  const Kernel& kernel() const { return *GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Kernels, MerkleHash,
                         testing::ValuesIn(supported_kernels().begin(), supported_kernels().end()),
                         [](const auto& kernel) { return std::string(kernel.param->name); });

struct Published {
  size_t length;
  Digest digest;
};

// From libxxhash; the buffer and the first values are those of xxHash's own sanity check.
constexpr Published kPublished[] = {
    {0, 0x2d06800538d394c2U},     {1, 0xc44bdff4074eecdbU},    {3, 0x54247382a8d6b94dU},
    {4, 0xe5dc74bc51848a51U},     {8, 0x24ccc9acaa9f65e4U},    {9, 0x14d5001c15dd3f2bU},
    {16, 0x981b17d36c7498c9U},    {17, 0x796f5acd3a60f862U},   {40, 0x70fb5c84cb108b82U},
    {128, 0xfcff24126754d861U},   {129, 0x98f1b0a679a2ca29U},  {240, 0x81c3c2b67f568ccfU},
    {241, 0xc5a639ecd2030e5eU},   {256, 0x55de574ad89d0ac5U},  {257, 0xb17fd5a8ae75bb0bU},
    {511, 0x8089715b163e7fc0U},   {512, 0x617e49599013cb6bU},  {1024, 0xdd85c9b5c1109c5cU},
    {1025, 0xd870c0fa13211c6aU},  {2048, 0xdd59e2c3a5f038e0U}, {2367, 0xcb37aeb9e5d361edU},
    {4096, 0xe91206429d1f48f9U},  {8192, 0xd63690a28889a350U}, {65536, 0x918f7f0f912ca480U},
    {70000, 0x1f8d9e4a592b32baU},
};

TEST_P(MerkleHash, GivesPublishedValues) {
  const Bytes bytes = test::xxhash_bytes(70000);
  for (const Published& known : kPublished) {
    EXPECT_EQ(hash(kernel(), bytes.data(), known.length), known.digest) << known.length;
    EXPECT_EQ(reference(bytes.data(), known.length), known.digest) << known.length;
  }
}

TEST_P(MerkleHash, EveryLengthAtEveryAlignment) {
  const Bytes bytes = test::xxhash_bytes(2100);
  for (size_t length = 0; length <= 2000; ++length) {
    for (const size_t start : {0, 1, 3, 7, 31, 63}) {
      const void* at = bytes.data() + start;
      ASSERT_EQ(hash(kernel(), at, length), reference(at, length)) << length << " at " << start;
    }
  }
}

// Kernels take blocks of 16 stripes of 64 bytes in one way and the stripes after them in another.
TEST_P(MerkleHash, LengthsAroundEveryBlock) {
  const Bytes bytes = test::xxhash_bytes(20 * 1024 + 200);
  for (size_t blocks = 1; blocks <= 20; ++blocks) {
    for (const int more : {-65, -64, -63, -1, 0, 1, 63, 64, 65}) {
      const size_t length = blocks * 1024 + static_cast<size_t>(more);
      for (const size_t start : {0, 1, 8, 33, 63}) {
        const std::span<const uint8_t> whole(bytes.data() + start, length);
        const Digest expected = reference(whole.data(), length);
        ASSERT_EQ(hash(kernel(), whole.data(), length), expected) << length << " at " << start;
        ASSERT_EQ(hash(kernel(), Pieces(cut(whole, {length / 3}))), expected) << length;
      }
    }
  }
}

TEST_P(MerkleHash, NoBytesIsOneValueHoweverGiven) {
  const Digest empty = reference(nullptr, 0);
  EXPECT_EQ(hash(kernel(), nullptr, 0), empty);
  EXPECT_EQ(hash(kernel(), Pieces{}), empty);
  const util::Piece nothing[2] = {{nullptr, 0}, {nullptr, 0}};
  EXPECT_EQ(hash(kernel(), Pieces(nothing)), empty);
  EXPECT_EQ(copy_and_hash(kernel(), nullptr, nullptr, 0), empty);
}

TEST_P(MerkleHash, PiecesCutAnywhereHashAsTheWhole) {
  const Bytes bytes = test::xxhash_bytes(3000);
  for (const size_t length : {1, 2, 16, 17, 128, 240, 241, 256, 511, 512, 513, 1024, 1025, 2500}) {
    const std::span<const uint8_t> whole(bytes.data() + 1, length);
    const Digest expected = reference(whole.data(), length);
    for (size_t at = 0; at <= length; ++at) {
      ASSERT_EQ(hash(kernel(), Pieces(cut(whole, {at}))), expected) << length << " cut at " << at;
      const size_t second = at + (length - at) / 3;
      ASSERT_EQ(hash(kernel(), Pieces(cut(whole, {at, at, second}))), expected)
          << length << " " << at;
    }
  }
}

TEST_P(MerkleHash, ManySmallPieces) {
  const Bytes bytes = test::xxhash_bytes(9000);
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<size_t> cuts;
    for (size_t at = random() % 50; at < bytes.size(); at += random() % (2 + round)) {
      cuts.push_back(at);
    }
    ASSERT_EQ(hash(kernel(), Pieces(cut(bytes, cuts))), reference(bytes.data(), bytes.size()));
  }
}

TEST_P(MerkleHash, RangesOfPieces) {
  const Bytes bytes = test::xxhash_bytes(5000);
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    const size_t first = random() % bytes.size();
    const size_t second = first + random() % (bytes.size() - first);
    const size_t offset = random() % bytes.size();
    const size_t length = random() % (bytes.size() - offset + 1);
    ASSERT_EQ(hash_range(kernel(), cut(bytes, {first, second}), offset, length),
              reference(bytes.data() + offset, length))
        << first << ' ' << second << ' ' << offset << ' ' << length;
  }
}

TEST_P(MerkleHash, RangePastTheEndReadsNothingThere) {
  const Bytes bytes = test::xxhash_bytes(1000);
  for (const size_t at : {0, 1, 500, 1000}) {
    const auto pieces = cut(bytes, {at});
    EXPECT_EQ(hash_range(kernel(), pieces, 0, 5000), reference(bytes.data(), 1000));
    EXPECT_EQ(hash_range(kernel(), pieces, 900, 200), reference(bytes.data() + 900, 100));
    EXPECT_EQ(hash_range(kernel(), pieces, 1000, 1), reference(nullptr, 0));
    EXPECT_EQ(hash_range(kernel(), pieces, SIZE_MAX, 1), reference(nullptr, 0));
  }
}

TEST_P(MerkleHash, CopyAndHashCopiesAndHashes) {
  const Bytes bytes = test::xxhash_bytes(100100);
  std::vector<size_t> lengths = {4095, 4096, 4097, 16383, 16384, 16385, 65536, 100000};
  for (size_t length = 0; length <= 2100; ++length) { lengths.push_back(length); }
  for (const size_t length : lengths) {
    for (const size_t start : {0, 3}) {
      Bytes out(length + 2, 0xee);
      ASSERT_EQ(copy_and_hash(kernel(), out.data() + 1, bytes.data() + start, length),
                reference(bytes.data() + start, length));
      ASSERT_TRUE(std::equal(out.begin() + 1, out.end() - 1,
                             bytes.begin() + static_cast<ptrdiff_t>(start)));
      ASSERT_EQ(out.front(), 0xee);
      ASSERT_EQ(out.back(), 0xee);
    }
  }
}

TEST_P(MerkleHash, EveryFlippedBitShows) {
  for (const size_t length : {1, 8, 17, 40, 129, 240, 241, 256, 512, 1025, 1500}) {
    Bytes bytes = test::xxhash_bytes(length);
    std::set<Digest> seen{hash(kernel(), bytes.data(), length)};
    for (size_t bit = 0; bit < 8 * length; ++bit) {
      test::flip(bytes, bit);
      ASSERT_TRUE(seen.insert(hash(kernel(), bytes.data(), length)).second) << length << ' ' << bit;
      test::flip(bytes, bit);
    }
  }
}

// More than 4 GiB of untouched memory cost page tables only. One bit beyond 4 GiB must count, and
// lengths must not be cut to 32 bits anywhere.
TEST_P(MerkleHash, MoreThanFourGiB) {
  constexpr size_t kFourGiB = size_t{4} << 30;
  constexpr size_t kLength = kFourGiB + 4099;
  void* const memory = mmap(nullptr, kLength, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) { GTEST_SKIP() << "no 4 GiB of address space here"; }
  madvise(memory, kLength, MADV_HUGEPAGE);  // one shared page of zeros serves 2 MiB: faster
  auto* const bytes = static_cast<uint8_t*>(memory);
  const auto pieces = cut({bytes, kLength}, {77, kFourGiB + 5});
  const Digest zeros = hash(kernel(), bytes, kLength);
  EXPECT_NE(zeros, hash(kernel(), bytes, kLength - kFourGiB));
  bytes[kLength - 100] = 1;
  const Digest changed = hash(kernel(), Pieces(pieces));
  EXPECT_NE(changed, zeros);
  bytes[kLength - 100] = 0;
  EXPECT_EQ(hash(kernel(), Pieces(pieces)), zeros);
  munmap(memory, kLength);
}

TEST(MerkleDispatch, ChoosesOneOfTheSupportedKernels) {
  const auto kernels = supported_kernels();
  ASSERT_FALSE(kernels.empty());
  EXPECT_EQ(kernels.front(), &kKernelBaseline);
  EXPECT_NE(std::find(kernels.begin(), kernels.end(), &active_kernel()), kernels.end());
  EXPECT_STREQ(dispatch_name(), active_kernel().name);
  RecordProperty("kernel", dispatch_name());
}

TEST(MerkleDispatch, DefaultAgreesWithAnExplicitKernel) {
  const Bytes bytes = test::xxhash_bytes(5000);
  const auto pieces = cut(bytes, {1234});
  const Digest expected = reference(bytes.data(), bytes.size());
  EXPECT_EQ(hash(bytes.data(), bytes.size()), expected);
  EXPECT_EQ(hash(Pieces(pieces)), expected);
  EXPECT_EQ(hash_range(pieces, 0, bytes.size()), expected);
  Bytes out(bytes.size());
  EXPECT_EQ(copy_and_hash(out.data(), bytes.data(), bytes.size()), expected);
  EXPECT_EQ(out, bytes);
}

TEST(MerkleMix, DependsOnBothWordsAndTheirOrder) {
  std::set<Digest> seen;
  const std::vector<Digest> words = {0, 1, 2, UINT64_MAX, 1ULL << 63, 0x9e3779b185ebca87U};
  for (const Digest a : words) {
    for (const Digest b : words) {
      EXPECT_NE(mix(a, b), 0U);
      EXPECT_TRUE(seen.insert(mix(a, b)).second) << a << ' ' << b;
    }
  }
}

TEST(MerkleMix, EveryBitChangesAboutHalfOfTheResult) {
  std::mt19937_64 random(3);
  uint64_t changed = 0;
  constexpr int kRounds = 500;
  for (int round = 0; round < kRounds; ++round) {
    const Digest a = random();
    const Digest b = random();
    for (int bit = 0; bit < 64; ++bit) {
      changed += static_cast<uint64_t>(std::popcount(mix(a, b) ^ mix(a ^ (1ULL << bit), b)));
      changed += static_cast<uint64_t>(std::popcount(mix(a, b) ^ mix(a, b ^ (1ULL << bit))));
    }
  }
  const double average = static_cast<double>(changed) / (kRounds * 128);
  EXPECT_NEAR(average, 32.0, 0.2);
}

}  // namespace
}  // namespace verity::merkle
