// SPDX-License-Identifier: BSD-3-Clause
// The signature of a sequence of basic types: a hash of their order and their number, (f, n), with
// an associative, non-commutative concatenation (Gropp, "Runtime checking of datatype signatures in
// MPI", 2000; Langou, Bosilca, Fagg, Dongarra, "Hash functions for datatype signatures in MPI",
// 2005). The hash is the polynomial
//
//   f(x_1 ... x_n) = sum x_i * r^(n - i)  modulo p = 2^61 - 1
//
// over the codes of the types, so that the signature of a concatenation comes from the parts, and
// that of k copies from one, in a time that does not depend on how many elements there are. All
// functions are pure, thread-safe and do not allocate.
#ifndef VERITY_SIGNATURE_ALGEBRA_H
#define VERITY_SIGNATURE_ALGEBRA_H

#include <cstdint>

namespace verity::signature {

inline constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;
// A primitive root modulo kPrime (a test checks it): its powers repeat only after p - 1 elements.
inline constexpr uint64_t kBase = 0x0f3a9c57d1e2b846ull;
// A number of elements that 64 bits do not hold: the signature then says nothing, see saturated().
inline constexpr uint64_t kTooMany = ~uint64_t{0};

__extension__ typedef unsigned __int128 Wide;

// Arithmetic modulo kPrime; operands and results are less than kPrime.
[[nodiscard]] constexpr uint64_t add_mod(uint64_t a, uint64_t b) noexcept {
  const uint64_t sum = a + b;
  return sum >= kPrime ? sum - kPrime : sum;
}
[[nodiscard]] constexpr uint64_t sub_mod(uint64_t a, uint64_t b) noexcept {
  return a >= b ? a - b : a + kPrime - b;
}
[[nodiscard]] constexpr uint64_t reduce(uint64_t a) noexcept {
  const uint64_t folded = (a & kPrime) + (a >> 61);
  return folded >= kPrime ? folded - kPrime : folded;
}
[[nodiscard]] constexpr uint64_t mul_mod(uint64_t a, uint64_t b) noexcept {
  const Wide product = Wide{a} * b;
  return add_mod(static_cast<uint64_t>(product) & kPrime, static_cast<uint64_t>(product >> 61));
}
[[nodiscard]] constexpr uint64_t pow_mod(uint64_t a, uint64_t e) noexcept {
  uint64_t result = 1;
  for (; e != 0; e >>= 1, a = mul_mod(a, a)) {
    if ((e & 1) != 0) result = mul_mod(result, a);
  }
  return result;
}
// a must not be 0.
[[nodiscard]] constexpr uint64_t inverse_mod(uint64_t a) noexcept { return pow_mod(a, kPrime - 2); }

// kPowers[b][v] = kBase ^ (v * 256^b).
struct Powers {
  uint64_t at[8][256];
};
extern const Powers kPowers;

// kBase ^ e for any e: a table look-up and a multiplication for each byte of e that is in use.
[[nodiscard]] inline uint64_t power(uint64_t e) noexcept {
  uint64_t result = kPowers.at[0][e & 0xff];
  for (unsigned byte = 1; (e >>= 8) != 0; ++byte)
    result = mul_mod(result, kPowers.at[byte][e & 0xff]);
  return result;
}

// Of a sequence of `count` basic types; {0, 0} is the empty one.
struct Signature {
  uint64_t hash = 0;
  uint64_t count = 0;
  friend constexpr bool operator==(const Signature&, const Signature&) noexcept = default;
};

// The number of elements does not fit 64 bits: the hash is 0 and means nothing. Whatever is made
// from it is saturated too.
inline constexpr Signature kSaturated{0, kTooMany};
[[nodiscard]] constexpr bool saturated(const Signature& s) noexcept { return s.count == kTooMany; }

// Of one element. `code` must be less than kPrime, and should not be 0.
[[nodiscard]] constexpr Signature basic(uint64_t code) noexcept { return {code, 1}; }

// Of a followed by b. Associative; not commutative.
[[nodiscard]] inline Signature concat(const Signature& a, const Signature& b) noexcept {
  uint64_t count;
  if (__builtin_add_overflow(a.count, b.count, &count) || count == kTooMany) return kSaturated;
  return {add_mod(mul_mod(a.hash, power(b.count)), b.hash), count};
}

// Makes the signatures of k copies of one sequence: f * (r^(n k) - 1) / (r^n - 1). The division is
// done once, in the constructor (about 120 multiplications); repeat() is one power and one
// multiplication.
class Repeater {
 public:
  constexpr Repeater() noexcept = default;
  explicit Repeater(const Signature& one) noexcept;

  [[nodiscard]] const Signature& one() const noexcept { return one_; }
  // Of k copies.
  [[nodiscard]] Signature repeat(uint64_t k) const noexcept {
    uint64_t count;
    if (__builtin_mul_overflow(one_.count, k, &count) || count == kTooMany) return kSaturated;
    if (periodic_) return {mul_mod(one_.hash, reduce(k)), count};
    return {mul_mod(quotient_, sub_mod(power(count), 1)), count};
  }

 private:
  Signature one_;
  uint64_t quotient_ = 0;  // f / (r^n - 1)
  bool periodic_ = false;  // n is a multiple of p - 1: r^n = 1, each copy adds f
};

// Of k elements of one type. Precondition as of basic().
[[nodiscard]] inline Signature repeat_basic(uint64_t code, uint64_t k) noexcept {
  constexpr uint64_t kQuotient = inverse_mod(kBase - 1);
  if (k == kTooMany) return kSaturated;
  return {mul_mod(mul_mod(code, kQuotient), sub_mod(power(k), 1)), k};
}

// Of k copies, for one use: costs a division.
[[nodiscard]] inline Signature repeat(const Signature& one, uint64_t k) noexcept {
  return Repeater(one).repeat(k);
}

}  // namespace verity::signature

#endif
