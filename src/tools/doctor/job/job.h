// SPDX-License-Identifier: BSD-3-Clause
//
// `ucx-verity doctor --job`: what the hosts of a job say, merged into one answer.
#ifndef VERITY_TOOLS_DOCTOR_JOB_JOB_H
#define VERITY_TOOLS_DOCTOR_JOB_JOB_H

#include <functional>
#include <string>
#include <vector>

#include "tools/doctor/checks/diagnosis.h"
#include "tools/doctor/job/host_report.h"

namespace verity::tools {

// A finding and where it holds.
struct JobFinding {
  Finding finding;
  std::vector<std::string> hosts;
};

struct JobDiagnosis {
  std::vector<std::string> hosts;  // that answered
  std::vector<JobFinding> findings;
};

// How the job's processes are started: one on each host.
struct Launch {
  std::string kind;  // as in HostFacts::launcher
  std::string name;  // for people
  std::vector<std::string> command;
  unsigned hosts = 0;  // that should answer; 0: unknown
  std::string error;   // why there is none
};

// The variable's value; empty where it is not set.
using Getter = std::function<std::string(const char*)>;
// The file of that program in PATH; empty: none.
using Finder = std::function<std::string(const std::string&)>;
// What the program prints about its version.
using Asker = std::function<std::string(const std::string&)>;

// The launcher of the allocation that this shell is in: srun, or else mpirun or mpiexec in PATH.
[[nodiscard]] Launch choose_launch(const Getter& get, const Finder& find, const Asker& version);

// The launcher that the user names with its options.
[[nodiscard]] Launch named_launch(const std::string& command, const Asker& version);

[[nodiscard]] HostReport make_report(const Facts& facts, const Findings& findings);

// `here`: this shell, which starts the job; nullptr where it is another one.
[[nodiscard]] JobDiagnosis merge_reports(const std::vector<HostReport>& reports,
                                         const Launch& launch, const HostReport* here);

// Says that so many answers did not arrive whole.
void add_cut_answers(unsigned cut, JobDiagnosis* job);

// Its findings, with the hosts in their texts where these are not all.
[[nodiscard]] Findings with_hosts(const JobDiagnosis& job);

[[nodiscard]] std::string render_job(const JobDiagnosis& job, const Launch& launch);

}  // namespace verity::tools

#endif
