// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers and lists for people, strings for JSON.
#ifndef VERITY_HEALTH_TEXT_H
#define VERITY_HEALTH_TEXT_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace verity::health {

// 1234567 -> "1,234,567".
[[nodiscard]] std::string grouped(std::uint64_t number);

// Bytes in binary units with three digits: "0 B", "1023 B", "1.00 KiB", "12.3 MiB", "16.0 EiB".
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);

// "a, b, c", cut before `width` characters as "a, b and 7 more". One name at least is kept whole.
[[nodiscard]] std::string name_list(const std::vector<std::string>& names, std::size_t width);

// A name from elsewhere, as it may stand in a line: control characters and what is not ASCII become
// '?'.
[[nodiscard]] std::string printable(std::string_view text);

// A JSON string with its quotes. Bytes that are no valid UTF-8 become U+FFFD.
[[nodiscard]] std::string json_string(std::string_view text);

// A JSON array of strings.
[[nodiscard]] std::string json_array(const std::vector<std::string>& texts);

}  // namespace verity::health

#endif
