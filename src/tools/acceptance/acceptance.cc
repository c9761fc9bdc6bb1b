// SPDX-License-Identifier: BSD-3-Clause
//
// `ucx-verity acceptance`: what an administrator runs between two nodes before users get the
// software. The scripts do the work (run.sh); here they are started and their results are printed.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "tools/acceptance/results.h"
#include "tools/acceptance/traffic.h"
#include "tools/commands.h"
#include "tools/env/install.h"
#include "tools/env/transports.h"
#include "tools/subprocess.h"
#include "tools/temporary_folder.h"
#include "util/build_config.h"

namespace verity::tools {

namespace {

// They travel within the command: there is nothing else to install.
struct Carried {
  const char* name;
  const char* text;
};
constexpr Carried kCarried[] = {
    {
        "run.sh",
#include "tools/acceptance/run.inc"
    },
    {
        "steps.sh",
#include "tools/acceptance/steps.inc"
    },
    {
        "node.sh",
#include "tools/acceptance/node.inc"
    },
    {
        "program.c",
#include "tools/acceptance/program.inc"
    },
};

constexpr int kNotStarted = 127;  // become()

struct AcceptanceOptions {
  std::vector<std::string> hosts;
  std::string launch;
  std::string tls;
  std::string mpirun;
  std::string base = "/tmp";
  std::string html;
  bool quick = false;
  bool no_cost = false;
  bool json = false;
  bool anonymous = false;
  std::string command;  // as it was typed
};

std::string now() {
  const std::time_t time = std::time(nullptr);
  std::array<char, 32> text;
  std::strftime(text.data(), text.size(), "%F %H:%M UTC", std::gmtime(&time));
  return text.data();
}

void check(const AcceptanceOptions& options) {
  if (options.hosts.size() == 1) throw std::runtime_error("two hosts are needed, one was named");
  // It passes through shells of all kinds.
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string("/._-+").find(c) != std::string::npos;
  };
  if (!options.base.starts_with('/') ||
      std::find_if_not(options.base.begin(), options.base.end(), plain) != options.base.end())
    throw std::runtime_error("--directory " + options.base +
                             ": an absolute path of letters, digits and /._-+");
}

// From here on they wait until there is a process to pass them to. Returns the mask before.
sigset_t hold_signals() {
  sigset_t passed;
  sigset_t before;
  sigemptyset(&passed);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&passed, number);
  sigprocmask(SIG_BLOCK, &passed, &before);
  return before;
}

// Runs run.sh. An interrupt reaches it as well; it then cleans up on both hosts, and this process
// waits for it. Returns its status, 128 and more: it was interrupted. `before`: of hold_signals().
int run_script(const AcceptanceOptions& options, const std::string& folder,
               const sigset_t& before) {
  const std::vector<Variable> set = {
      {"work", folder},           {"tool", own_path()},   {"hosts", join(options.hosts, " ")},
      {"launch", options.launch}, {"tls", options.tls},   {"quick", options.quick ? "yes" : "no"},
      {"mpirun", options.mpirun}, {"base", options.base}, {"cost", options.no_cost ? "no" : "yes"}};
  static volatile pid_t child = -1;
  child = fork();
  if (child < 0) throw std::runtime_error("cannot start a process");
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &before, nullptr);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    become({"bash", folder + "/run.sh"}, set, {});
  }
  struct sigaction pass = {};
  pass.sa_handler = [](int number) { (void)kill(child, number); };
  for (const int number : {SIGTERM, SIGHUP}) sigaction(number, &pass, nullptr);
  (void)signal(SIGINT, SIG_IGN);  // the terminal sends it to both
  sigprocmask(SIG_SETMASK, &before, nullptr);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<std::string> names_of_user() {
  std::vector<std::string> names;
  for (const char* variable : {"HOME", "USER", "LOGNAME"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && std::string(value) != "root" && std::string(value) != "/root")
      names.emplace_back(value);
  }
  return names;
}

// Before all of the work. A page of an earlier run stays until there is another one.
void check_writable(const std::string& file) {
  const bool was_there = std::filesystem::exists(file);
  if (!std::ofstream(file, std::ios::app)) throw std::runtime_error("cannot write " + file);
  if (!was_there) std::filesystem::remove(file);
}

