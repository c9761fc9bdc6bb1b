// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/job/job.h"

#include <algorithm>
#include <map>

#include "tools/doctor/checks/shell_settings.h"
#include "tools/env/transports.h"
#include "util/build_config.h"

namespace verity::tools {

namespace {

using Names = std::vector<std::string>;

constexpr std::size_t kNamedHosts = 8;  // in a line; further ones are counted

bool is_same(const Finding& a, const Finding& b) {
  return a.grade == b.grade && a.effect == b.effect && a.topic == b.topic && a.text == b.text &&
         a.advice == b.advice;
}

void add(const Finding& finding, const std::string& host, JobDiagnosis* job) {
  const auto same =
      std::find_if(job->findings.begin(), job->findings.end(),
                   [&](const JobFinding& other) { return is_same(other.finding, finding); });
  if (same == job->findings.end()) {
    job->findings.push_back({finding, {host}});
  } else if (same->hosts.back() != host) {  // hosts come in order
    same->hosts.push_back(host);
  }
}

std::string host_list(const Names& hosts) {
  const Names named(hosts.begin(), hosts.begin() + static_cast<std::ptrdiff_t>(
                                                       std::min(hosts.size(), kNamedHosts)));
  std::string text = join(named, ", ");
  if (hosts.size() > named.size())
    text += " and " + std::to_string(hosts.size() - named.size()) + " more";
  return text;
}

// A launcher may put libraries of its own in front.
bool has_same_value(const Variable& wanted, const std::string* value) {
  if (value == nullptr) return false;
  if (wanted.name == "LD_PRELOAD") return preload_entry(wanted.value) == preload_entry(*value);
  return wanted.value == *value;
}

std::string pass_variables(const std::string& launcher, const Names& names) {
  if (launcher == "Open MPI") return "mpirun -x " + join(names, " -x ");
  if (launcher == "Slurm") return "srun --export=ALL";
  return "mpiexec -genvlist " + join(names, ",");
}

// What this shell has set and its processes have not.
void check_environment(const std::vector<HostReport>& reports, const Launch& launch,
                       const HostReport& here, JobDiagnosis* job) {
  std::map<Names, Names> lost;  // the variables, by the hosts that lack them
  for (const Variable& wanted : here.settings) {
    Names hosts;
    for (const HostReport& report : reports) {
      if (!has_same_value(wanted, find_value(report.settings, wanted.name)) &&
          (hosts.empty() || hosts.back() != report.host))
        hosts.push_back(report.host);
    }
    if (!hosts.empty()) lost[hosts].push_back(wanted.name);
  }
  for (const auto& [hosts, names] : lost) {
    job->findings.push_back(
        {{Grade::kBroken, "launcher",
          join(names, ", ") + " of this shell " + (names.size() == 1 ? "does" : "do") +
              " not reach the processes there unchanged",
          pass_variables(launch.kind, names) + ", or correct the script or profile that changes " +
              (names.size() == 1 ? "it" : "them"),
          Effect::kUnverified},
         hosts});
  }
}

// "UCX differs: 1.13.1 on node0, node1; 1.18.1 on node2"
bool check_version(const std::string& name, const std::vector<HostReport>& reports, Grade grade,
                   Effect effect, const std::string& advice, JobDiagnosis* job) {
  std::map<std::string, Names> hosts;
  for (const HostReport& report : reports) {
    const std::string* value = find_value(report.versions, name);
    hosts[value == nullptr || value->empty() ? "none" : *value].push_back(report.host);
  }
  if (hosts.size() < 2) return false;
  Names texts;
  for (const auto& [version, there] : hosts) texts.push_back(version + " on " + host_list(there));
  job->findings.push_back(
      {{grade, "hosts", name + " differs: " + join(texts, "; "), advice, effect}, job->hosts});
  return true;
}

void check_versions(const std::vector<HostReport>& reports, JobDiagnosis* job) {
  const bool release =
      check_version("ucx-verity", reports, Grade::kBroken, Effect::kSomeAbort,
                    "install one release of ucx-verity on all hosts of a job", job);
  const bool ucx = check_version("UCX", reports, Grade::kBroken, Effect::kSomeAbort,
                                 "use one UCX on all hosts of a job", job);
  if (!release && !ucx) {
    (void)check_version("plugin file", reports, Grade::kWarning, Effect::kIgnored,
                        "install the same build of ucx-verity on all hosts", job);
  }
  for (const char* name : {"Open MPI", "MPICH"})
    (void)check_version(name, reports, Grade::kWarning, Effect::kIgnored,
                        "use one MPI library on all hosts of a job", job);
}

void check_answers(const Launch& launch, JobDiagnosis* job) {
  if (job->hosts.size() >= launch.hosts) return;
  job->findings.push_back({{Grade::kBroken, "hosts",
                            std::to_string(job->hosts.size()) + " of " +
                                std::to_string(launch.hosts) + " hosts answered",
                            "install ucx-verity at the same place on all hosts; '" +
                                join(launch.command, " ") + " hostname' shows which are reached",
                            Effect::kSomeAbort},
                           job->hosts});
}

}  // namespace

HostReport make_report(const Facts& facts, const Findings& findings) {
  HostReport report;
  report.host = facts.host.name;
  report.findings = findings;
  report.active = is_active(facts);
  for (const Variable& variable : facts.shell.set) {
    if (find_value(facts.wanted, variable.name) != nullptr ||
        variable.name.starts_with("UCX_VERITY_"))
      report.settings.push_back(variable);
  }
  std::erase_if(report.settings,  // a host may have a name and a folder of its own
                [](const Variable& variable) { return variable.name == "UCX_VERITY_HOST"; });
  report.versions = {{"ucx-verity", PACKAGE_VERSION}, {"UCX", facts.ucx.version}};
  report.versions.push_back({"plugin file", facts.plugin.digest});
  if (facts.open_mpi) report.versions.push_back({"Open MPI", facts.open_mpi->version});
  if (facts.mpich) report.versions.push_back({"MPICH", facts.mpich->version});
  return report;
}

JobDiagnosis merge_reports(const std::vector<HostReport>& reports, const Launch& launch,
                           const HostReport* here) {
  JobDiagnosis job;
  for (const HostReport& report : reports) {
    if (job.hosts.empty() || job.hosts.back() != report.host) job.hosts.push_back(report.host);
  }
  check_answers(launch, &job);
  check_versions(reports, &job);
  const bool active = here != nullptr && here->active;
  if (active) check_environment(reports, launch, *here, &job);
  for (const HostReport& report : reports) {
    for (Finding finding : report.findings) {
      // One host without is no choice where others are verified.
      const bool others = active || std::any_of(reports.begin(), reports.end(),
                                                [](const HostReport& r) { return r.active; });
      if (finding.grade == Grade::kInactive && others) finding.grade = Grade::kBroken;
      add(finding, report.host, &job);
    }
  }
  return job;
}

void add_cut_answers(unsigned cut, JobDiagnosis* job) {
  if (cut == 0) return;
  job->findings.push_back(
      {{Grade::kBroken, "hosts", std::to_string(cut) + " further answers arrived incomplete",
        "start it again", Effect::kIgnored},
       job->hosts});
}

Findings with_hosts(const JobDiagnosis& job) {
  Findings findings;
  for (const JobFinding& found : job.findings) {
    Finding finding = found.finding;
    if (found.hosts.size() < job.hosts.size())
      finding.text = "on " + std::to_string(found.hosts.size()) + " of " +
                     std::to_string(job.hosts.size()) + " hosts (" + host_list(found.hosts) +
                     "): " + finding.text;
    findings.push_back(std::move(finding));
  }
  return findings;
}

std::string render_job(const JobDiagnosis& job, const Launch& launch) {
  std::string text =
      std::to_string(job.hosts.size()) + (job.hosts.size() == 1 ? " host" : " hosts");
  if (!launch.name.empty()) text += ", by " + launch.name;
  return text + ": " + host_list(job.hosts) + "\n" + render_findings(with_hosts(job));
}

}  // namespace verity::tools
