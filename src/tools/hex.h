// SPDX-License-Identifier: BSD-3-Clause
//
// Bytes as text, for lines that pass through launchers.
#ifndef VERITY_TOOLS_HEX_H
#define VERITY_TOOLS_HEX_H

#include <string>
#include <string_view>

namespace verity::tools {

[[nodiscard]] std::string to_hex(std::string_view bytes);

// Throws std::runtime_error when `text` is not an even number of hexadecimal digits.
[[nodiscard]] std::string from_hex(std::string_view text);

// FNV-1a, in hexadecimal digits.
[[nodiscard]] std::string short_digest(std::string_view text);

}  // namespace verity::tools

#endif
