// SPDX-License-Identifier: BSD-3-Clause
//
// The names of the plugin's variables, taken from its own table (src/uct/process/options.cc) when
// this is built.
#ifndef VERITY_TOOLS_DOCTOR_CHECKS_VARIABLE_NAMES_H
#define VERITY_TOOLS_DOCTOR_CHECKS_VARIABLE_NAMES_H

#include <string>
#include <string_view>
#include <vector>

namespace verity::tools {

[[nodiscard]] const std::vector<std::string>& variable_names();

[[nodiscard]] bool is_variable_name(std::string_view name);

// The variable that `name` probably stands for: the nearest one, few slips away; empty: none.
[[nodiscard]] std::string nearest_variable(std::string_view name);

// Whether `name` is no variable, but was meant as one: by its prefix, or as it is nearly one.
[[nodiscard]] bool is_misspelt(std::string_view name);

}  // namespace verity::tools

#endif
