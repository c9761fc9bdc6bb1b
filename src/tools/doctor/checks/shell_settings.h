// SPDX-License-Identifier: BSD-3-Clause
//
// What is wrong with the values of this shell's variables.
#ifndef VERITY_TOOLS_DOCTOR_CHECKS_SHELL_SETTINGS_H
#define VERITY_TOOLS_DOCTOR_CHECKS_SHELL_SETTINGS_H

#include <string>
#include <string_view>

#include "tools/doctor/checks/diagnosis.h"

namespace verity::tools {

// The entry of LD_PRELOAD that is libverity_preload.so; empty: none.
[[nodiscard]] std::string preload_entry(std::string_view preload);

// The remedy: the value that `env` gives the variable.
[[nodiscard]] std::string export_as_env(const Facts& facts, const std::string& name);

// Adds what makes Open MPI go past UCX, refuse wrapped transports, or use windows without UCX.
void check_open_mpi_settings(const Facts& facts, Findings* findings);

// Adds bad values, misspelt names, folders that do not exist, a mode that verifies less, type
// checks without their library.
void check_settings(const Facts& facts, Findings* findings);

}  // namespace verity::tools

#endif
