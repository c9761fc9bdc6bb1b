// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <exception>
#include <string_view>

#include "types/commands.h"
#include "util/build_config.h"

int main(int argc, char** argv) {
  using namespace verity::types;
  if (argc > 1 && std::string_view(argv[1]) == "automap") return run_automap(argv + 1);
  CLI::App app("Tools for MPI datatypes and their signatures", "verity-types");
  app.set_version_flag("--version", PACKAGE_VERSION);
  app.callback([&app] {
    // Here and not by require_subcommand(), which says nothing of a command that is misspelt.
    if (app.get_subcommands().empty())
      throw CLI::RequiredError("A command (sig, normalize or automap)");
  });
  int exit_code = kExitOk;
  add_sig_command(app, &exit_code);
  add_normalize_command(app, &exit_code);
  add_automap_command(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kExitOk : kExitError;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "verity-types: %s\n", error.what());
    return kExitError;
  }
  return exit_code;
}
