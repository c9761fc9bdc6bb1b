// SPDX-License-Identifier: BSD-3-Clause
//
// The lines that one process's attestation and a job's summary have in common.
#ifndef VERITY_HEALTH_REPORT_ACCOUNT_TEXT_H
#define VERITY_HEALTH_REPORT_ACCOUNT_TEXT_H

#include <cstdint>
#include <string>

#include "health/report/attestation.h"

namespace verity::health {

// What was counted, indented, for a terminal of 80 columns; long lists of names are cut.
[[nodiscard]] std::string account_lines(const Report& report);

// The one line of a process or job that loaded the plugin and sent nothing through it. `why` may be
// empty.
[[nodiscard]] std::string unused_line(const std::string& why);

}  // namespace verity::health

#endif
