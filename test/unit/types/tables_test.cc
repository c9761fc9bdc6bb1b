// SPDX-License-Identifier: BSD-3-Clause
//
// The published hashes: what they claim, and the defects that are known of them.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "types/tables/crc.h"
#include "types/tables/galois.h"
#include "types/tables/hash.h"
#include "types/tables/rotate.h"

namespace verity::types::tables {
namespace {

using Codes = std::vector<uint8_t>;

Codes random_codes(std::mt19937& random, std::size_t longest) {
  Codes codes(random() % (longest + 1));
  for (uint8_t& code : codes) code = static_cast<uint8_t>(1 + random() % 13);
  return codes;
}

Value flat(const Hash& hash, const Codes& codes) {
  Value value;
  for (const uint8_t code : codes) {
    value = value.count == 0 ? hash.basic(code) : hash.concat(value, hash.basic(code));
  }
  return value;
}

// The same sequence, split at random places.
Value tree(const Hash& hash, const Codes& codes, std::mt19937& random) {
  if (codes.size() < 2) return flat(hash, codes);
  const auto cut = static_cast<std::ptrdiff_t>(1 + random() % (codes.size() - 1));
  return hash.concat(tree(hash, Codes(codes.begin(), codes.begin() + cut), random),
                     tree(hash, Codes(codes.begin() + cut, codes.end()), random));
}

// From the formula: xor of the elements, each rotated by the number of those behind it.
uint64_t xor_bs1_by_formula(const Codes& codes, unsigned width) {
  uint64_t sum = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      if ((codes[i] >> bit & 1) != 0) sum ^= 1ULL << ((bit + codes.size() - 1 - i) % width);
    }
  }
  return sum;
}

// From the formula: sum of the elements times 2^(elements behind), modulo 2^width - 1.
uint64_t mmm_bs1_by_formula(const Codes& codes, unsigned width) {
  const uint64_t modulus = (1ULL << width) - 1;
  uint64_t sum = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    sum += codes[i] * (1ULL << ((codes.size() - 1 - i) % width));
  }
  return sum % modulus;
}

// Multiplication in GF(2^width) without logarithms.
uint32_t gf_multiply(uint32_t a, uint32_t b, unsigned width, uint32_t polynomial) {
  uint32_t product = 0;
  for (; b != 0; b >>= 1) {
    if ((b & 1) != 0) product ^= a;
    a <<= 1;
    if ((a >> width) != 0) a ^= polynomial;
  }
  return product;
}

TEST(SignaturePublished, NamesAreUniqueAndEachHashSaysWhereItComesFrom) {
  std::set<std::string> names;
  for (const HashPtr& hash : all_hashes()) {
    EXPECT_TRUE(names.insert(hash->traits().name).second) << hash->traits().name;
    EXPECT_FALSE(hash->traits().source.empty());
    EXPECT_LE(hash->traits().bits, 64U);
  }
  EXPECT_EQ(names.size(), 21U);
}

TEST(SignaturePublished, HowATypeIsBuiltDoesNotMatterWhereThatIsClaimed) {
  std::mt19937 random(1);
  for (const HashPtr& hash : all_hashes()) {
    if (!hash->traits().algebraic) continue;
    for (int trial = 0; trial < 300; ++trial) {
      const Codes codes = random_codes(random, 90);
      ASSERT_EQ(tree(*hash, codes, random), flat(*hash, codes)) << hash->traits().name;
    }
  }
}

TEST(SignaturePublished, ConcatenationIsAssociativeWithTheEmptySequenceAsItsOne) {
  std::mt19937 random(2);
  for (const HashPtr& hash : all_hashes()) {
    for (int trial = 0; trial < 300; ++trial) {
      const Value a = flat(*hash, random_codes(random, 50));
      const Value b = flat(*hash, random_codes(random, 50));
      const Value c = flat(*hash, random_codes(random, 50));
      ASSERT_EQ(hash->concat(a, Value{}), a) << hash->traits().name;
      ASSERT_EQ(hash->concat(Value{}, a), a) << hash->traits().name;
      if (!hash->traits().algebraic) continue;
      ASSERT_EQ(hash->concat(hash->concat(a, b), c), hash->concat(a, hash->concat(b, c)))
          << hash->traits().name;
    }
  }
}

