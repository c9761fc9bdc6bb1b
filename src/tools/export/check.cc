// SPDX-License-Identifier: BSD-3-Clause
//
// `ucx-verity check`: one line and an exit code, for node health checks. Reads this host's files
// alone, in bounded time.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <set>

#include "tools/commands.h"
#include "tools/export/check_text.h"
#include "tools/export/gather.h"
#include "tools/export/trust.h"
#include "util/text.h"

namespace verity::tools {

namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
// A check that hangs is worse than one that saw most files.
constexpr auto kTime = std::chrono::milliseconds(80);
constexpr std::size_t kMostFiles = 20000;

struct CheckOptions {
  std::string ledger = default_ledger();
  std::vector<std::string> directories;
  std::uint64_t hours = 24;
  blame::Thresholds thresholds;
  blame::Level drain_on = blame::Level::kCritical;
  bool drain = true;  // false: never
  bool nhc = false;
  bool slurm = false;
  bool injected = false;
  bool json = false;
  bool require_traffic = false;
  std::vector<std::string> trust;
  std::string config;
};

// Which file it is, as the exporter replaces it.
struct Version {
  ino_t inode = 0;
  std::int64_t seconds = 0, nanoseconds = 0;
  explicit Version(const std::string& path) {
    struct stat info {};
    if (stat(path.c_str(), &info) != 0) return;
    inode = info.st_ino;
    seconds = info.st_mtim.tv_sec;
    nanoseconds = info.st_mtim.tv_nsec;
  }
  bool operator==(const Version&) const = default;
};

Gathered gather_once(const CheckOptions& options, Ledger& ledger) {
  ledger = {};
  std::string no_ledger;
  if (access(options.ledger.c_str(), F_OK) == 0)
    no_ledger = load_ledger(options.ledger, &ledger).problem;
  const auto directories =
      options.directories.empty() ? health::default_directories() : options.directories;
  const auto deadline = std::chrono::steady_clock::now() + kTime;
  Gathered gathered = gather(directories, ledger, {kMostFiles, deadline, true}, 0);
  if (!no_ledger.empty()) gathered.blind.push_back("the ledger: " + no_ledger);
  return gathered;
}

// Files that the exporter took meanwhile are in the ledger, and not in the one that was read: all
// of it once more.
Gathered gather_with_ledger(const CheckOptions& options, Ledger& ledger) {
  const Version before(options.ledger);
  Gathered gathered = gather_once(options, ledger);
  return Version(options.ledger) == before ? gathered : gather_once(options, ledger);
}

Checked examine(const CheckOptions& options) {
  const blame::Trust trust = trust_of(options.trust);
  Ledger ledger;
  const Gathered gathered = gather_with_ledger(options, ledger);
  const std::uint64_t now = health::realtime_ns() / kNsPerSecond;
  auto paths = recent(ledger, gathered.totals, now, options.hours);
  const std::uint64_t injected = options.injected ? 0 : leave_out_injected(paths);
  Checked checked = conclude(blame::verdict_of(paths, options.thresholds, trust), gathered, trust,
                             options.hours, options.require_traffic);
  checked.injected = injected;
  if (injected != 0)
    checked.notes.push_back(std::to_string(injected) +
                            " injected by a test transport left out, see --injected");
  return checked;
}

bool drains(const CheckOptions& options, const Checked& checked) {
  const blame::Level level = checked.verdict.level;
  return options.drain && !checked.idle && level != blame::Level::kUnknown &&
         level >= options.drain_on && level != blame::Level::kOk;
}

// For the log of a node health check, which decides: nothing is known to be wrong with the node.
int not_checked(const std::string& why) {
  std::fprintf(stderr, "ucx-verity check: not checked: %s\n", why.c_str());
  return 0;
}

// What a node health check and Slurm want: 0, silent where everything was read; or the reason
// and 1.
int print_reason(const CheckOptions& options, const Checked& checked) {
  if (checked.verdict.level == blame::Level::kUnknown)
    return not_checked("cannot read " + checked.blind.front());
  for (const std::string& text : checked.partial)
    std::fprintf(stderr, "ucx-verity check: examined only a part of %s\n", text.c_str());
  if (!drains(options, checked)) return 0;
  std::printf("%sucx-verity: %s\n", options.nhc ? "ERROR:  " : "", checked.verdict.text.c_str());
  return 1;
}

int run(const CheckOptions& options) {
  const Checked checked = examine(options);
  if (options.nhc || options.slurm) return print_reason(options, checked);
  if (options.json) {
    std::fputs(check_json(checked).c_str(), stdout);
  } else {
    std::puts(check_line(checked).c_str());
  }
  return static_cast<int>(checked.verdict.level);
}

// An option of the file, unless the command line has it.
void take_setting(CLI::App& command, const std::set<const CLI::Option*>& of_command_line,
                  const std::string& place, const std::string& line) {
  const auto equals = line.find('=');
  const std::string name(util::trimmed(line.substr(0, equals)));
  CLI::Option* option = command.get_option_no_throw("--" + name);
  if (equals == std::string::npos || option == nullptr || name == "config" || name == "help" ||
      option->get_items_expected_max() == 0) {
    throw CLI::ValidationError(place, "no option of check with a value: '" + line +
                                          "' (such as critical=10; see ucx-verity check --help)");
  }
  if (of_command_line.contains(option)) return;
  option->add_result(std::string(util::trimmed(line.substr(equals + 1))));
  try {
    option->run_callback();
  } catch (const CLI::ParseError& error) { throw CLI::ValidationError(place, error.what()); }
}

void read_config(CLI::App& command, const std::string& path) {
  const auto cannot_read = [&] {
    return CLI::FileError("--config: cannot read " + path + ": " + std::strerror(errno),
                          CLI::ExitCodes::FileError);
  };
  std::set<const CLI::Option*> of_command_line;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() > 0) of_command_line.insert(option);
  }
  std::ifstream file(path);
  if (!file) throw cannot_read();
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    line = util::trimmed(line.substr(0, line.find('#')));
    if (!line.empty())
      take_setting(command, of_command_line, path + ":" + std::to_string(number), line);
  }
  if (file.bad()) throw cannot_read();  // such as a folder
}

