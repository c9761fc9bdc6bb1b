// SPDX-License-Identifier: BSD-3-Clause
//
// What concat and repeat cost as types grow.
#ifndef VERITY_TYPES_TABLES_TIMING_H
#define VERITY_TYPES_TABLES_TIMING_H

#include <optional>
#include <string>
#include <vector>

#include "types/tables/hash.h"

namespace verity::types {

using tables::Growth;

// One operation of one hash. concat: of two parts of n elements each; repeat: n copies of one.
struct Series {
  tables::Hash::Traits hash;
  std::string operation;
  Growth claimed = Growth::kConstant;
  std::vector<double> ns;         // at each size, the median of the batches
  double exponent = 0;            // of the power law t = c * n^exponent that fits best
  std::optional<Growth> verdict;  // none: neither
};

// Primes near powers of 4: no hash has a short period there.
[[nodiscard]] const std::vector<unsigned>& timing_sizes();
// Batches of each median.
inline constexpr unsigned kBatches = 15;
// The most for a constant, the least for a linear time.
inline constexpr double kConstantExponent = 0.25;
inline constexpr double kLinearExponent = 0.75;

[[nodiscard]] std::vector<Series> measure(const std::vector<tables::HashPtr>& hashes);

// Least squares on the logarithms. Precondition: as many times as sizes, at least two, all above 0.
[[nodiscard]] double fitted_exponent(const std::vector<unsigned>& sizes,
                                     const std::vector<double>& ns);
[[nodiscard]] std::optional<Growth> classify_growth(double exponent);

}  // namespace verity::types

#endif