TEST(SignaturePublished, OrderMatters) {
  for (const HashPtr& hash : all_hashes()) {
    for (uint8_t x = 1; x <= 13; ++x) {
      for (uint8_t y = 1; y <= 13; ++y) {
        if (x == y) continue;
        ASSERT_NE(flat(*hash, {x, y}), flat(*hash, {y, x})) << hash->traits().name;
      }
    }
  }
}

TEST(SignaturePublished, RepeatIsThatManyConcatenations) {
  std::mt19937 random(3);
  for (const HashPtr& hash : all_hashes()) {
    // Lengths that the words' widths and the fields' orders divide, too.
    for (const std::size_t length : {1U, 2U, 3U, 5U, 8U, 15U, 16U, 17U, 32U, 51U, 85U, 255U}) {
      Codes codes(length);
      for (uint8_t& code : codes) code = static_cast<uint8_t>(1 + random() % 13);
      const Value one = flat(*hash, codes);
      Value sum;
      for (uint64_t k = 0; k <= 300; ++k) {
        ASSERT_EQ(hash->repeat(one, k), sum) << hash->traits().name << " " << length << " x " << k;
        sum = k == 0 ? one : hash->concat(sum, one);
      }
    }
  }
}

TEST(SignaturePublished, RepeatOfManyCopiesIsRepeatOfRepeats) {
  for (const HashPtr& hash : all_hashes()) {
    if (hash->traits().repeat != Growth::kConstant) continue;
    const Value one = flat(*hash, {3, 1, 7});
    const Value many = hash->repeat(one, 65521ULL * 65519ULL);
    EXPECT_EQ(many, hash->repeat(hash->repeat(one, 65521), 65519)) << hash->traits().name;
    EXPECT_EQ(many.count, 3 * 65521ULL * 65519ULL);
  }
}

TEST(SignaturePublished, RotatingHashesAreThoseOfTheFormulas) {
  std::mt19937 random(4);
  for (int trial = 0; trial < 500; ++trial) {
    const Codes codes = random_codes(random, 100);
    EXPECT_EQ(flat(*xor_bs1(16), codes).hash, xor_bs1_by_formula(codes, 16));
    EXPECT_EQ(flat(*mmm_bs1(16), codes).hash, mmm_bs1_by_formula(codes, 16));
    // Gropp rotates by what is in front: the same of the sequence read backwards.
    EXPECT_EQ(flat(*gropp_xor(32), codes).hash,
              xor_bs1_by_formula(Codes(codes.rbegin(), codes.rend()), 32));
  }
}

TEST(SignaturePublished, GfdIsAPolynomialAtSeveralPoints) {
  const HashPtr hash = gfd(8, 4, 0x11D);
  std::mt19937 random(5);
  for (int trial = 0; trial < 200; ++trial) {
    const Codes codes = random_codes(random, 300);
    uint64_t expected = 0;
    uint32_t point = 1;
    for (unsigned word = 0; word < 4; ++word) {
      point = gf_multiply(point, 2, 8, 0x11D);
      uint32_t sum = 0;
      for (const uint8_t code : codes) sum = gf_multiply(sum, point, 8, 0x11D) ^ code;
      expected |= static_cast<uint64_t>(sum) << (8 * word);
    }
    ASSERT_EQ(flat(*hash, codes).hash, expected);
  }
}

TEST(SignaturePublished, TheFieldsArePrimitive) {
  EXPECT_TRUE(Field(8, 0x11D).primitive());
  EXPECT_TRUE(Field(8, 0x187).primitive());
  EXPECT_TRUE(Field(16, 0x1100B).primitive());
  EXPECT_TRUE(Field(16, 0x1002D).primitive());
  EXPECT_FALSE(Field(8, 0x11B).primitive());  // irreducible, but 2 has order 51
}

