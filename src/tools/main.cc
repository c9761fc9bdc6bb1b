// SPDX-License-Identifier: BSD-3-Clause
#include <exception>

#include "tools/commands.h"
#include "util/build_config.h"

int main(int argc, char** argv) {
  CLI::App app("Verified active messages for UCX: set up, check and measure", "ucx-verity");
  app.set_version_flag("--version", PACKAGE_VERSION " for UCX " VERITY_UCX_VERSION);
  app.require_subcommand(1);
  int exit_code = verity::tools::kExitOk;
  verity::tools::add_env_command(app, &exit_code);
  verity::tools::add_doctor_command(app, &exit_code);
  verity::tools::add_bench_command(app, argv, &exit_code);
  verity::tools::add_report_command(app, &exit_code);
  verity::tools::add_status_command(app, &exit_code);
  verity::tools::add_top_command(app, &exit_code);
  verity::tools::add_check_command(app, &exit_code);
  verity::tools::add_export_command(app, &exit_code);
  verity::tools::add_probe_command(app, &exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? verity::tools::kExitOk : verity::tools::kExitError;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ucx-verity: %s\n", error.what());
    return verity::tools::kExitError;
  }
  return exit_code;
}
