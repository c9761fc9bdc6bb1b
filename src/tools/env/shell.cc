// SPDX-License-Identifier: BSD-3-Clause
#include "tools/env/shell.h"

#include <algorithm>
#include <cctype>

namespace verity::tools {

namespace {

bool is_plain(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_-./,:+@").find(c) != std::string_view::npos;
}

std::string quoted_character(Shell shell, char c) {
  switch (shell) {
    case Shell::kSh: return c == '\'' ? "'\\''" : std::string(1, c);
    case Shell::kCsh:
      // History is expanded within single quotes too.
      if (c == '!') return "\\!";
      return c == '\'' ? "'\\''" : std::string(1, c);
    case Shell::kFish: return c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
    case Shell::kSlurm: break;
  }
  return std::string(1, c);
}

}  // namespace

std::optional<Shell> parse_shell(std::string_view name) {
  for (const char* sh : {"sh", "bash", "dash", "ksh", "zsh"}) {
    if (name == sh) return Shell::kSh;
  }
  if (name == "csh" || name == "tcsh") return Shell::kCsh;
  if (name == "fish") return Shell::kFish;
  if (name == "slurm") return Shell::kSlurm;
  return std::nullopt;
}

std::string quote(Shell shell, std::string_view text) {
  if (shell == Shell::kSlurm) return std::string(text);
  if (!text.empty() && std::all_of(text.begin(), text.end(), is_plain)) return std::string(text);
  std::string word = "'";
  for (const char c : text) word += quoted_character(shell, c);
  return word + "'";
}

std::string export_line(Shell shell, std::string_view name, std::string_view value) {
  const std::string word = quote(shell, value);
  const std::string variable(name);
  switch (shell) {
    case Shell::kSh: return "export " + variable + "=" + word + ";\n";
    case Shell::kCsh: return "setenv " + variable + " " + word + ";\n";
    case Shell::kFish: return "set -gx " + variable + " " + word + ";\n";
    case Shell::kSlurm: return "export " + variable + "=" + word + "\n";
  }
  return {};
}

}  // namespace verity::tools
