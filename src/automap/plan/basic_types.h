// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_AUTOMAP_PLAN_BASIC_TYPES_H
#define VERITY_AUTOMAP_PLAN_BASIC_TYPES_H

#include <optional>
#include <string_view>

#include "signature/basic.h"

namespace verity::automap {

// The basic type of MPI for a typedef that the C or MPI standard names, when it has that size:
// int32_t, wchar_t, MPI_Aint.
[[nodiscard]] std::optional<signature::BasicType> basic_of_typedef(std::string_view name,
                                                                   uint64_t size);

}  // namespace verity::automap

#endif
