// SPDX-License-Identifier: BSD-3-Clause
//
// Langou 2005, gfd: polynomials over GF(2^w), several at different points side by side.
#ifndef VERITY_TYPES_TABLES_GALOIS_H
#define VERITY_TYPES_TABLES_GALOIS_H

#include "types/tables/hash.h"

namespace verity::types::tables {

// GF(2^width), width up to 16, by logarithms to the base 2, which generates the field when
// `polynomial` (with its top bit) is primitive.
class Field {
 public:
  Field(unsigned width, uint32_t polynomial);

  // 2^width - 1: exponents, and so logarithms, count modulo this (not modulo 2^width).
  [[nodiscard]] uint32_t order() const noexcept { return order_; }
  // Whether the powers of 2 are all elements but zero.
  [[nodiscard]] bool primitive() const noexcept { return primitive_; }
  // 2^exponent.
  [[nodiscard]] uint32_t power(uint64_t exponent) const noexcept {
    return powers_[exponent % order_];
  }
  [[nodiscard]] uint32_t multiply(uint32_t a, uint32_t b) const noexcept {
    return a == 0 || b == 0 ? 0 : powers_[(uint32_t{logs_[a]} + logs_[b]) % order_];
  }
  // Precondition: b != 0.
  [[nodiscard]] uint32_t divide(uint32_t a, uint32_t b) const noexcept {
    return a == 0 ? 0 : powers_[(logs_[a] + order_ - logs_[b]) % order_];
  }

 private:
  uint32_t order_;
  bool primitive_ = true;
  // 16 bits: the tables of the larger fields are what a small cache has room for.
  std::vector<uint16_t> powers_;  // of each exponent below order_
  std::vector<uint16_t> logs_;    // of each element but 0
};

// `words` polynomials at alpha = 2, 4, 8, ..., each with coefficients x_0 ... x_(n-1) and exponents
// n - 1 ... 0 (equations (1) and (4) of the paper contradict its (6), and this is (6)):
//   concat(X, Y) = (f_X * alpha^(n_Y) + f_Y,  n_X + n_Y)
//   repeat(X, k) = (f_X * (alpha^(n k) - 1) / (alpha^n - 1),  n k),  k copies cancel if alpha^n = 1
//                                                                    and k is even
// width * words is 64 at most; the first word is in the lowest bits. Homogeneous types are 0 when
// 2^width - 1 divides n.
[[nodiscard]] HashPtr gfd(unsigned width, unsigned words, uint32_t polynomial);

}  // namespace verity::types::tables

#endif