int run(const AcceptanceOptions& options) {
  check(options);
  if (!options.html.empty()) check_writable(options.html);
  const sigset_t before = hold_signals();
  const TemporaryFolder folder("acceptance");
  for (const Carried& file : kCarried) {
    if (!(std::ofstream(folder / file.name) << file.text << std::flush))
      throw std::runtime_error("cannot write to " + folder.path() + ": is the disk full?");
  }
  const int status = run_script(options, folder.path(), before);
  if (status == kNotStarted) throw std::runtime_error("bash is needed, and cannot be started");
  if (status == kExitError || status >= 128) return status;
  std::ostringstream lines;
  lines << std::ifstream(folder / "results").rdbuf();
  Acceptance acceptance = parse_acceptance(lines.str());
  acceptance.date = now();
  acceptance.command = options.command;
  acceptance.version = PACKAGE_VERSION;
  if (options.anonymous) anonymise(&acceptance, names_of_user());
  std::fputs((options.json ? render_json : render_text)(acceptance).c_str(), stdout);
  if (!options.html.empty() &&
      !(std::ofstream(options.html) << render_html(acceptance) << std::flush))
    throw std::runtime_error("cannot write " + options.html);
  return acceptance.outcome() == Outcome::kFailed ? kExitWarning : kExitOk;
}

using Json = nlohmann::ordered_json;

// The result goes to stderr: stdout is for the other process.
int print_traffic(const TrafficOrder& order) {
  const TrafficResult r = exchange_traffic(order);
  const Json json = {{"traffic", order.first ? "first" : "second"},
                     {"error", r.error},
                     {"messages", r.messages},
                     {"bytes", r.bytes},
                     {"wrong_messages", r.wrong_messages},
                     {"wrong_bytes", r.wrong_bytes},
                     {"noticed", r.noticed},
                     {"noticed_after", r.noticed_after},
                     {"endpoint", r.endpoint}};
  std::fprintf(stderr, "%s\n", json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  return r.error.empty() ? kExitOk : kExitError;
}

// Hidden: what run.sh starts on each host.
void add_traffic_command(CLI::App& app, int* exit_code) {
  auto order = std::make_shared<TrafficOrder>();
  auto side = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("traffic", "Exchange messages with another host");
  command->group("");
  command->add_option("SIDE", *side)->required()->check(CLI::IsMember({"first", "second"}));
  command->add_option("--messages", order->messages);
  command->add_option("--largest", order->largest);
  command->add_option("--die-after", order->die_after);
  command->add_option("--seconds", order->seconds);
  command->callback([order, side, exit_code] {
    order->first = *side == "first";
    *exit_code = print_traffic(*order);
  });
}

}  // namespace

void add_acceptance_command(CLI::App& app, int argc, char** argv, int* exit_code) {
  auto options = std::make_shared<AcceptanceOptions>();
  options->command = "ucx-verity";
  for (int i = 1; i < argc; ++i) options->command += std::string(" ") + argv[i];
  AcceptanceOptions& o = *options;
  CLI::App* command =
      app.add_subcommand("acceptance", "Test two hosts before users get the software");
  command->add_option("HOST", o.hosts, "The two hosts (default: the first ones of the allocation)")
      ->expected(0, 2);
  command
      ->add_option("--launch", o.launch,
                   "Command that runs another one on a host; {}, or the end: the host's name")
      ->type_name("COMMAND");
  command
      ->add_option("--tls", o.tls, "Lower network transports (default: all that both hosts have)")
      ->type_name("LIST");
  command->add_option("--mpirun", o.mpirun, "Command that starts two MPI ranks, one on each host")
      ->type_name("COMMAND");
  command->add_option("--directory", o.base, "Where both hosts get a temporary directory (/tmp)")
      ->type_name("DIRECTORY");
  command->add_flag("--quick", o.quick,
                    "Test one transport, skip selftest and Death: about a minute");
  command->add_flag("--no-cost", o.no_cost, "Leave out the cost: for hosts with slow logins");
  command->add_option("--html", o.html, "Write a page to FILE as well")->type_name("FILE");
  command->add_flag("--json", o.json, "Print JSON instead of the text");
  command->add_flag("--anonymous", o.anonymous, "Call the hosts node1 and node2 in the report");
  command->callback([options, exit_code] { *exit_code = run(*options); });
  add_traffic_command(app, exit_code);
}

}  // namespace verity::tools
