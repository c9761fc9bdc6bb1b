// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_UTIL_TEXT_H
#define VERITY_UTIL_TEXT_H

#include <array>
#include <cstdio>
#include <string>
#include <string_view>

namespace verity::util {

// `text` without the blanks at its ends.
[[nodiscard]] inline std::string_view trimmed(std::string_view text,
                                              std::string_view blanks = " \t\r") noexcept {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// snprintf to a string of at most 511 characters.
template <typename... Values>
[[nodiscard]] std::string format(const char* pattern, Values... values) {
  std::array<char, 512> text;
  std::snprintf(text.data(), text.size(), pattern, values...);
  return text.data();
}

}  // namespace verity::util

#endif
