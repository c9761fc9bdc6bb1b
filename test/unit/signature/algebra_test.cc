// SPDX-License-Identifier: BSD-3-Clause
#include "signature/algebra.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "sim/rng.h"

namespace verity::signature {
namespace {

// The prime factors of p - 1, and how often each divides it.
constexpr std::pair<uint64_t, unsigned> kFactors[] = {{2, 1},  {3, 2},   {5, 2},   {7, 1},
                                                      {11, 1}, {13, 1},  {31, 1},  {41, 1},
                                                      {61, 1}, {151, 1}, {331, 1}, {1321, 1}};

bool is_primitive_root(uint64_t root) {
  for (const auto& [factor, times] : kFactors) {
    if (pow_mod(root, (kPrime - 1) / factor) == 1) return false;
  }
  return pow_mod(root, kPrime - 1) == 1;
}

Signature random_signature(sim::Rng& rng) {
  const uint64_t count = rng.below(1'000'000);
  return {count == 0 ? 0 : rng.below(kPrime), count};
}

TEST(SignatureAlgebra, TheBaseIsAPrimitiveRoot) {
  uint64_t product = 1;
  for (const auto& [factor, times] : kFactors) {
    for (uint64_t d = 2; d * d <= factor; ++d) ASSERT_NE(factor % d, 0u) << factor;
    for (unsigned i = 0; i < times; ++i) product *= factor;
  }
  ASSERT_EQ(product, kPrime - 1);
  EXPECT_TRUE(is_primitive_root(kBase));
  EXPECT_TRUE(is_primitive_root(37));
  EXPECT_FALSE(is_primitive_root(mul_mod(kBase, kBase)));
}

TEST(SignatureAlgebra, ArithmeticAtTheEdges) {
  EXPECT_EQ(add_mod(kPrime - 1, 1), 0u);
  EXPECT_EQ(sub_mod(0, 1), kPrime - 1);
  EXPECT_EQ(mul_mod(kPrime - 1, kPrime - 1), 1u);
  EXPECT_EQ(reduce(kPrime), 0u);
  EXPECT_EQ(reduce(~uint64_t{0}), ~uint64_t{0} % kPrime);
  sim::Rng rng(1);
  for (unsigned i = 0; i < 10'000; ++i) {
    const uint64_t a = rng.below(kPrime);
    const uint64_t b = rng.below(kPrime);
    ASSERT_EQ(mul_mod(a, b), static_cast<uint64_t>(Wide{a} * b % kPrime));
    ASSERT_EQ(sub_mod(add_mod(a, b), b), a);
    if (a != 0) { ASSERT_EQ(mul_mod(a, inverse_mod(a)), 1u); }
  }
}

TEST(SignatureAlgebra, PowersOfAnyExponent) {
  sim::Rng rng(2);
  for (unsigned i = 0; i < 10'000; ++i) {
    const uint64_t e = rng.next() >> rng.below(64);
    ASSERT_EQ(power(e), pow_mod(kBase, e)) << e;
  }
  EXPECT_EQ(power(0), 1u);
  EXPECT_EQ(power(kPrime - 1), 1u);
  EXPECT_EQ(power(~uint64_t{0}), pow_mod(kBase, ~uint64_t{0}));
}

TEST(SignatureAlgebra, ConcatenationIsAssociativeAndHasAnEmptyElement) {
  sim::Rng rng(3);
  for (unsigned i = 0; i < 10'000; ++i) {
    const Signature a = random_signature(rng);
    const Signature b = random_signature(rng);
    const Signature c = random_signature(rng);
    ASSERT_EQ(concat(concat(a, b), c), concat(a, concat(b, c)));
    ASSERT_EQ(concat(a, {}), a);
    ASSERT_EQ(concat({}, a), a);
  }
  EXPECT_NE(concat(basic(3), basic(4)), concat(basic(4), basic(3)));
}

TEST(SignatureAlgebra, RepetitionIsConcatenation) {
  sim::Rng rng(4);
  for (unsigned i = 0; i < 300; ++i) {
    const Signature one = i == 0 ? Signature{} : random_signature(rng);
    const Repeater repeater(one);
    Signature sum;
    for (uint64_t k = 0; k < 50; ++k) {
      ASSERT_EQ(repeater.repeat(k), sum);
      ASSERT_EQ(repeat(one, k), sum);
      sum = concat(sum, one);
    }
    // Larger ones by halves.
    const uint64_t k = rng.below(1'000'000);
    ASSERT_EQ(repeater.repeat(2 * k + 1),
              concat(concat(repeater.repeat(k), repeater.repeat(k)), one));
  }
}

TEST(SignatureAlgebra, RepetitionOfOneElement) {
  sim::Rng rng(5);
  for (unsigned i = 0; i < 1000; ++i) {
    const uint64_t code = rng.between(1, kPrime - 1);
    const uint64_t k = rng.next() >> rng.below(64);
    ASSERT_EQ(repeat_basic(code, k), repeat(basic(code), k));
  }
}

// r^n = 1 when p - 1 divides n: the quotient does not exist, each copy adds f.
TEST(SignatureAlgebra, RepetitionOfAWholePeriod) {
  const Signature period{12345, kPrime - 1};
  Signature sum;
  for (uint64_t k = 0; k < 8; ++k) {
    EXPECT_EQ(repeat(period, k), sum) << k;
    sum = concat(sum, period);
  }
}

TEST(SignatureAlgebra, CountsThatDoNotFitSaturate) {
  const Signature half{77, uint64_t{1} << 63};
  EXPECT_EQ(concat(half, half), kSaturated);
  EXPECT_EQ(repeat(half, 2), kSaturated);
  EXPECT_EQ(repeat(half, 1), half);
  EXPECT_EQ(repeat({5, 3}, ~uint64_t{0} / 3), kSaturated) << "2^64 - 1 itself means too many";
  EXPECT_EQ(repeat({5, 3}, ~uint64_t{0} / 3 - 1).count, ~uint64_t{0} - 3);
  EXPECT_EQ(concat(kSaturated, basic(1)), kSaturated);
  EXPECT_EQ(concat(kSaturated, {}), kSaturated);
  EXPECT_EQ(repeat(kSaturated, 7), kSaturated);
  EXPECT_EQ(repeat(kSaturated, 0), Signature{});
  EXPECT_TRUE(saturated(repeat_basic(9, ~uint64_t{0})));
}

// All sequences of up to 12 elements of two types, and of up to 7 of five.
TEST(SignatureAlgebra, SmallSequencesDoNotCollide) {
  for (const auto& [codes, longest] : {std::pair<uint64_t, unsigned>{2, 12}, {5, 7}}) {
    std::set<uint64_t> hashes;
    size_t sequences = 0;
    std::vector<Signature> last{{}};
    for (unsigned n = 0; n < longest; ++n) {
      std::vector<Signature> next;
      for (const Signature& s : last) {
        for (uint64_t code = 0; code < codes; ++code) {
          next.push_back(concat(s, basic(0x123456789abcdefull + code * 0x9e3779b97f4a7cull)));
          hashes.insert(next.back().hash);
          ++sequences;
        }
      }
      last = std::move(next);
    }
    EXPECT_EQ(hashes.size(), sequences);
  }
}

}  // namespace
}  // namespace verity::signature
