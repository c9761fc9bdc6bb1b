// SPDX-License-Identifier: BSD-3-Clause
//
// Hashes that rotate words of `width` bits (at most 32).
#ifndef VERITY_TYPES_TABLES_ROTATE_H
#define VERITY_TYPES_TABLES_ROTATE_H

#include "types/tables/hash.h"

namespace verity::types::tables {

// Gropp 2000, xor: f = x_0 ^ rot(x_1, 1) ^ rot(x_2, 2) ...
//   concat(X, Y) = (f_X ^ rot(f_Y, n_X), n_X + n_Y)
[[nodiscard]] HashPtr gropp_xor(unsigned width);

// Gropp 2000, the row with the fewest collisions: '+' modulo 2^width in place of xor. Rotation does
// not distribute over '+', as a carry out of the top bit is lost: concat is not associative, and
// one signature has as many values as there are ways to build it. Never to be used for checking.
[[nodiscard]] HashPtr gropp_add(unsigned width);

// Langou 2005, xor-bs1: the last element is the one that is not rotated.
//   concat(X, Y) = (rot(f_X, n_Y) ^ f_Y, n_X + n_Y)
// Homogeneous types are 0 when 2 * width divides n.
[[nodiscard]] HashPtr xor_bs1(unsigned width);

// Langou 2005, mmm-bs1: '+' modulo 2^width - 1, where a rotation by one is a multiplication by 2,
// so that this one is associative. Homogeneous types are 0 when width divides n.
[[nodiscard]] HashPtr mmm_bs1(unsigned width);

}  // namespace verity::types::tables

#endif
