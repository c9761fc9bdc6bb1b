// SPDX-License-Identifier: BSD-3-Clause
//
// The least-cost type path of a layout, in an additive cost model with free constants.
#ifndef VERITY_NORMALIZE_OPTIMAL_H
#define VERITY_NORMALIZE_OPTIMAL_H

#include <string>

#include "normalize/canonical.h"

namespace verity::normalize {

// What a node costs: a constant of its kind and, for each of its copies, what has to be stored or
// done for it. As the paper's cost of storage: con and vec a constant each, idx one and 1 for each
// index.
struct CostModel {
  uint64_t contiguous = 1;
  uint64_t vector = 2;
  uint64_t indexed = 2;
  uint64_t index = 1;  // for each copy of an idx
  uint64_t step = 0;   // for each copy of a vec
  // The cost of processing: each node counts as often as it is visited when the whole layout is
  // traversed, which is once for each copy of what lies around it. Otherwise, the cost of storage:
  // once.
  bool processing = false;
};

inline constexpr CostModel kStorageCost{};
inline constexpr CostModel kProcessingCost{
    .contiguous = 1, .vector = 1, .indexed = 1, .index = 1, .step = 1, .processing = true};

// No constant may be larger.
inline constexpr uint64_t kMaxCostConstant = 1'000'000;

// Saturates at UINT64_MAX. Precondition: well-formed.
[[nodiscard]] uint64_t cost(const TypePath& path, const CostModel& model);

// A path of `layout` than which none costs less; of several, one with few nodes. Empty for a layout
// without elements. `unit` is the distance of adjacent elements in the leaf. Time and memory:
// quadratic in the divisors of the counts; plus the indices of the result. Divisors of a vector's
// count above 2^40 are not all looked at, so that beyond it a cheaper path may be missed.
[[nodiscard]] TypePath optimal_path(const Canonical& layout, int64_t unit, const CostModel& model);

}  // namespace verity::normalize

#endif
