// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TOOLS_DOCTOR_FACTS_HOST_FACTS_H
#define VERITY_TOOLS_DOCTOR_FACTS_HOST_FACTS_H

#include <string>
#include <vector>

#include "tools/doctor/checks/host.h"

namespace verity::tools {

// This host and this process. Looks at the launchers in PATH, and at `programs` of the user's.
[[nodiscard]] HostFacts gather_host(const std::vector<std::string>& programs);

}  // namespace verity::tools

#endif
