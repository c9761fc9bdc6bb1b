// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "tools/doctor/checks/diagnosis.h"
#include "tools/env/shell.h"
#include "tools/env/transports.h"

namespace verity::tools {

namespace {

constexpr std::uint64_t kKiB = 1024;
// Linux distributions allow 8 MiB by default, or 64 KiB before: a few interfaces' buffers are
// larger.
constexpr std::uint64_t kTooLittle = 64 * kKiB * kKiB;

void check_memlock(const Facts& facts, Findings* findings) {
  if (!facts.host.memlock) return;
  const auto locking = locking_transports(facts.probe.ucx.devices);
  const std::string limit = "at most " + size_text(*facts.host.memlock) + " may be locked";
  if (locking.empty()) {
    findings->push_back({Grade::kOk, "memlock", limit + "; no transport here needs it", ""});
    return;
  }
  const std::string remedy =
      "ulimit -l unlimited; for all jobs: '* - memlock unlimited' in /etc/security/limits.conf and "
      "LimitMEMLOCK=infinity for the batch system's daemon";
  const std::string what = limit + ", and " + join(locking, ", ");
  if (*facts.host.memlock < kTooLittle) {
    findings->push_back({Grade::kBroken, "memlock",
                         what + " may fail to register buffers, so jobs of several hosts abort",
                         remedy, Effect::kSomeAbort});
  } else {
    findings->push_back({Grade::kWarning, "memlock",
                         what + " may fail to register long messages, with and without the plugin",
                         remedy, Effect::kIgnored});
  }
}

void check_programs(const Facts& facts, Findings* findings) {
  for (const std::string& name : facts.host.absent) {
    findings->push_back({Grade::kBroken, "program", name + " does not exist",
                         "correct --program, or PATH", Effect::kIgnored});
  }
  if (!needs_preload(parse_version(facts.ucx.version)) || !is_active(facts)) return;
  for (const Program& program : facts.host.programs) {
    if (program.problem.empty()) {
      findings->push_back({Grade::kOk, "program", program.path + ": LD_PRELOAD reaches it", ""});
      continue;
    }
    const bool aborts = effect_of_no_plugin(facts) == Effect::kAbort;
    findings->push_back(
        {Grade::kBroken, "program",
         program.path + " " + program.problem + ", so its jobs " +
             (aborts ? "abort" : "run unverified"),
         "install it without privileges and linked dynamically, or name libverity_preload.so in "
         "/etc/ld.so.preload",
         aborts ? Effect::kSomeAbort : Effect::kUnverified});
  }
}

bool is_locking(const std::string& name) {
  return name.starts_with("rc_") || name.starts_with("ud_") || name.starts_with("dc_") ||
         name.starts_with("srd");
}

}  // namespace

std::vector<std::string> locking_transports(const std::vector<Device>& devices) {
  std::vector<std::string> names;
  for (const std::string& name : lower_transports(devices)) {
    if (is_locking(name)) names.push_back(name);
  }
  return names;
}

std::string pass_variable(const std::string& launcher, const std::string& name,
                          const std::string& value) {
  const std::string setting = name + "=" + quote(Shell::kSh, value);
  if (launcher == "Open MPI") return "mpirun -x " + setting;
  if (launcher == "Slurm") return "srun --export=ALL," + setting;
  return "mpiexec -genv " + name + " " + quote(Shell::kSh, value);
}

std::string size_text(std::uint64_t bytes) {
  if (bytes >= kKiB * kKiB && bytes % (kKiB * kKiB) == 0)
    return std::to_string(bytes / kKiB / kKiB) + " MiB";
  if (bytes >= kKiB && bytes % kKiB == 0) return std::to_string(bytes / kKiB) + " KiB";
  return std::to_string(bytes) + " B";
}

std::string in_container(const Facts& facts, const std::string& advice) {
  if (facts.host.container.empty()) return advice;
  const bool binds = facts.host.container == "Apptainer" || facts.host.container == "Singularity";
  return advice + "; this is a container (" + facts.host.container +
         "): make the host's installation visible in it (" + (binds ? "--bind" : "-v") +
         " PREFIX), built for the UCX in its image";
}

void diagnose_host(const Facts& facts, Findings* findings) {
  check_memlock(facts, findings);
  check_programs(facts, findings);
}

}  // namespace verity::tools
