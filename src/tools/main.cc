// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string_view>

#include "blame/verdict.h"
#include "tools/commands.h"
#include "util/build_config.h"

namespace {

// With UCX_LOG_LEVEL=debug UCX's libraries write to stdout when they are loaded: among what shells
// and monitoring are to read. Before that, stdout becomes stderr, until main().
int real_stdout = -1;
void divert_stdout() {
  real_stdout = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (real_stdout >= 0) dup2(STDERR_FILENO, STDOUT_FILENO);
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)() = divert_stdout;

void restore_stdout() {
  std::fflush(stdout);
  if (real_stdout < 0) return;
  dup2(real_stdout, STDOUT_FILENO);
  close(real_stdout);
}

// A full disk is no success; for check, which wrote a line that did not come, it is no result.
int finish(int exit_code, bool is_check) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit_code;
  std::fprintf(stderr, "ucx-verity: cannot write the output: %s\n", std::strerror(errno));
  if (exit_code != verity::tools::kExitOk) return exit_code;
  return is_check ? static_cast<int>(verity::blame::Level::kUnknown) : verity::tools::kExitError;
}

}  // namespace

int main(int argc, char** argv) {
  restore_stdout();
  CLI::App app("Set up, check and measure verified UCX transports", "ucx-verity");
  app.set_version_flag("--version", PACKAGE_VERSION " for UCX " VERITY_UCX_VERSION);
  app.require_subcommand(1);
  int exit_code = verity::tools::kExitOk;
  verity::tools::add_env_command(app, &exit_code);
  verity::tools::add_doctor_command(app, &exit_code);
  verity::tools::add_bench_command(app, argc, argv, &exit_code);
  verity::tools::add_acceptance_command(app, argc, argv, &exit_code);
  verity::tools::add_report_command(app, &exit_code);
  verity::tools::add_status_command(app, &exit_code);
  verity::tools::add_top_command(app, &exit_code);
  verity::tools::add_check_command(app, &exit_code);
  verity::tools::add_export_command(app, &exit_code);
  verity::tools::add_probe_command(app, &exit_code);
  const bool is_check = argc > 1 && std::string_view(argv[1]) == "check";
  try {
    verity::tools::use_site_health_dir();
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (is_check && error.get_exit_code() != 0)
      return verity::tools::check_refused(argc, argv, error.what());
    return app.exit(error) == 0 ? verity::tools::kExitOk : verity::tools::kExitError;
  } catch (const std::exception& error) {
    if (is_check) return verity::tools::check_refused(argc, argv, error.what());
    std::fprintf(stderr, "ucx-verity: %s\n", error.what());
    return verity::tools::kExitError;
  }
  return finish(exit_code, is_check);
}
