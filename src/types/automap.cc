// SPDX-License-Identifier: BSD-3-Clause
//
// `verity-types automap` is a program of its own, as it needs libclang and this one does not.
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "types/commands.h"

namespace verity::types {

namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "verity-types-automap";

// Beside this program, as in a build folder; in an installation that was moved; or where it was to
// be installed.
fs::path find_program() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  const fs::path installed = fs::path(VERITY_LIBEXECDIR) / kProgram;
  for (const fs::path& program :
       {here / kProgram, here.parent_path() / "libexec/ucx-verity" / kProgram}) {
    if (access(program.c_str(), X_OK) == 0) return program;
  }
  return installed;
}

}  // namespace

int run_automap(char** argv) {
  const fs::path program = find_program();
  execv(program.c_str(), argv);
  if (errno == ENOENT) {
    std::fprintf(stderr,
                 "verity-types automap: %s is not installed. It is built where libclang is "
                 "(configure --with-libclang; Debian: "
                 "libclang-dev), and may be in a package of its own\n",
                 program.c_str());
  } else {
    std::fprintf(stderr, "verity-types automap: %s: %s\n", program.c_str(), std::strerror(errno));
  }
  return kExitError;
}

void add_automap_command(CLI::App& app) {
  app.add_subcommand(
      "automap",
      "MPI datatypes, signatures and traversal functions for the structs of C and C++ headers");
}

}  // namespace verity::types
