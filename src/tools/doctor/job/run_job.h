// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_TOOLS_DOCTOR_JOB_RUN_JOB_H
#define VERITY_TOOLS_DOCTOR_JOB_RUN_JOB_H

#include <string>
#include <vector>

#include "tools/doctor/job/job.h"

namespace verity::tools {

struct Answers {
  std::vector<HostReport> reports;
  unsigned cut = 0;  // that did not arrive whole
};

// Writes the report on stdout, for reports_in().
void print_report(const HostReport& report);

// The launcher that is named, or else the allocation's. Throws where there is none, or where none
// is named and this is a process of a job itself.
[[nodiscard]] Launch find_launch(const std::string& named, const HostFacts& here);

// What a process of `ucx-verity doctor --record` on each host says. `options` are added to its
// command line. Throws with the launcher's words where none answers.
[[nodiscard]] Answers query_hosts(const Launch& launch, const std::vector<std::string>& options);

// From a file with the output of such processes, or from stdin where it is "-".
[[nodiscard]] Answers read_reports(const std::string& file);

}  // namespace verity::tools

#endif
