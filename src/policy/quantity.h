// SPDX-License-Identifier: BSD-3-Clause
//
// The values of variables that have an order, and so can have limits.
#ifndef VERITY_POLICY_QUANTITY_H
#define VERITY_POLICY_QUANTITY_H

#include <optional>
#include <string>
#include <string_view>

namespace verity::policy {

enum class Kind {
  kSize,   // bytes: 4096, 64k, 1m, 2g, inf
  kCount,  // 256, inf
  kTime,   // 1s (also 1), 20ms, 3us, 10ns, 2m
  kMode,   // off < observe < verify
};

// nullopt: no variable, or one whose values have no order.
[[nodiscard]] std::optional<Kind> kind_of(std::string_view name) noexcept;

// As UCX's parser reads them: bytes, a number, seconds, the place of a mode. nullopt: it does not.
[[nodiscard]] std::optional<double> quantity(Kind kind, std::string_view value);

// For errors: "a size, such as 64k".
[[nodiscard]] const char* example_of(Kind kind) noexcept;

// "SEGMENT_SIZE, WINDOW, ...": all that can have limits.
[[nodiscard]] std::string names_with_order();

}  // namespace verity::policy

#endif
