// SPDX-License-Identifier: BSD-3-Clause
//
// The sub-commands. Each adds itself to the command line; its callback sets *exit_code.
#ifndef VERITY_TOOLS_COMMANDS_H
#define VERITY_TOOLS_COMMANDS_H

#include <CLI/CLI.hpp>
#include <string>

namespace verity::tools {

// Exit codes of every sub-command.
inline constexpr int kExitOk = 0;
inline constexpr int kExitWarning =
    1;  // doctor: works, but ...; bench: a limit was passed; report: faults
inline constexpr int kExitError = 2;     // broken, or wrong use
inline constexpr int kExitInactive = 3;  // doctor: this shell does not request verification

void add_env_command(CLI::App& app, int* exit_code);
void add_doctor_command(CLI::App& app, int* exit_code);
// `argc`, `argv`: of main(), for the reports.
void add_bench_command(CLI::App& app, int argc, char** argv, int* exit_code);
void add_acceptance_command(CLI::App& app, int argc, char** argv, int* exit_code);
void add_status_command(CLI::App& app, int* exit_code);
void add_top_command(CLI::App& app, int* exit_code);

void add_report_command(CLI::App& app, int* exit_code);

// Exit codes as monitoring plugins have them: 0 ok, 1 warning, 2 critical, 3 unknown.
void add_check_command(CLI::App& app, int* exit_code);
// `check` could not be run: says so as its caller reads it, and returns the exit code, which drains
// no node.
[[nodiscard]] int check_refused(int argc, char** argv, const std::string& why);
void add_export_command(CLI::App& app, int* exit_code);

// Hidden: prints what UCX offers this process as JSON. `doctor` runs it in a child with the
// environment that `env` prints.
void add_probe_command(CLI::App& app, int* exit_code);

// Makes the site's UCX_VERITY_HEALTH_DIR that of this process, as the plugin does. Before threads.
void use_site_health_dir();

}  // namespace verity::tools

#endif
