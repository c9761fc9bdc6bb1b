// SPDX-License-Identifier: BSD-3-Clause
#include "types/tables/crc.h"

#include <array>

namespace verity::types::tables {

namespace {

using Table = std::array<uint32_t, 256>;

constexpr Table make_ccitt_table() {
  Table table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t value = byte << 8;
    for (int bit = 0; bit < 8; ++bit) {
      value = ((value << 1) ^ ((value & 0x8000U) != 0 ? 0x1021U : 0)) & 0xFFFFU;
    }
    table[byte] = value;
  }
  return table;
}

constexpr Table make_crc32_table() {
  Table table{};
  for (uint32_t byte = 0; byte < table.size(); ++byte) {
    uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) {
      value = (value >> 1) ^ ((value & 1) != 0 ? 0xEDB88320U : 0);
    }
    table[byte] = value;
  }
  return table;
}

// The register after one more byte.
struct Ccitt {
  static constexpr Table kTable = make_ccitt_table();
  static uint32_t push(uint32_t value, uint32_t byte) noexcept {
    return ((value << 8) & 0xFFFFU) ^ kTable[(value >> 8) ^ byte];
  }
};

struct Crc32 {
  static constexpr Table kTable = make_crc32_table();
  static uint32_t push(uint32_t value, uint32_t byte) noexcept {
    return (value >> 8) ^ kTable[(value & 0xFFU) ^ byte];
  }
};

template <typename Step>
class Crc final : public Hash {
 public:
  using Hash::Hash;
  [[nodiscard]] Value basic(uint64_t code) const noexcept override {
    return {Step::push(0, static_cast<uint32_t>(code & 0xFFU)), 1};
  }
  [[nodiscard]] Value concat(Value a, Value b) const noexcept override {
    auto pushed = static_cast<uint32_t>(a.hash);
    for (uint64_t i = 0; i < b.count; ++i) { pushed = Step::push(pushed, 0); }
    return {pushed ^ b.hash, a.count + b.count};
  }
};

template <typename Step>
HashPtr make(const char* name, unsigned bits) {
  return std::make_unique<Crc<Step>>(Hash::Traits{.name = name,
                                                  .bits = bits,
                                                  .source = "CRC",
                                                  .algebraic = true,
                                                  .concat = Growth::kLinear,
                                                  .repeat = Growth::kLinear});
}

}  // namespace

HashPtr crc16_ccitt() { return make<Ccitt>("crc-ccitt-16", 16); }

HashPtr crc32() { return make<Crc32>("crc-32", 32); }

}  // namespace verity::types::tables
