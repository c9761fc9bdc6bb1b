// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TOOLS_HTML_H
#define VERITY_TOOLS_HTML_H

#include <string>
#include <string_view>

namespace verity::tools {

// `text` as part of a page, or in an attribute's quotes; what is not printable ASCII becomes '?'.
[[nodiscard]] std::string escaped(std::string_view text);

// The beginning of a page, up to <body>: one that loads nothing, bright or dark as the reader's
// desktop is. `style` follows what all pages have. Well-formed XML as well.
[[nodiscard]] std::string page_head(std::string_view title, std::string_view style);

}  // namespace verity::tools

#endif
