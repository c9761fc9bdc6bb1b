// SPDX-License-Identifier: BSD-3-Clause
//
// What Open MPI does with this shell's variables: its messaging layer, its filter of transports,
// and what carries its windows.
#include <algorithm>
#include <optional>

#include "health/report/bypass.h"
#include "tools/doctor/checks/diagnosis.h"
#include "tools/doctor/checks/shell_settings.h"
#include "tools/env/transports.h"

namespace verity::tools {

namespace {

using Names = std::vector<std::string>;

constexpr const char* kTopic = "shell";

void add(Findings* findings, Finding finding) { findings->push_back(std::move(finding)); }

const std::string* value_of(const Facts& facts, std::string_view name) {
  return find_value(facts.shell.set, name);
}

// Whether Open MPI takes pml/ucx for sure, by its list of components; empty: the one with the
// highest priority.
bool excludes_ucx(const std::string& pml) {
  const bool negated = pml.starts_with('^');
  const Names names =
      split_commas(negated ? std::string_view(pml).substr(1) : std::string_view(pml));
  return (std::find(names.begin(), names.end(), "ucx") != names.end()) == negated;
}

// "file (/etc/openmpi/openmpi-mca-params.conf:69)"
std::string file_of(const std::string& source) {
  const std::size_t open = source.find('(');
  const std::size_t close = source.rfind(')');
  return open == std::string::npos || close == std::string::npos
             ? source
             : source.substr(open + 1, close - open - 1);
}

void check_pml(const Facts& facts, Findings* findings) {
  const OpenMpi mpi = facts.open_mpi.value_or(OpenMpi{});
  const std::string* set = value_of(facts, "OMPI_MCA_pml");
  const std::string pml = mpi.pml.empty() && set != nullptr ? *set : mpi.pml;
  if (pml == "ucx") return;
  const std::string remedy = "export OMPI_MCA_pml=ucx";
  std::string what = "OMPI_MCA_pml=" + pml;
  if (set == nullptr)
    what = mpi.pml_source.starts_with("file") ? "pml=" + pml + " in " + file_of(mpi.pml_source)
                                              : "OMPI_MCA_pml is not set";
  if (!pml.empty() && excludes_ucx(pml)) {
    add(findings,
        {Grade::kBroken, kTopic,
         what + ": Open MPI sends its messages past UCX, so jobs run unverified", remedy});
  } else {
    add(findings,
        {Grade::kWarning, kTopic,
         what + ": Open MPI may choose a layer other than pml/ucx, which is not verified", remedy});
  }
}

// Open MPI's UCX components refuse to work where none of the transports has a name in this list
// (tried with 4.1.4: it aborts).
bool accepts_wrappers(const std::string& list, const Facts& facts) {
  const Names names = split_commas(list);
  const auto& devices = facts.probe.ucx.devices;
  const Names there = facts.shell.transparent ? lower_transports(devices) : wrappers(devices);
  if (list == "any" || list.starts_with('^')) return true;
  if (list.empty() && facts.shell.transparent) return pass_open_mpi_filter(devices);
  return std::any_of(there.begin(), there.end(), [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  });
}

void check_filter(const Facts& facts, Findings* findings) {
  const std::string* set = value_of(facts, "OMPI_MCA_opal_common_ucx_tls");
  const std::string list =
      facts.open_mpi->tls.empty() && set != nullptr ? *set : facts.open_mpi->tls;
  if (accepts_wrappers(list, facts)) return;
  add(findings, {Grade::kBroken, kTopic,
                 "OMPI_MCA_opal_common_ucx_tls is " + (set == nullptr ? "not set" : *set) +
                     ": pml/ucx refuses wrapped transports, so jobs of Open MPI abort",
                 "export OMPI_MCA_opal_common_ucx_tls=any", Effect::kSomeAbort});
}

std::optional<std::string> optional_of(const Facts& facts, std::string_view name) {
  const std::string* value = value_of(facts, name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(*value);
}

bool osc_ucx_is_above_sm(const Facts& facts) {
  health::MpiSettings settings;
  settings.osc_ucx_priority = optional_of(facts, "OMPI_MCA_osc_ucx_priority");
  settings.osc_sm_priority = optional_of(facts, "OMPI_MCA_osc_sm_priority");
  return health::osc_ucx_is_above_sm(settings);
}

// Tried with 4.1.4: osc/sm offers MPI_Win_allocate where all ranks are on one host.
void check_osc_priority(const Facts& facts, Findings* findings) {
  if (osc_ucx_is_above_sm(facts)) return;
  const std::string sm = "OMPI_MCA_osc_sm_priority";
  const std::string ucx = "OMPI_MCA_osc_ucx_priority";
  const std::string* set = value_of(facts, value_of(facts, sm) != nullptr ? sm : ucx);
  std::string what = ucx + (set == nullptr ? " is not set" : "=" + *set);
  std::string remedy = export_as_env(facts, ucx);
  if (value_of(facts, sm) != nullptr) {
    what = sm + "=" + *set;
    remedy = "unset " + sm + "; " + remedy;
  }
  add(findings, {Grade::kWarning, kTopic,
                 what + ": osc/sm is above osc/ucx, and gets windows of MPI_Win_allocate within a "
                        "host, which are not verified",
                 remedy});
}

void check_osc(const Facts& facts, Findings* findings) {
  const std::string* osc = value_of(facts, "OMPI_MCA_osc");
  const std::string* wanted = find_value(facts.wanted, "OMPI_MCA_osc");
  if (wanted == nullptr) return;
  if (osc != nullptr && *osc == *wanted) {
    check_osc_priority(facts, findings);
    return;
  }
  const std::string what = osc == nullptr ? "OMPI_MCA_osc is not set" : "OMPI_MCA_osc=" + *osc;
  const std::string effect = osc != nullptr && *osc == "ucx"
                                 ? ": programs that call MPI_Win_allocate_shared end"
                                 : ": MPI windows may use components that are not verified";
  add(findings, {Grade::kWarning, kTopic, what + effect, export_as_env(facts, "OMPI_MCA_osc")});
}

}  // namespace

bool verifies_windows(const Facts& facts) {
  const std::string* osc = value_of(facts, "OMPI_MCA_osc");
  if (osc == nullptr) return false;
  return *osc == "ucx" || ((*osc == "ucx,sm" || *osc == "sm,ucx") && osc_ucx_is_above_sm(facts));
}

void check_open_mpi_settings(const Facts& facts, Findings* findings) {
  // An Open MPI that is not in PATH yet reads the variable as well.
  if (!facts.open_mpi && value_of(facts, "OMPI_MCA_pml") != nullptr) check_pml(facts, findings);
  if (!facts.open_mpi || !facts.open_mpi->pml_ucx) return;
  check_pml(facts, findings);
  check_filter(facts, findings);
  check_osc(facts, findings);
}

}  // namespace verity::tools
