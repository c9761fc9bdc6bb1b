// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TYPES_TABLES_POLYNOMIAL_H
#define VERITY_TYPES_TABLES_POLYNOMIAL_H

#include "types/tables/hash.h"

namespace verity::types::tables {

// The hash of signature/algebra.h, modulo 2^61 - 1. The small codes of the comparison are used as
// they are, where algebra.h's own users hash names: it must do without that help here.
[[nodiscard]] HashPtr polynomial61();

}  // namespace verity::types::tables

#endif
