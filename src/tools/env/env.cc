// SPDX-License-Identifier: BSD-3-Clause
//
// `ucx-verity env`: the variables, in the language of a shell.
#include "tools/env/env.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "health/report/bypass.h"
#include "policy/policy_file.h"
#include "tools/commands.h"
#include "tools/env/install.h"
#include "tools/env/shell.h"
#include "tools/env/site.h"
#include "tools/env/transports.h"
#include "tools/ucx_query.h"

namespace verity::tools {

namespace {

struct EnvOptions {
  JobRequest job;
  std::string shell = "sh";
  bool json = false;
};

std::string from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void print_json(const JobEnvironment& environment) {
  nlohmann::ordered_json json;
  json["ucx"] = environment.ucx_version;
  json["transports"] = environment.transports;
  auto& variables = json["environment"] = nlohmann::ordered_json::object();
  for (const Variable& variable : environment.variables) {
    variables[variable.name] = variable.value;
  }
  std::printf("%s\n", json.dump(2).c_str());
}

// A shell that evaluates the answer sees neither this command's status nor, in a job's script, its
// words: a command that fails is an answer whose evaluation fails.
int fail(const EnvOptions& options, const std::string& why) {
  std::fprintf(stderr, "ucx-verity env: %s\n", why.c_str());
  if (!options.json && parse_shell(options.shell) != Shell::kSlurm) std::puts("false;");
  return kExitError;
}

int run(const EnvOptions& options) {
  const auto shell = parse_shell(options.shell);
  if (!shell) return fail(options, "unknown shell '" + options.shell + "': sh, csh, fish or slurm");
  if (!options.job.typecheck.empty() && options.job.typecheck != "warn" &&
      options.job.typecheck != "error") {
    return fail(options, "unknown type check '" + options.job.typecheck + "': warn or error");
  }
  const JobEnvironment environment = job_environment(query_ucx(), options.job);
  for (const std::string& error : environment.policy.errors)
    std::fprintf(stderr, "ucx-verity env: %s; the file is not used\n", error.c_str());
  if (!environment.error.empty()) return fail(options, environment.error);
  if (options.json) {
    print_json(environment);
    return kExitOk;
  }
  for (const Variable& variable : environment.variables) {
    std::fputs(export_line(*shell, variable.name, variable.value).c_str(), stdout);
  }
  return kExitOk;
}

// UCX_TLS as the user has it stays, but for wrappers' names of an earlier evaluation.
std::string transparent_tls(const JobRequest& request, const Selection& selection) {
  if (!request.tls.empty()) return without_wrappers(selection.ucx_tls);
  const std::string now = from_environment("UCX_TLS");
  return health::names_wrapper(now) && without_wrappers(now) != now ? without_wrappers(now) : "";
}

std::string missing_plugin(const Install& install, const std::string& ucx_version) {
  std::string text = "no plugin for UCX " + ucx_version + " in " + install.base;
  if (!install.versions.empty()) text += " (there are: " + join(install.versions, ", ") + ")";
  return text + "\nbuild and install ucx-verity against this UCX";
}

}  // namespace

JobEnvironment job_environment(const UcxInfo& ucx, const JobRequest& given) {
  JobEnvironment result;
  result.ucx_version = ucx.version;
  JobRequest request = given;
  const Install install =
      request.prefix.empty() ? find_install(ucx.version) : read_prefix(request.prefix, ucx.version);
  if (!install.module_dir.empty()) result.policy = policy::read_site(install.module_dir);
  const Transparency names =
      transparency(result.policy, request.transparent, from_environment("UCX_VERITY_TRANSPARENT"));
  request.transparent = names.on;
  result.error = names.error;
  const auto available = lower_transports(ucx.devices);
  const Selection selection = !request.tls.empty()  ? select(request.tls, available)
                              : request.transparent ? select("all", available)
                                                    : select_default(available);
  if (result.error.empty() && install.module_dir.empty())
    result.error = missing_plugin(install, ucx.version);
  const Version version = parse_version(ucx.version);
  if (result.error.empty() && install.preload.empty() && needs_preload(version)) {
    result.error = "no libverity_preload.so in " + install.base + ": install ucx-verity again";
  }
  if (result.error.empty() && !request.typecheck.empty() && install.interposers.empty()) {
    result.error = "no libverity_mpi_openmpi.so or libverity_mpi_mpich.so in " + install.base +
                   ": they are built where configure finds mpicc.openmpi, mpicc.mpich or mpicc";
  }
  if (result.error.empty()) result.error = selection.error;
  if (!result.error.empty()) return result;
  result.transports = selection.lower;
  // By the user: "any" is the value of an earlier evaluation.
  const std::string filter = from_environment("OMPI_MCA_opal_common_ucx_tls");
  const bool filter_is_set = !filter.empty() && filter != "any";
  result.variables = make_environment(
      {.ucx = version,
       .preload = install.preload,
       .module_dir = install.module_dir,
       .ucx_tls = request.transparent ? transparent_tls(request, selection) : selection.ucx_tls,
       .transparent = request.transparent,
       .was_transparent = !from_environment("UCX_VERITY_TRANSPARENT").empty(),
       .opens_filter =
           !request.transparent || (!filter_is_set && !pass_open_mpi_filter(ucx.devices)),
       .old_preload = from_environment("LD_PRELOAD"),
       .old_plugin_path = from_environment("UCX_PLUGIN_PATH"),
       .interposers = install.interposers,
       .typecheck = request.typecheck});
  return result;
}

void use_site_health_dir() {
  constexpr const char* kName = "UCX_VERITY_HEALTH_DIR";
  // Any folder below it has the same file beside it.
  const policy::Policy policy = policy::read_site(find_install("").base + "/any");
  if (const policy::Entry* entry = policy.find(kName); entry != nullptr)
    (void)setenv(kName, entry->value.c_str(), entry->locked ? 1 : 0);
}

void add_env_command(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<EnvOptions>();
  CLI::App* command = app.add_subcommand("env", "Print the environment that loads the plugin");
  command
      ->add_option("--tls", options->job.tls,
                   "Transports to wrap: names (tcp), wrappers (vtcp), aliases (rc, ud, sm) or "
                   "all; default: InfiniBand if present, posix or sysv, tcp, self")
      ->type_name("LIST");
  command
      ->add_option("--shell", options->shell,
                   "Language: sh (default), csh, fish, or slurm for a TaskProlog")
      ->type_name("SHELL");
  command
      ->add_option("--typecheck", options->job.typecheck,
                   "Compare the MPI datatypes of sends and receives: warn (report) or error (also "
                   "MPI_ERR_TYPE)")
      ->type_name("WHAT");
  command->add_flag("--transparent", options->job.transparent,
                    "Wrap transports under UCX's own names: UCX_TLS and Open MPI's filters stay as "
                    "they are");
  command->add_flag_callback(
      "--shared-windows", [] {},
      "Accepted for older scripts: MPI_Win_allocate_shared works without it");
  command->add_flag("--json", options->json, "Print JSON instead of shell lines");
  command->footer("Use: eval \"$(ucx-verity env --tls tcp,posix,self)\"");
  command->callback([options, exit_code] { *exit_code = run(*options); });
}

}  // namespace verity::tools
