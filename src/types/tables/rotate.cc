// SPDX-License-Identifier: BSD-3-Clause
#include "types/tables/rotate.h"

namespace verity::types::tables {

namespace {

// Words of `width` bits.
struct Word {
  unsigned width;

  [[nodiscard]] uint64_t mask() const noexcept { return (1ULL << width) - 1; }
  [[nodiscard]] uint64_t rotate(uint64_t value, uint64_t by) const noexcept {
    const auto bits = static_cast<unsigned>(by % width);
    return bits == 0 ? value : ((value << bits) | (value >> (width - bits))) & mask();
  }
};

// k copies by doubling, in O(log k). Only for an associative concat.
template <typename Concat>
Value doubled(Value a, uint64_t k, Concat concat) noexcept {
  Value result;
  for (; k != 0; k >>= 1) {
    if ((k & 1) != 0) result = concat(result, a);
    a = concat(a, a);
  }
  return result;
}

class Rotating : public Hash {
 public:
  Rotating(Traits traits, unsigned width) : Hash(std::move(traits)), word_{width} {}
  [[nodiscard]] Value basic(uint64_t code) const noexcept override {
    return {code & word_.mask(), 1};
  }

 protected:
  Word word_;
};

class GroppAdd final : public Rotating {
 public:
  using Rotating::Rotating;
  [[nodiscard]] Value concat(Value a, Value b) const noexcept override {
    return {(a.hash + word_.rotate(b.hash, a.count)) & word_.mask(), a.count + b.count};
  }
};

// 2 * width copies cancel each other, whatever is copied: doubling the rest takes a bounded time.
class Xor : public Rotating {
 public:
  using Rotating::Rotating;
  [[nodiscard]] Value repeat(Value a, uint64_t k) const noexcept override {
    const auto join = [this](Value x, Value y) { return concat(x, y); };
    return {doubled(a, k % (2 * word_.width), join).hash, a.count * k};
  }
};

class GroppXor final : public Xor {
 public:
  using Xor::Xor;
  [[nodiscard]] Value concat(Value a, Value b) const noexcept override {
    return {a.hash ^ word_.rotate(b.hash, a.count), a.count + b.count};
  }
};

class XorBs1 final : public Xor {
 public:
  using Xor::Xor;
  [[nodiscard]] Value concat(Value a, Value b) const noexcept override {
    return {word_.rotate(a.hash, b.count) ^ b.hash, a.count + b.count};
  }
};

class MmmBs1 final : public Rotating {
 public:
  using Rotating::Rotating;
  [[nodiscard]] Value concat(Value a, Value b) const noexcept override {
    return {(word_.rotate(a.hash, b.count) + b.hash) % word_.mask(), a.count + b.count};
  }
  // `width` copies are rotated as a whole by a multiple of width, so not at all: each further
  // `width` copies add the same.
  [[nodiscard]] Value repeat(Value a, uint64_t k) const noexcept override {
    const auto join = [this](Value x, Value y) { return concat(x, y); };
    const uint64_t round = doubled(a, word_.width, join).hash;
    const uint64_t rest = doubled(a, k % word_.width, join).hash;
    const uint64_t rounds = k / word_.width % word_.mask();
    return {(rounds * round + rest) % word_.mask(), a.count * k};
  }
};

Hash::Traits traits_of(const char* name, unsigned width, const char* source) {
  return {.name = name + std::to_string(width), .bits = width, .source = source};
}

}  // namespace

HashPtr gropp_xor(unsigned width) {
  return std::make_unique<GroppXor>(traits_of("gropp-xor-", width, "Gropp 2000"), width);
}

HashPtr gropp_add(unsigned width) {
  Hash::Traits traits = traits_of("gropp-add-", width, "Gropp 2000");
  traits.algebraic = false;
  traits.repeat = Growth::kLinear;  // no shorter way gives what k concatenations give
  return std::make_unique<GroppAdd>(std::move(traits), width);
}

HashPtr xor_bs1(unsigned width) {
  return std::make_unique<XorBs1>(traits_of("xor-bs1-", width, "Langou 2005"), width);
}

HashPtr mmm_bs1(unsigned width) {
  return std::make_unique<MmmBs1>(traits_of("mmm-bs1-", width, "Langou 2005"), width);
}

}  // namespace verity::types::tables
