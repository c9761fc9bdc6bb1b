// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_HEALTH_FILES_FOLDER_H
#define VERITY_HEALTH_FILES_FOLDER_H

#include <string>

namespace verity::health {

// Why processes of this user can make no health file in the folder, or an empty text.
[[nodiscard]] std::string folder_problem(const std::string& path);

}  // namespace verity::health

#endif
