// SPDX-License-Identifier: BSD-3-Clause
//
// `ucx-verity export`: one run writes the host's counters for the node exporter and looks after
// files of processes that ended.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>

#include "health/text.h"
#include "tools/commands.h"
#include "tools/export/check_text.h"
#include "tools/export/exposition.h"
#include "tools/export/gather.h"
#include "tools/export/trust.h"
#include "util/build_config.h"

namespace verity::tools {

namespace {

constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
// Less than the unit's TimeoutStartSec: a user with very many files delays no run.
constexpr auto kTime = std::chrono::seconds(30);

struct ExportOptions {
  std::string textfile;
  std::string ledger = default_ledger();
  std::vector<std::string> directories;
  std::uint64_t hours = 24;
  std::uint64_t keep_seconds = 1800;  // less than UCX_VERITY_HEALTH_KEEP, when other processes
                                      // remove files whose counters are in no ledger
  bool peers = false;
  bool jobs = false;
  bool injected = false;
  bool forget = false;
  blame::Thresholds thresholds;
  std::vector<std::string> trust;
};

// Held while a run lasts: two that add up the same files would count them twice.
class Lock {
 public:
  explicit Lock(const std::string& path)
      : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600)) {
    held_ = fd_ >= 0 && flock(fd_, LOCK_EX | LOCK_NB) == 0;
    if (!held_) error_ = errno;
  }
  ~Lock() {
    if (fd_ >= 0) ::close(fd_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  [[nodiscard]] bool held() const { return held_; }
  [[nodiscard]] bool busy() const { return error_ == EWOULDBLOCK; }
  [[nodiscard]] const char* reason() const { return std::strerror(error_); }

 private:
  int fd_;
  int error_ = 0;
  bool held_ = false;
};

void complain(const std::string& text) {
  std::fprintf(stderr, "ucx-verity export: %s\n", text.c_str());
}

// One that is no ledger, or that of a former host, is renamed: what it held is lost for the
// counters, and they begin anew, as after a new installation. Not one that cannot be read, as where
// the system has no file descriptor left: perhaps at the next run.
bool load(const std::string& path, Ledger* ledger) {
  const auto [state, problem] = load_ledger(path, ledger);
  if (state == LedgerState::kUsable) return true;
  if (state == LedgerState::kInUse) {
    complain(problem +
             ", which uses it now: each host needs one of its own, on a local disk or by --ledger; "
             "remove the file where no such host does");
    return false;
  }
  if (state == LedgerState::kUnreadable) {
    complain(problem + "; nothing is exported without what it holds");
    return false;
  }
  const std::string renamed = path + ".bad";
  if (rename(path.c_str(), renamed.c_str()) != 0) {
    complain(problem);
    return false;
  }
  complain(problem + "; it is now " + renamed +
           ", and counters of processes that ended begin anew");
  return true;
}

Exposition exposition_of(const ExportOptions& options, const Gathered& gathered,
                         const Ledger& ledger, std::uint64_t now) {
  Exposition exposition{.totals = {ledger.counted, {}}, .peers = options.peers, .now_seconds = now};
  exposition.recent = recent(ledger, gathered.totals, now, options.hours);
  if (!options.injected) {
    exposition.injected = leave_out_injected(exposition.recent);
    leave_out_injected(exposition.totals.paths);
  }
  const blame::Trust trust = trust_of(options.trust);
  exposition.verdict = conclude(blame::verdict_of(exposition.recent, options.thresholds, trust),
                                gathered, trust, options.hours, false)
                           .verdict;
  if (options.jobs) exposition.jobs = gathered.jobs;
  exposition.running = gathered.running;
  exposition.ended = gathered.ended;
  exposition.killed = gathered.killed;
  exposition.unreadable = gathered.unreadable;
  exposition.not_believed = gathered.not_believed;
  exposition.version = PACKAGE_VERSION;
  exposition.ucx_version = VERITY_UCX_VERSION;
  return exposition;
}

// What has series in the counters of the last run.
std::set<health::PathKey> series_before(const ExportOptions& options, const Ledger& ledger) {
  health::PathSums paths = ledger.counted;
  if (!options.injected) leave_out_injected(paths);
  return series_names(paths, ledger.shown);
}

// Series that are new begin with zeros, in files for Prometheus. Not in the very first run: there
// is nothing yet that could show an increase. Who reads the output wants to know what was counted.
void begin_series(const ExportOptions& options, const std::set<health::PathKey>& before,
                  Ledger& ledger, Exposition& exposition) {
  if (ledger.written != 0) {
    for (const health::PathKey& key : series_names(exposition.totals.paths, ledger.shown)) {
      if (!before.contains(key)) ledger.begun.emplace(key, 0);
    }
  }
  if (!options.textfile.empty()) exposition.zeros = zeros_of(ledger.begun, exposition.now_seconds);
}

void report_forgotten(health::FaultsByPath faults, bool injected) {
  if (!injected) (void)leave_out_injected(faults);
  std::fprintf(stderr,
               "ucx-verity export: %s faults of the last 8 days no longer count for check\n",
               health::grouped(blame::evidence_of(faults).faults).c_str());
}

int publish(const ExportOptions& options, const std::string& text) {
  if (options.textfile.empty()) {
    std::fputs(text.c_str(), stdout);
    return kExitOk;
  }
  const std::string problem = replace_file(options.textfile, text, 0644, options.ledger);
  if (!problem.empty()) complain(problem);
  return problem.empty() ? kExitOk : kExitError;
}

int run(const ExportOptions& options) {
  const Lock lock(options.ledger + ".lock");
  if (!lock.held()) {
    complain(lock.busy() ? "another one is running (it holds " + options.ledger + ".lock)"
                         : "cannot keep its ledger " + options.ledger + ": " + lock.reason() +
                               "; give a place with --ledger FILE");
    return kExitError;
  }
  Ledger ledger;
  if (!load(options.ledger, &ledger)) return kExitError;
  const std::uint64_t now_ns = health::realtime_ns();
  const std::uint64_t now = now_ns / kNsPerSecond;
  const auto directories =
      options.directories.empty() ? health::default_directories() : options.directories;
  const Gathered gathered =
      gather(directories, ledger, {.deadline = std::chrono::steady_clock::now() + kTime},
             now_ns - options.keep_seconds * kNsPerSecond);
  for (const auto* list : {&gathered.blind, &gathered.partial, &gathered.problems}) {
    for (const std::string& problem : *list) complain(problem);
  }
  for (const Doubted& d : gathered.doubted)
    complain(d.path + " of user " + std::to_string(d.user) + " is not believed: " + d.why);
  const auto before = series_before(options, ledger);
  observe(ledger, gathered.totals, now, gathered.complete, gathered.doubtful);
  grow(ledger, gathered.totals, gathered.complete, gathered.doubtful);
  if (options.forget)
    report_forgotten(recent(ledger, gathered.totals, now, Ledger::kHours), options.injected);
  if (options.forget) ledger.hours.clear();
  Exposition exposition = exposition_of(options, gathered, ledger, now);
  choose_shown(ledger.shown, exposition.totals.paths, gathered.complete);
  exposition.shown = ledger.shown;
  begin_series(options, before, ledger, exposition);
  ledger.host = this_machine().host;
  ledger.written = now;
  if (const std::string problem =
          replace_file(options.ledger, to_json(ledger), 0600, options.ledger);
      !problem.empty()) {
    complain(problem);
    return kExitError;
  }
  remove_taken(gathered);
  if (options.forget && options.textfile.empty()) return kExitOk;
  return publish(options, render_exposition(exposition));
}

}  // namespace

void add_export_command(CLI::App& app, int* exit_code) {
  auto* command = app.add_subcommand(
      "export", "Write this host's counters for Prometheus (node exporter's textfile collector)");
  auto options = std::make_shared<ExportOptions>();
  command->add_option(
      "--textfile", options->textfile,
      "File to replace, NAME.prom in the collector's directory; default: standard output");
  command->add_option("--ledger", options->ledger, "Where the counters of ended processes are kept")
      ->capture_default_str();
  command->add_option("--directory", options->directories,
                      "Directory of health files (repeatable); default: UCX_VERITY_HEALTH_DIR, "
                      "/dev/shm/ucx-verity and "
                      "/dev/shm/ucx-verity-UID (root: of all users), all that exist");
  command
      ->add_option("--hours", options->hours,
                   "Hours that the verdict and the hosts with faults cover")
      ->capture_default_str()
      ->check(CLI::Range(1, static_cast<int>(Ledger::kHours)));
  command
      ->add_option("--keep", options->keep_seconds,
                   "Seconds that files of ended processes stay for ucx-verity status")
      ->capture_default_str()
      ->check(CLI::Range(0, 30 * 86400));
  command->add_flag("--peers", options->peers,
                    "Add a series per host with which there were faults");
  add_trust_option(*command, &options->trust);
  command->add_flag("--jobs", options->jobs,
                    "Add a series per job with faults, 32 at most; each job is a new label for "
                    "Prometheus to keep");
  command->add_flag("--injected", options->injected,
                    "Also count faults that a test transport made on purpose");
  command->add_flag("--forget", options->forget,
                    "After a repair: leave the faults up to now out of the verdict; counters stay");
  command->callback([options, exit_code] { *exit_code = run(*options); });
}

}  // namespace verity::tools
