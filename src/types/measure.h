// SPDX-License-Identifier: BSD-3-Clause
//
// `verity-types normalize --measure`: how the time of normalization grows with the layout.
#ifndef VERITY_TYPES_MEASURE_H
#define VERITY_TYPES_MEASURE_H

#include <cstdint>

namespace verity::types {

inline constexpr uint64_t kMaxMeasured = 100'000'000;

// Prints the times of layouts of up to `most` displacements that take longest, and the exponents
// that fit them.
void measure_normalization(uint64_t most, bool json);

}  // namespace verity::types

#endif
