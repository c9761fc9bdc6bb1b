// SPDX-License-Identifier: BSD-3-Clause
#include "signature/algebra.h"

namespace verity::signature {

namespace {

constexpr Powers make_powers() noexcept {
  Powers powers{};
  uint64_t step = kBase;
  for (auto& row : powers.at) {
    row[0] = 1;
    for (unsigned v = 1; v < 256; ++v) row[v] = mul_mod(row[v - 1], step);
    step = mul_mod(row[255], step);
  }
  return powers;
}

}  // namespace

constinit const Powers kPowers = make_powers();

Repeater::Repeater(const Signature& one) noexcept : one_(one) {
  const uint64_t ratio = sub_mod(power(one.count), 1);
  periodic_ = ratio == 0;  // of the empty sequence too
  if (!periodic_) quotient_ = mul_mod(one.hash, inverse_mod(ratio));
}

}  // namespace verity::signature
