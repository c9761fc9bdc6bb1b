// SPDX-License-Identifier: BSD-3-Clause
//
// What the % signs in UCX_VERITY_ATTEST_FILE and UCX_VERITY_FAULT_LOG stand for.
#ifndef VERITY_HEALTH_FILE_PATTERN_H
#define VERITY_HEALTH_FILE_PATTERN_H

#include <string>
#include <string_view>

#include "health/identity.h"

namespace verity::health {

// For messages and help.
inline constexpr const char* kFilePatterns =
    "%h (host), %j (job id), %s (job step), %r (rank), %p (process id), %x (program), %% (percent "
    "sign)";

// The first sign that stands for nothing, as "%q"; empty: there is none.
[[nodiscard]] std::string unknown_pattern(std::string_view pattern);

// Replaces the signs. Where there is no rank or no job its place is taken by the process id, and
// that of a step by 0. Values lose their slashes, so that the file stays in its folder. Signs that
// stand for nothing stay.
[[nodiscard]] std::string expand_path(std::string_view pattern, const Identity& who);

}  // namespace verity::health

#endif
