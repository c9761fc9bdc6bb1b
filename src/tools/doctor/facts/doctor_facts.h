// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TOOLS_DOCTOR_FACTS_DOCTOR_FACTS_H
#define VERITY_TOOLS_DOCTOR_FACTS_DOCTOR_FACTS_H

#include <string>
#include <vector>

#include "tools/doctor/checks/diagnosis.h"

namespace verity::tools {

// Looks at this machine, this installation and this shell. Starts a child process for each view of
// UCX. `programs`: whether they can load the plugin is looked at as well.
[[nodiscard]] Facts gather_facts(const std::vector<std::string>& programs);

}  // namespace verity::tools

#endif
