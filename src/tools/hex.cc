// SPDX-License-Identifier: BSD-3-Clause
#include "tools/hex.h"

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <stdexcept>

namespace verity::tools {

namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

std::string to_hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::string from_hex(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const std::size_t high = kDigits.find(text[i]);
    const std::size_t low = i + 1 < text.size() ? kDigits.find(text[i + 1]) : kDigits.npos;
    if (high == kDigits.npos || low == kDigits.npos)
      throw std::runtime_error("not hexadecimal: " + std::string(text.substr(0, 64)));
    bytes += static_cast<char>(high << 4 | low);
  }
  return bytes;
}

std::string short_digest(std::string_view text) {
  std::uint32_t hash = 2166136261U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  char digits[9];
  std::snprintf(digits, sizeof(digits), "%08" PRIx32, hash);
  return digits;
}

}  // namespace verity::tools
