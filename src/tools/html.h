// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TOOLS_HTML_H
#define VERITY_TOOLS_HTML_H

#include <string>
#include <string_view>

namespace verity::tools {

// `text` as part of a page, or in an attribute's quotes; what is not printable ASCII becomes '?'.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace verity::tools

#endif
