// SPDX-License-Identifier: BSD-3-Clause
//
// Assignments in the languages of shells.
#ifndef VERITY_TOOLS_ENV_SHELL_H
#define VERITY_TOOLS_ENV_SHELL_H

#include <optional>
#include <string>
#include <string_view>

namespace verity::tools {

enum class Shell { kSh, kCsh, kFish, kSlurm };

// sh, bash, dash, ksh, zsh; csh, tcsh; fish; slurm: what a TaskProlog prints, whose values are
// taken as they are.
[[nodiscard]] std::optional<Shell> parse_shell(std::string_view name);

// `text` as one word of the shell. Newlines cannot be quoted in csh: not to be used there.
[[nodiscard]] std::string quote(Shell shell, std::string_view text);

// A line that exports `name` with `value`, with its newline. It ends with a semicolon, so that the
// lines survive being joined into one (csh's backquotes do that).
[[nodiscard]] std::string export_line(Shell shell, std::string_view name, std::string_view value);

}  // namespace verity::tools

#endif
