// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TYPES_TEXT_H
#define VERITY_TYPES_TEXT_H

#include <array>
#include <cstdio>
#include <string>

namespace verity::types {

// snprintf to a string of at most 511 characters.
template <typename... Values>
[[nodiscard]] std::string format(const char* pattern, Values... values) {
  std::array<char, 512> text;
  std::snprintf(text.data(), text.size(), pattern, values...);
  return text.data();
}

}  // namespace verity::types

#endif
