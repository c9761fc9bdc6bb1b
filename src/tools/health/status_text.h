// SPDX-License-Identifier: BSD-3-Clause
//
// What `ucx-verity status` prints, from what was found.
#ifndef VERITY_TOOLS_HEALTH_STATUS_TEXT_H
#define VERITY_TOOLS_HEALTH_STATUS_TEXT_H

#include <string>

#include "tools/health/collected.h"

namespace verity::tools {

struct StatusOptions {
  bool paths = true;
  bool peers = false;
};

// At most 80 columns, with the last newline.
[[nodiscard]] std::string render_status(const Found& found, const StatusOptions& options);

// Version of the JSON object. Raised when a key changes its meaning or goes; new keys may come.
inline constexpr int kStatusSchema = 1;

// One object, always with everything.
[[nodiscard]] std::string status_json(const Found& found);

// "what" in the 25 columns of a first column, cut in its middle when it is longer.
[[nodiscard]] std::string first_column(const std::string& what);

}  // namespace verity::tools

#endif
