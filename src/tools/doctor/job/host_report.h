// SPDX-License-Identifier: BSD-3-Clause
//
// What `doctor --record` finds on one host of a job, as lines that pass through a launcher. A
// launcher may cut a line where the output of two processes meets: lines are short, each has a
// digest, and all are written twice.
#ifndef VERITY_TOOLS_DOCTOR_JOB_HOST_REPORT_H
#define VERITY_TOOLS_DOCTOR_JOB_HOST_REPORT_H

#include <string>
#include <string_view>
#include <vector>

#include "tools/doctor/checks/findings.h"
#include "tools/variable.h"

namespace verity::tools {

struct HostReport {
  std::string host;
  Findings findings{};
  std::vector<Variable> settings{};  // those of `env` and the plugin's, as this process has them
  std::vector<Variable> versions{};  // of what the hosts of a job should have in common
  bool active = false;               // verification is requested there
};

// `process`: tells the processes of a host apart.
[[nodiscard]] std::vector<std::string> to_lines(const HostReport& report, long process);

// Those that are whole in the output of a launcher, in the order of their hosts; of several
// processes of a host, one for each different report. `cut` counts those that are not.
[[nodiscard]] std::vector<HostReport> reports_in(std::string_view output, unsigned* cut);

}  // namespace verity::tools

#endif
