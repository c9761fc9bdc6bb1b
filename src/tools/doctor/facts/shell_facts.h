// SPDX-License-Identifier: BSD-3-Clause
//
// What `doctor` gathers about the shell it was started in. UCX is initialised in child processes:
// each sees one environment, and a plugin that crashes takes none but itself along.
#ifndef VERITY_TOOLS_DOCTOR_FACTS_SHELL_FACTS_H
#define VERITY_TOOLS_DOCTOR_FACTS_SHELL_FACTS_H

#include <string>
#include <vector>

#include "tools/doctor/checks/diagnosis.h"

namespace verity::tools {

inline constexpr int kProbeSeconds = 30;

// Names of the variables of this shell that UCX would read.
[[nodiscard]] std::vector<std::string> ucx_variables();

// `set`, behind what keeps a child process that opens UCX from leaving traces: no health file,
// attestation or log.
[[nodiscard]] std::vector<Variable> probe_environment(const std::vector<Variable>& set);

// UCX in this shell's environment with `set` and without `unset`; with a context opened, as a
// program does, or without.
[[nodiscard]] ProbeResult probe_ucx(const std::vector<Variable>& set,
                                    const std::vector<std::string>& unset, bool with_context);

// `facts`: what is known about UCX and the installation, and `wanted`.
[[nodiscard]] ShellFacts gather_shell(const Facts& facts);

}  // namespace verity::tools

#endif