void add_drain_option(CLI::App* command, const std::shared_ptr<CheckOptions>& options) {
  auto* drain = command->add_option_function<std::string>(
      "--drain-on",
      [options](const std::string& level) {
        options->drain = level != "never";
        options->drain_on = level == "warning" ? blame::Level::kWarning : blame::Level::kCritical;
      },
      "Lowest level at which --nhc and --slurm give a reason to drain: critical (default), "
      "warning, never");
  drain->check(CLI::IsMember({"critical", "warning", "never"}));
}

}  // namespace

int check_refused(int argc, char** argv, const std::string& why) {
  std::string line = why.substr(0, why.find('\n'));
  const auto has = [&](std::string_view form) {
    return std::find(argv, argv + argc, form) != argv + argc;
  };
  if (has("--nhc") || has("--slurm")) return not_checked(line);
  std::printf("UCX-VERITY UNKNOWN: not checked: %s\n", line.c_str());
  return static_cast<int>(blame::Level::kUnknown);
}

void add_check_command(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand(
      "check",
      "Check this host's health: one line; exit status 0 ok, 1 warning, 2 critical, 3 unknown");
  auto options = std::make_shared<CheckOptions>();
  command->add_option("--ledger", options->ledger, "The exporter's ledger, used where it exists")
      ->capture_default_str();
  command->add_option("--directory", options->directories,
                      "Directory of health files (repeatable); default: UCX_VERITY_HEALTH_DIR, "
                      "/dev/shm/ucx-verity and "
                      "/dev/shm/ucx-verity-UID (root: of all users), all that exist");
  command->add_option("--hours", options->hours, "How far back to look; 0: everything known")
      ->capture_default_str()
      ->check(CLI::Range(0, 1000000));
  command
      ->add_option("--warning", options->thresholds.warning,
                   "Number of faults from which on check warns")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000000));
  command
      ->add_option("--critical", options->thresholds.critical,
                   "Number of faults from which on this host is CRITICAL")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000000000));
  command
      ->add_option("--percent", options->thresholds.percent,
                   "Percentage of peers that must have faults for this host to be blamed")
      ->capture_default_str()
      ->check(CLI::Range(1, 100));
  add_trust_option(*command, &options->trust);
  command->add_flag("--require-traffic", options->require_traffic,
                    "Warn when nothing was verified in that time");
  command->add_option("--config", options->config,
                      "File with these options, one per line: critical=10; command-line options "
                      "override the file");
  auto* nhc = command->add_flag("--nhc", options->nhc,
                                "For a check of LBNL Node Health Check: print the reason and exit "
                                "1 when the node is to be drained");
  auto* slurm = command
                    ->add_flag("--slurm", options->slurm,
                               "For Slurm's HealthCheckProgram: print the drain reason and exit 1")
                    ->excludes(nhc);
  command->add_flag("--json", options->json, "Print JSON instead of the line")
      ->excludes(nhc)
      ->excludes(slurm);
  command->add_flag("--injected", options->injected,
                    "Also count faults that a test transport made on purpose");
  add_drain_option(command, options);
  command->callback([command, options, exit_code] {
    if (!options->config.empty()) read_config(*command, options->config);
    *exit_code = run(*options);
  });
}

}  // namespace verity::tools
