// SPDX-License-Identifier: BSD-3-Clause
//
// Types written by hand, in the words in which messages to the user show them:
//
//   type   = number "x" type | "{" type { "," type } "}" | name
//   name   = MPI_INT, or the same without MPI_, in lower case and with blanks: int, long double
#ifndef VERITY_TYPES_EXPRESSION_H
#define VERITY_TYPES_EXPRESSION_H

#include <string>
#include <string_view>

#include "signature/type.h"

namespace verity::types {

// Deeper expressions are refused: the parser calls itself.
inline constexpr unsigned kMaxExpressionDepth = 200;

// Returns "" and sets *type_p; or what is wrong and at which character (from 1), and leaves
// *type_p.
[[nodiscard]] std::string parse_type(std::string_view text, signature::Type* type_p);

}  // namespace verity::types

#endif
