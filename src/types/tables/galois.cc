// SPDX-License-Identifier: BSD-3-Clause
#include "types/tables/galois.h"

#include <array>
#include <cstdio>

namespace verity::types::tables {

Field::Field(unsigned width, uint32_t polynomial)
    : order_((1U << width) - 1), powers_(order_), logs_(order_ + 1) {
  uint32_t element = 1;
  for (uint32_t exponent = 0; exponent < order_; ++exponent) {
    primitive_ &= exponent == 0 || element != 1;
    powers_[exponent] = static_cast<uint16_t>(element);
    logs_[element] = static_cast<uint16_t>(exponent);
    element <<= 1;
    if (element > order_) element ^= polynomial;
  }
}

namespace {

class Gfd final : public Hash {
 public:
  Gfd(Traits traits, unsigned width, unsigned words, uint32_t polynomial)
      : Hash(std::move(traits)), width_(width), words_(words), field_(width, polynomial) {}

  [[nodiscard]] Value basic(uint64_t code) const noexcept override {
    return {map([&](unsigned) { return static_cast<uint32_t>(code & field_.order()); }), 1};
  }

  [[nodiscard]] Value concat(Value a, Value b) const noexcept override {
    const auto joined = [&](unsigned i) {
      return field_.multiply(word(a, i), alpha_to(i, b.count)) ^ word(b, i);
    };
    return {map(joined), a.count + b.count};
  }

  [[nodiscard]] Value repeat(Value a, uint64_t k) const noexcept override {
    const auto repeated = [&](unsigned i) {
      const uint32_t once = alpha_to(i, a.count);
      // Each copy adds the same, and in these fields two of the same cancel.
      if (once == 1) return k % 2 == 1 ? word(a, i) : 0;
      const uint32_t all = alpha_to(i, a.count % field_.order() * (k % field_.order()));
      return field_.multiply(word(a, i), field_.divide(all ^ 1, once ^ 1));
    };
    return {map(repeated), a.count * k};
  }

 private:
  [[nodiscard]] uint32_t word(Value value, unsigned i) const noexcept {
    return static_cast<uint32_t>(value.hash >> (i * width_)) & field_.order();
  }
  // Powers of the i-th point, 2^(i + 1).
  [[nodiscard]] uint32_t alpha_to(unsigned i, uint64_t exponent) const noexcept {
    return field_.power(exponent % field_.order() * (i + 1));
  }
  template <typename Word>
  [[nodiscard]] uint64_t map(Word word) const noexcept {
    uint64_t hash = 0;
    for (unsigned i = 0; i < words_; ++i) {
      hash |= static_cast<uint64_t>(word(i)) << (i * width_);
    }
    return hash;
  }

  unsigned width_;
  unsigned words_;
  Field field_;
};

}  // namespace

HashPtr gfd(unsigned width, unsigned words, uint32_t polynomial) {
  std::array<char, 48> name;
  std::snprintf(name.data(), name.size(), "gfd-%ux%u/%x", width, words, polynomial);
  Hash::Traits traits{.name = name.data(), .bits = width * words, .source = "Langou 2005"};
  return std::make_unique<Gfd>(std::move(traits), width, words, polynomial);
}

}  // namespace verity::types::tables
