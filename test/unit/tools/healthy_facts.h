// SPDX-License-Identifier: BSD-3-Clause
//
// What tests of `doctor`'s conclusions start from.
#ifndef VERITY_TEST_UNIT_TOOLS_HEALTHY_FACTS_H
#define VERITY_TEST_UNIT_TOOLS_HEALTHY_FACTS_H

#include <algorithm>
#include <string>

#include "tools/doctor/checks/diagnosis.h"

namespace verity::tools {

// A machine and a shell where all is well.
inline Facts healthy() {
  Facts facts;
  facts.ucx = {
      .version = "1.13.1",
      .library = "/usr/lib/libucp.so.0",
      .suffix = ".so.0",
      .devices = {
          {"self", "memory0", "self"}, {"tcp", "lo", "tcp", true}, {"cuda_ipc", "memory", "cuda"}}};
  facts.built_for = "1.13.1";
  facts.install = {.preload = "/opt/v/libverity_preload.so",
                   .interposers = {},
                   .module_dir = "/opt/v/1.13.1",
                   .versions = {"1.13.1"},
                   .base = "/opt/v"};
  facts.plugin = {.file = "/opt/v/1.13.1/libuct_verity.so.0", .exists = true, .error = ""};
  facts.probe.ran = true;
  facts.probe.ucx.devices = facts.ucx.devices;
  facts.probe.ucx.devices.push_back({"vself", "memory0", "verity"});
  facts.probe.ucx.devices.push_back({"vtcp", "lo", "verity", true});
  facts.open_mpi = OpenMpi{.version = "4.1.4",
                           .pml_ucx = true,
                           .osc_ucx = true,
                           .hcoll = false,
                           .ucc = false,
                           .ucx_library = "/usr/lib/libucp.so.0",
                           .pml = "ucx",
                           .pml_source = "environment"};
  facts.wanted = {{"LD_PRELOAD", "/opt/v/libverity_preload.so"},
                  {"UCX_MODULE_DIR", "/opt/v/1.13.1"},
                  {"UCX_TLS", "vtcp,vself"},
                  {"OMPI_MCA_pml", "ucx"},
                  {"OMPI_MCA_osc", "ucx,sm"},
                  {"OMPI_MCA_osc_ucx_priority", "200"},
                  {"OMPI_MCA_opal_common_ucx_tls", "any"}};
  facts.shell.set = facts.wanted;
  facts.shell.preload_exists = true;
  facts.shell.module_dir_fits = true;
  facts.shell.probe = facts.probe;
  facts.shell.probe.context.lanes = {{"vself", "memory0"}, {"vtcp", "lo"}};
  return facts;
}

inline void set(Facts* facts, const std::string& name, const std::string& value) {
  for (Variable& variable : facts->shell.set) {
    if (variable.name == name) {
      variable.value = value;
      return;
    }
  }
  facts->shell.set.push_back({name, value});
}

// A finding of this grade whose text or advice holds `words`.
inline bool has(const Facts& facts, Grade grade, const std::string& words) {
  const auto findings = diagnose(facts);
  return std::any_of(findings.begin(), findings.end(), [&](const Finding& finding) {
    return finding.grade == grade &&
           (finding.text + finding.advice).find(words) != std::string::npos;
  });
}

}  // namespace verity::tools

#endif
