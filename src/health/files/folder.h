// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace verity::health {

// Why processes of this user can make no health file in the folder, or an empty text.
[[nodiscard]] std::string folder_problem(const std::string& path);

}  // namespace verity::health
