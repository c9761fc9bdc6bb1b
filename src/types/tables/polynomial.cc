// SPDX-License-Identifier: BSD-3-Clause
#include "types/tables/polynomial.h"

#include "signature/algebra.h"

namespace verity::types::tables {

namespace {

class Polynomial61 final : public Hash {
 public:
  using Hash::Hash;
  [[nodiscard]] Value basic(uint64_t code) const noexcept override {
    return from(signature::basic(code));
  }
  [[nodiscard]] Value concat(Value a, Value b) const noexcept override {
    return from(signature::concat(to(a), to(b)));
  }
  [[nodiscard]] Value repeat(Value a, uint64_t k) const noexcept override {
    return from(signature::repeat(to(a), k));
  }

 private:
  static signature::Signature to(Value value) noexcept { return {value.hash, value.count}; }
  static Value from(const signature::Signature& signature) noexcept {
    return {signature.hash, signature.count};
  }
};

}  // namespace

HashPtr polynomial61() {
  return std::make_unique<Polynomial61>(
      Hash::Traits{.name = "poly-2^61-1", .bits = 61, .source = "this project"});
}

}  // namespace verity::types::tables
