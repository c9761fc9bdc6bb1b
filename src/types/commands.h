// SPDX-License-Identifier: BSD-3-Clause
//
// The sub-commands of verity-types. Each adds itself to the command line; its callback sets
// *exit_code.
#ifndef VERITY_TYPES_COMMANDS_H
#define VERITY_TYPES_COMMANDS_H

#include <CLI/CLI.hpp>

namespace verity::types {

inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 2;  // wrong use

void add_sig_command(CLI::App& app, int* exit_code);
void add_normalize_command(CLI::App& app, int* exit_code);
// Of which main() knows before it reads the command line: its options are another program's.
void add_automap_command(CLI::App& app);
// Runs that program with the arguments from `automap` on, in place of this one; returns only when
// it cannot.
int run_automap(char** argv);
// Of `sig`.
void add_of_command(CLI::App& sig, int* exit_code);

}  // namespace verity::types

#endif