TEST(SignaturePublished, FieldMultipliesAndDivides) {
  const Field field(8, 0x187);
  for (uint32_t a = 0; a < 256; ++a) {
    for (uint32_t b = 0; b < 256; ++b) {
      const uint32_t product = field.multiply(a, b);
      ASSERT_EQ(product, gf_multiply(a, b, 8, 0x187)) << a << " * " << b;
      if (b == 0) continue;
      ASSERT_EQ(field.divide(product, b), a) << a << " * " << b;
    }
  }
}

TEST(SignaturePublished, CrcsHaveTheCatalogueCheckValues) {
  const Codes digits = {'1', '2', '3', '4', '5', '6', '7', '8', '9'};
  const HashPtr ccitt = crc16_ccitt();
  EXPECT_EQ(flat(*ccitt, digits).hash, 0x31C3U);
  EXPECT_EQ(ccitt->concat({0xFFFF, 0}, flat(*ccitt, digits)).hash, 0x29B1U);
  const HashPtr crc = crc32();
  EXPECT_EQ(crc->concat({0xFFFFFFFF, 0}, flat(*crc, digits)).hash ^ 0xFFFFFFFFU, 0xCBF43926U);
}

// For each n up to 1000: the hash of n equal elements is 0 exactly when `period` divides n.
void expect_zero_every(const HashPtr& hash, uint64_t period, uint8_t code) {
  Value value;
  for (uint64_t n = 1; n <= 1000; ++n) {
    value = n == 1 ? hash->basic(code) : hash->concat(value, hash->basic(code));
    ASSERT_EQ(value.hash == 0, n % period == 0) << hash->traits().name << ", n = " << n;
    ASSERT_EQ(hash->repeat(hash->basic(code), n), value) << hash->traits().name;
  }
}

TEST(SignaturePublished, HomogeneousTypesVanishAtThePeriods) {
  for (uint8_t code = 1; code <= 13; ++code) {
    // 7 of 1 to 13 have an odd number of ones: all bits set after `width`, none after twice that.
    if (__builtin_popcount(code) % 2 == 1) expect_zero_every(xor_bs1(16), 32, code);
    expect_zero_every(mmm_bs1(16), 16, code);
    expect_zero_every(gfd(8, 1, 0x11D), 255, code);
    expect_zero_every(gfd(8, 2, 0x187), 255, code);
    expect_zero_every(gfd(8, 4, 0x11D), 255, code);
  }
  // A code with an even number of ones vanishes twice as often.
  expect_zero_every(xor_bs1(16), 16, 3);
}

TEST(SignaturePublished, TheNewHashesHaveNoSuchPeriod) {
  for (const HashPtr& hash : all_hashes()) {
    if (hash->traits().source != "this project") continue;
    for (uint64_t n = 1; n <= 100000; ++n) {
      ASSERT_NE(hash->repeat(hash->basic(1), n).hash, 0U) << n;
    }
  }
}

TEST(SignaturePublished, GroppsAdditionIsNotAssociative) {
  const HashPtr hash = gropp_add(32);
  ASSERT_FALSE(hash->traits().algebraic);
  // Rotated by one, the carry of 2^31 + 2^31 would have come back as 1; added, it was lost.
  const Value a{0, 1}, b{0x80000000, 32}, c{0x80000000, 32};
  EXPECT_EQ(hash->concat(hash->concat(a, b), c).hash, 2U);
  EXPECT_EQ(hash->concat(a, hash->concat(b, c)).hash, 0U);
}

TEST(SignaturePublished, GroppsAdditionFlagsCorrectPrograms) {
  std::mt19937 random(6);
  for (const unsigned width : {16U, 32U}) {
    const HashPtr hash = gropp_add(width);
    int differ = 0;
    for (int trial = 0; trial < 1000; ++trial) {
      Codes codes = random_codes(random, 40);
      codes.resize(100, 5);
      differ += flat(*hash, codes) != tree(*hash, codes, random);
    }
    EXPECT_GT(differ, 500) << width;
  }
}

}  // namespace
}  // namespace verity::types::tables
