// SPDX-License-Identifier: BSD-3-Clause
#include "signature/describe.h"

#include <gtest/gtest.h>

#include <string>

#include "unit/signature/random.h"

namespace verity::signature {
namespace {

using Bytes = std::vector<uint8_t>;

Type leaf(const char* name) { return Type::leaf(named(name)); }

Bytes encoded(const Type& type, size_t capacity = 65536) {
  Bytes bytes(capacity);
  bytes.resize(encode(type, bytes.data(), capacity));
  return bytes;
}

const uint8_t kInt = id_MPI_INT;
const uint8_t kSignedLeaf = 0x80 | static_cast<uint8_t>(Class::kSigned);

// What decode() says is wrong; "" for nothing.
std::string wrong_with(const Bytes& bytes) {
  Type type = leaf("MPI_CHAR");
  const char* wrong = decode(bytes, &type);
  if (wrong != nullptr) {
    EXPECT_EQ(type.basic(), named("MPI_CHAR")) << "the output is set only on success";
  }
  return wrong == nullptr ? "" : wrong;
}

TEST(SignatureDescribe, Words) {
  const Type::Item pair[] = {{leaf("MPI_INT"), 1}, {leaf("MPI_DOUBLE"), 3}};
  EXPECT_EQ(describe(leaf("MPI_INT"), 100), "100 x MPI_INT");
  EXPECT_EQ(describe(Type::repeat(leaf("MPI_INT"), 20), 5), "100 x MPI_INT");
  EXPECT_EQ(describe(leaf("MPI_INT"), 1), "1 x MPI_INT");
  EXPECT_EQ(describe(Type::sequence(pair), 50), "50 x {MPI_INT, 3 x MPI_DOUBLE}");
  EXPECT_EQ(describe(Type::leaf(named("MPI_INTEGER", 8)), 2), "2 x MPI_INTEGER of 8 bytes");
  EXPECT_EQ(describe(Type(), 5), "nothing");
  EXPECT_EQ(describe(leaf("MPI_INT"), 0), "nothing");
}

TEST(SignatureDescribe, LongTypesAreCut) {
  std::vector<Type::Item> items;
  for (unsigned i = 0; i < 1000; ++i)
    items.push_back({leaf(i % 2 == 0 ? "MPI_INT" : "MPI_DOUBLE"), i + 1});
  const std::string words = describe(Type::sequence(items), 3, 60);
  EXPECT_EQ(words.rfind("3 x {MPI_INT, 2 x MPI_DOUBLE, 3 x MPI_INT, ", 0), 0u) << words;
  EXPECT_EQ(words.substr(words.size() - 6), ", ...}") << words;
  EXPECT_LT(words.size(), 100u);
}

TEST(SignatureDescribe, BytesStay) {
  const Type::Item pair[] = {{leaf("MPI_INT"), 1}, {leaf("MPI_DOUBLE"), 300}};
  const Bytes wanted{2, 1, 0x81, id_MPI_INT, 4, 0xac, 0x02, 0x83, id_MPI_DOUBLE, 8};
  EXPECT_EQ(encoded(Type::sequence(pair)), wanted);
  EXPECT_EQ(encoded(Type()), Bytes{0});
}

TEST(SignatureDescribe, RoundTrips) {
  sim::Rng rng(1);
  for (unsigned round = 0; round < 5000; ++round) {
    const Sample s = random_sample(rng, 7, 400, true);
    const Bytes bytes = encoded(s.type, 4096);
    ASSERT_FALSE(bytes.empty());
    Type back;
    ASSERT_EQ(decode(bytes, &back), nullptr);
    for (const Level level : kBothLevels)
      ASSERT_EQ(back.signature(3, level), s.type.signature(3, level));
    ASSERT_EQ(back.bytes(), s.type.bytes());
    ASSERT_EQ(back.basic(), s.type.basic());
    ASSERT_EQ(describe(back, 2, 100'000), describe(s.type, 2, 100'000));
    // It fits just so, or not at all.
    ASSERT_EQ(encoded(s.type, bytes.size()), bytes);
    ASSERT_EQ(encoded(s.type, bytes.size() - 1).size(), 0u);
  }
}

TEST(SignatureDescribe, LongSequencesRoundTrip) {
  for (const unsigned fields : {126, 127, 128, 20'000}) {
    std::vector<Type::Item> items;
    for (unsigned i = 0; i < fields; ++i)
      items.push_back({leaf(i % 2 == 0 ? "MPI_INT" : "MPI_DOUBLE"), 1});
    const Type type = Type::sequence(items);
    ASSERT_EQ(type.node().part_count, fields);
    Type back;
    ASSERT_EQ(decode(encoded(type, 200'000), &back), nullptr);
    EXPECT_EQ(back.signature(1, Level::kNames), type.signature(1, Level::kNames));
  }
}

TEST(SignatureDescribe, TheErrorNamesTheField) {
  const auto starts = [](const Bytes& bytes, const char* field) {
    const std::string wrong = wrong_with(bytes);
    return wrong.rfind(field, 0) == 0 ? testing::AssertionSuccess()
                                      : testing::AssertionFailure() << "says: " << wrong;
  };
  EXPECT_TRUE(starts({}, "node:"));
  EXPECT_TRUE(starts({2, 1, kSignedLeaf, kInt, 4, 1}, "node:"));
  EXPECT_TRUE(starts({1}, "fields:"));
  EXPECT_TRUE(starts({1, 1, 1}, "fields:"));
  EXPECT_TRUE(starts({kSignedLeaf}, "basic type:"));
  EXPECT_TRUE(starts({kSignedLeaf, kInt}, "size:"));
  EXPECT_TRUE(starts({kSignedLeaf, kInt, 0}, "basic type:"));
  EXPECT_TRUE(starts({kSignedLeaf, kInt, kMaxBasicSize + 1}, "basic type:"));
  EXPECT_TRUE(starts({kSignedLeaf, 200, 4}, "basic type:"));
  EXPECT_TRUE(starts({0x80 | 3, kInt, 4}, "class:"));
  EXPECT_TRUE(starts({0xff, kInt, 4}, "class:"));
  EXPECT_TRUE(starts({kSignedLeaf, kInt, 4, 0}, "length:"));
  EXPECT_TRUE(starts({kSignedLeaf, kInt, 0x84, 0}, "size:")) << "not the shortest form";
  EXPECT_TRUE(starts({1, 0, kSignedLeaf, kInt, 4}, "copies:"));
  EXPECT_TRUE(starts({2, 1, kSignedLeaf, kInt, 4}, "copies:"));
  EXPECT_TRUE(
      starts({1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02, kSignedLeaf, kInt, 4},
             "copies:"));
  EXPECT_TRUE(starts(
      {1, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, kSignedLeaf, kInt, 4},
      "copies:"));
  EXPECT_TRUE(starts({126, 1, kSignedLeaf, kInt, 4}, "fields:"));
  EXPECT_TRUE(starts({0x7f, 0x7e, 1, kSignedLeaf, kInt, 4}, "fields:"));
  EXPECT_TRUE(
      starts({0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01}, "fields:"));
  EXPECT_EQ(wrong_with({kSignedLeaf, kInt, 4}), "");
}

Bytes nested(unsigned depth) {
  Bytes bytes;
  for (unsigned i = 1; i < depth; ++i) bytes.insert(bytes.end(), {1, 2});
  bytes.insert(bytes.end(), {kSignedLeaf, kInt, 4});
  return bytes;
}

TEST(SignatureDescribe, DepthIsBounded) {
  EXPECT_EQ(wrong_with(nested(kMaxDescriptionDepth)), "");
  EXPECT_EQ(wrong_with(nested(kMaxDescriptionDepth + 1)).rfind("depth:", 0), 0u);
  EXPECT_EQ(wrong_with(nested(1'000'000)).rfind("depth:", 0), 0u);
}

TEST(SignatureDescribe, CountsFromAnywhereDoNotOverflow) {
  Bytes bytes;
  for (unsigned i = 0; i < 20; ++i) {
    bytes.insert(bytes.end(), {1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01});
  }
  bytes.insert(bytes.end(), {kSignedLeaf, kInt, 4});
  Type type;
  ASSERT_EQ(decode(bytes, &type), nullptr);
  EXPECT_EQ(type.count(), kTooMany);
  EXPECT_FALSE(describe(type, 2).empty());
}

// Equal neighbours are one part where 64 bits hold both numbers.
TEST(SignatureDescribe, CountsOfNeighboursDoNotOverflow) {
  const Type::Item items[] = {{leaf("MPI_INT"), 1}, {leaf("MPI_INT"), UINT64_MAX}};
  const Type type = Type::sequence(items);
  ASSERT_EQ(type.node().parts().size(), 2u);
  EXPECT_EQ(type.node().parts()[0].copies, 1u);
  EXPECT_EQ(wrong_with(encoded(type)), "");
}

TEST(SignatureDescribe, CutOrChangedBytesAreNoDanger) {
  sim::Rng rng(2);
  for (unsigned round = 0; round < 300; ++round) {
    Bytes bytes = encoded(random_sample(rng, 5, 100).type, 2048);
    for (size_t n = 0; n < bytes.size(); ++n) {
      ASSERT_NE(wrong_with(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n))),
                "");
    }
    bytes[rng.below(bytes.size())] = static_cast<uint8_t>(rng.next());
    Type type;
    if (decode(bytes, &type) == nullptr) { EXPECT_FALSE(describe(type, 1).empty()); }
  }
}

}  // namespace
}  // namespace verity::signature
