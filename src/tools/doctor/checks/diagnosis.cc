// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/checks/diagnosis.h"

#include <algorithm>

#include "health/report/bypass.h"
#include "tools/env/transports.h"

namespace verity::tools {

namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

void check_ucx(const Facts& facts, Findings* findings) {
  Finding finding{Grade::kOk, "UCX", facts.ucx.version + ", " + facts.ucx.library, ""};
  if (facts.ucx.version != facts.built_for) {
    finding.text += "; this command was built for " + facts.built_for;
    if (facts.install.module_dir.empty()) {
      finding.grade = Grade::kBroken;
      finding.advice = "build ucx-verity against UCX " + facts.ucx.version +
                       "; several versions may be installed side by side";
    }
  }
  findings->push_back(finding);
}

void check_plugin(const Facts& facts, Findings* findings) {
  Finding finding{Grade::kBroken, "plugin", "", ""};
  if (facts.install.module_dir.empty()) {
    finding.text = "none for UCX " + facts.ucx.version + " in " + facts.install.base;
    if (!facts.install.versions.empty()) {
      finding.text += "; there are: " + join(facts.install.versions, ", ");
    }
    finding.advice = in_container(facts, "build and install ucx-verity against this UCX");
  } else if (!facts.plugin.exists) {
    finding.text = facts.plugin.file + " is missing: UCX looks for modules that end in '" +
                   facts.ucx.suffix + "'";
    finding.advice = "install ucx-verity again, or link it to libuct_verity.so";
  } else if (!facts.plugin.error.empty()) {
    finding.text = "cannot be loaded: " + facts.plugin.error;
    finding.advice =
        "UCX says nothing about this: it skips the module. Mend what the message names";
  } else {
    finding = {Grade::kOk, "plugin", facts.plugin.file, ""};
  }
  findings->push_back(finding);
}

void check_loader(const Facts& facts, Findings* findings) {
  const auto wrapped = wrappers(facts.probe.ucx.devices);
  Finding finding{Grade::kOk, "loader", "UCX loads the plugin in the environment of 'env'", ""};
  if (needs_preload(parse_version(facts.ucx.version)) && facts.install.preload.empty()) {
    finding = {Grade::kBroken, "loader", "no libverity_preload.so in " + facts.install.base,
               in_container(facts, "install ucx-verity again")};
  } else if (!facts.probe.ran) {
    finding = {Grade::kBroken, "loader", "a child process with the plugin failed", ""};
  } else if (wrapped.empty()) {
    finding = {Grade::kBroken, "loader", "UCX offers no wrapped transport with the plugin", ""};
  }
  // The plugin's own words, or UCX's, say most.
  const bool broken = finding.grade == Grade::kBroken;
  if (!facts.probe.messages.empty() && broken) {
    finding.text += ": " + first_line(facts.probe.messages);
  } else if (broken && finding.advice.empty()) {
    finding.advice = "see UCX's reasons: UCX_MODULE_LOG_LEVEL=error ucx_info -d";
  }
  findings->push_back(finding);
}

std::string devices_of(const std::string& transport, const std::vector<Device>& devices) {
  std::vector<std::string> names;
  for (const Device& device : devices) {
    if (device.transport == transport) names.push_back(device.device);
  }
  return transport + " (" + join(names, ", ") + ")";
}

void check_transports(const Facts& facts, Findings* findings) {
  const auto& devices = facts.probe.ran ? facts.probe.ucx.devices : facts.ucx.devices;
  const auto wrapped = wrappers(devices);
  std::vector<std::string> texts;
  for (const std::string& name : wrapped) texts.push_back(devices_of(name, devices));
  if (!texts.empty()) findings->push_back({Grade::kOk, "wrapped", join(texts, ", "), ""});
  for (const std::string& name : lower_transports(devices)) {
    if (std::find(wrapped.begin(), wrapped.end(), wrapper_of(name)) != wrapped.end()) continue;
    std::string why = not_wrappable_because(name);
    const Grade grade = why.empty() ? Grade::kWarning : Grade::kOk;
    if (why.empty()) why = "the plugin made no wrapper";
    findings->push_back({grade, "not wrapped", name + ": " + why, ""});
  }
}

constexpr const char* kThisUcx = ", on this UCX";

void check_mpi_library(const std::string& topic, const std::string& library, const Facts& facts,
                       Findings* findings) {
  if (library.empty() || library == facts.ucx.library) return;
  findings->push_back({Grade::kWarning, topic, "it uses another UCX: " + library,
                       "run 'ucx-verity doctor' with that UCX in LD_LIBRARY_PATH"});
}

// What carries the windows, and what stock Open MPI's osc/ucx gets wrong on stock UCX too.
void check_osc_ucx(const Facts& facts, Findings* findings) {
  const OpenMpi& mpi = *facts.open_mpi;
  if (verifies_windows(facts)) {  // else the shell's findings say what is in the way
    findings->push_back({Grade::kOk, "Open MPI",
                         "windows: osc/ucx, verified; those of MPI_Win_allocate_shared are plain "
                         "shared memory: nothing to verify",
                         ""});
  }
  if (parse_version(mpi.version).major > 4) return;
  findings->push_back({Grade::kOk, "Open MPI",
                       "errors of this osc/ucx, with and without the plugin: MPI_Fetch_and_op on "
                       "8- and 16-bit types does nothing; "
                       "MPI_Accumulate and MPI_Get_accumulate on several elements of a pair type "
                       "(MPI_DOUBLE_INT) write past its "
                       "buffer; dynamic windows with several attached regions may not find them",
                       "such programs need osc/rdma, which is not verified: OMPI_MCA_osc=rdma"});
}

void check_open_mpi(const Facts& facts, Findings* findings) {
  if (!facts.open_mpi) return;
  const OpenMpi& mpi = *facts.open_mpi;
  Finding finding{Grade::kOk, "Open MPI", mpi.version, ""};
  if (!mpi.pml_ucx) {
    finding = {Grade::kWarning, "Open MPI", mpi.version + " has no UCX: it cannot use the plugin",
               "use an Open MPI that was configured --with-ucx"};
  } else {
    finding.text += mpi.osc_ucx ? ", with pml/ucx and osc/ucx" : ", with pml/ucx";
    if (mpi.ucx_library == facts.ucx.library) finding.text += kThisUcx;
  }
  findings->push_back(finding);
  if (mpi.pml_ucx && !mpi.osc_ucx) {
    findings->push_back({Grade::kWarning, "Open MPI", "no osc/ucx: MPI windows cannot be used",
                         "other one-sided components are not verified"});
  }
  if (mpi.pml_ucx && mpi.osc_ucx) check_osc_ucx(facts, findings);
  check_mpi_library("Open MPI", mpi.ucx_library, facts, findings);
  const auto collective = [&](bool there, const std::string& name) {
    const std::string variable = "OMPI_MCA_coll_" + name + "_enable";
    const std::string* now = find_value(facts.shell.set, variable);
    if (!there || (now != nullptr && *now == "0")) return;
    findings->push_back({Grade::kWarning, "unverified",
                         "coll/" + name + " may carry collectives past UCX",
                         "export " + variable + "=0"});
  };
  collective(mpi.hcoll, "hcoll");
  collective(mpi.ucc, "ucc");
}

void check_mpich(const Facts& facts, Findings* findings) {
  if (!facts.mpich) return;
  const Mpich& mpi = *facts.mpich;
  std::string what = mpi.version + ", " + mpi.device;
  if (mpi.device.find("ucx") == std::string::npos) {
    findings->push_back({Grade::kWarning, "MPICH", what + ": it cannot use the plugin",
                         "use an MPICH that was configured --with-device=ch4:ucx"});
    return;
  }
  if (mpi.ucx_library == facts.ucx.library) what += kThisUcx;
  findings->push_back({Grade::kOk, "MPICH", what, ""});
  check_mpi_library("MPICH", mpi.ucx_library, facts, findings);
  const std::string* nolocal = find_value(facts.shell.set, "MPIR_CVAR_NOLOCAL");
  if (mpi.direct_auto && (nolocal == nullptr || *nolocal != "1")) {
    findings->push_back({Grade::kWarning, "unverified",
                         "this MPICH moves data within a node past UCX",
                         "export MPIR_CVAR_NOLOCAL=1"});
  }
}

}  // namespace

const std::string* find_value(const std::vector<Variable>& variables, std::string_view name) {
  for (const Variable& variable : variables) {
    if (variable.name == name) return &variable.value;
  }
  return nullptr;
}

const std::string* value_for_jobs(const ShellFacts& shell, std::string_view name) {
  const std::string* value = find_value(shell.set, name);
  return value != nullptr ? value : find_value(shell.set_by_file, name);
}

Findings diagnose(const Facts& facts) {
  Findings findings;
  check_ucx(facts, &findings);
  check_plugin(facts, &findings);
  check_loader(facts, &findings);
  const bool works = worst(findings) != Grade::kBroken;
  if (works) check_transports(facts, &findings);
  check_open_mpi(facts, &findings);
  check_mpich(facts, &findings);
  if (!facts.open_mpi && !facts.mpich) {
    findings.push_back({Grade::kOk, "MPI", "neither ompi_info nor mpichversion in PATH", ""});
  }
  if (works || !is_active(facts)) {
    diagnose_shell(facts, &findings);
  } else {  // whatever the shell says: UCX finds none of the transports that it names
    for (Finding& finding : findings) finding.effect = effect_of_no_plugin(facts);
  }
  diagnose_host(facts, &findings);
  return findings;
}

}  // namespace verity::tools
