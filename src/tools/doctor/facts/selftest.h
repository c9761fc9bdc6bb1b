// SPDX-License-Identifier: BSD-3-Clause
//
// `ucx-verity doctor --selftest`: damages one frame of a message between two processes, below the
// plugin, and looks whether it is found, repaired and counted. The corrupting transport is loaded
// by these two processes alone; they count in a folder of their own.
#ifndef VERITY_TOOLS_DOCTOR_FACTS_SELFTEST_H
#define VERITY_TOOLS_DOCTOR_FACTS_SELFTEST_H

#include "tools/doctor/checks/diagnosis.h"

namespace verity::tools {

// With this installation, and UCX_VERITY_MODE of this shell or ucx.conf.
[[nodiscard]] Findings run_selftest(const Facts& facts);

}  // namespace verity::tools

#endif
