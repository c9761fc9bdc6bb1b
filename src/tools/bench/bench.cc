// SPDX-License-Identifier: BSD-3-Clause
//
// `ucx-verity bench`: what verification costs on this machine, raw against wrapped.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

#include "merkle/geometry.h"
#include "tools/bench/hashing.h"
#include "tools/bench/measure.h"
#include "tools/bench/report.h"
#include "tools/commands.h"
#include "tools/env/env.h"
#include "tools/env/site.h"
#include "tools/env/transports.h"
#include "tools/temporary_folder.h"
#include "util/build_config.h"

namespace verity::tools {

namespace {

using bench::Level;
using bench::Result;
using bench::Test;
using bench::Variant;

// One field for each option of the command.
struct BenchOptions {
  std::vector<std::string> levels = {"uct", "ucp"};
  std::vector<std::string> tests = {"latency", "rate"};
  std::string tls;
  std::vector<std::size_t> sizes = {8, 4096, 65536, 1U << 20};
  std::string compare;
  bool limited = false;
  bool check = false;
  bool json = false;
  bool markdown = false;
  std::string csv;
  std::string html;
  unsigned blocks = 0;
  bench::Plan plan;
  bench::MpiOptions mpi;
  std::string command;  // as it was typed
  bool worker = false;

  [[nodiscard]] bool table() const { return !json && !markdown; }
};

// A file that can be written is known before anything is measured.
class Output {
 public:
  explicit Output(const std::string& path) : path_(path) {
    if (!path.empty()) file_.open(path);
    check();
  }
  void write(const std::string& text) {
    if (path_.empty()) return;
    file_ << text << std::flush;
    check();
  }

 private:
  void check() const {
    if (!file_) throw std::runtime_error("cannot write " + path_);
  }

  std::string path_;
  std::ofstream file_;
};

std::string cpu_model() {
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("model name"))
      return line.substr(std::min(line.find(": ") + 2, line.size()));
  }
  return "unknown CPU";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::array<char, 16> text;
  std::strftime(text.data(), text.size(), "%F", std::gmtime(&now));
  return text.data();
}

JobEnvironment usable(JobEnvironment environment) {
  if (!environment.error.empty()) throw std::runtime_error(environment.error);
  return environment;
}

class Bench {
 public:
  Bench(const BenchOptions& options, const UcxInfo& ucx)
      : options_(options), plan_(options.plan), csv_(options.csv), html_(options.html) {
    const bench::MpiOptions none;
    axes_ = options_.mpi.segments != none.segments || options_.mpi.ranks != none.ranks;
    if (axes_ && !wants("mpi")) throw std::runtime_error("--ranks and --segments need --level mpi");
    if (two_hosts()) check_two_hosts();
    (void)tests(wants("mpi"));
    choose_variants(ucx);
    csv_.write(bench::csv_heading());
  }

  int run() {
    if (options_.table()) {
      std::printf("%s\n%s", about_.text().c_str(), bench::table_heading(axes_).c_str());
    }
    for (const Level level : {Level::kUct, Level::kUcp}) {
      if (!wants(name_of(level))) continue;
      for (const std::string& transport : transports_) {
        if (level == Level::kUct && only_reads(transport)) continue;  // no messages to measure
        run_transport(level, transport);
      }
    }
    if (wants("mpi")) run_mpi();
    if (options_.json) std::fputs(bench::render_json(results_, about_).c_str(), stdout);
    if (options_.markdown) std::fputs(bench::render_markdown(results_, about_).c_str(), stdout);
    html_.write(bench::render_html(results_, about_));
    return exit_code();
  }

 private:
  [[nodiscard]] bool two_hosts() const { return !plan_.starts.empty(); }

  void check_two_hosts() const {
    if (plan_.starts.size() != 2)
      throw std::runtime_error("--on: give it twice, once for the host of each process");
    if (options_.tls.empty())
      throw std::runtime_error("--on needs --tls: transports of those hosts");
    if (wants("mpi"))
      throw std::runtime_error("--on: levels uct and ucp; --level mpi starts a job by --mpirun");
    const auto names = split_commas(options_.tls);
    if (std::find(names.begin(), names.end(), "self") != names.end())
      throw std::runtime_error("--on: self reaches no other host");
  }

  bool wants(const std::string& level) const {
    return std::any_of(
        options_.levels.begin(), options_.levels.end(),
        [&](const std::string& wanted) { return wanted == level || wanted == "all"; });
  }

  // Of those requested, what there is at the MPI level, or at the others.
  std::vector<Test> tests(bool mpi) const {
    std::vector<Test> list;
    for (const Test test : bench::kTests) {
      if (!mpi && test != Test::kLatency && test != Test::kRate) continue;
      const auto& names = options_.tests;
      if (std::find(names.begin(), names.end(), name_of(test)) != names.end()) list.push_back(test);
    }
    if (list.empty() && !wants("mpi")) {
      throw std::runtime_error(
          "of the tests, all but latency and rate are measured at --level mpi");
    }
    return list;
  }

  // Stock UCX: nothing that loads a plugin.
  static Variant raw(const JobEnvironment& environment) {
    Variant variant{.wrapped = false,
                    .set = {{"UCX_WARN_UNUSED_ENV_VARS", "n"}},
                    .unset = {"LD_PRELOAD", "UCX_MODULE_DIR", "UCX_PLUGIN_PATH"}};
    for (const Variable& variable : environment.variables) {
      const auto& unset = variant.unset;
      if (std::find(unset.begin(), unset.end(), variable.name) != unset.end()) continue;
      variant.set.push_back(variable);
    }
    return variant;
  }

  // With a plugin in its environment. What it counts is no part of what the machine's own jobs have
  // seen.
  Variant wrapped(const JobEnvironment& environment) const {
    Variant variant{.wrapped = true, .set = environment.variables, .unset = {}};
    variant.set.push_back(two_hosts() ? Variable{"UCX_VERITY_HEALTH", "n"}
                                      : Variable{"UCX_VERITY_HEALTH_DIR", folder_.path()});
    variant.set.push_back({"UCX_VERITY_ATTEST", "never"});
    variant.own_names = locks_own_names(environment.policy);
    if (!variant.own_names) variant.set.push_back({"UCX_VERITY_TRANSPARENT", "n"});
    return variant;
  }

  void choose_variants(const UcxInfo& ucx) {
    // This host may have other transports than those that are measured.
    const std::string tls = two_hosts() ? "self" : options_.tls;
    const JobEnvironment own = usable(job_environment(ucx, {.tls = tls}));
    plan_.variants = {raw(own), plan_.null_test ? raw(own) : wrapped(own)};
    transports_ = two_hosts() ? split_commas(options_.tls) : own.transports;
    if (!options_.compare.empty()) {
      const std::string prefix = std::filesystem::absolute(options_.compare);
      plan_.variants.push_back(
          wrapped(usable(job_environment(ucx, {.tls = tls, .prefix = prefix}))));
    }
    about_ = {.method = method(),
              .machine = cpu_model(),
              .versions = "UCX " + ucx.version + ", ucx-verity " PACKAGE_VERSION,
              .date = today(),
              .command = options_.command};
  }

  std::string method() const {
    const std::vector<int>& cpus = bench::pair_cpus();
    return std::string("raw against ") + (plan_.null_test ? "raw" : "wrapped") +
           (options_.compare.empty() ? "" : " and old, that of " + options_.compare) +
           "; medians of " + std::to_string(plan_.openings) + " openings, batches A B B A, " +
           (two_hosts()    ? "between two hosts"
            : cpus.empty() ? "one CPU"
                           : "CPUs " + std::to_string(cpus[0]) + "," + std::to_string(cpus[1]));
  }

  void add(Result result) {
    if (result.problem.empty() && !two_hosts()) result.hash_ns = hash_of(result.traffic.size);
    if (options_.table()) {
      std::fputs(bench::table_line(result, axes_).c_str(), stdout);
      std::fflush(stdout);
    }
    csv_.write(bench::csv_line(result));
    results_.push_back(std::move(result));
  }

  // Measured once for each size.
  double hash_of(std::size_t size) {
    const auto [at, is_new] = hash_ns_.try_emplace(size);
    if (is_new) at->second = bench::hash_ns(size);
    return at->second;
  }

  void run_transport(Level level, const std::string& transport) {
    std::set<std::size_t> left_out;
    for (const Test test : tests(false)) {
      for (const std::size_t size : options_.sizes) {
        const bench::Traffic traffic = {level, transport, test, size};
        if (options_.limited && !limit_for(traffic)) continue;
        try {
          const auto result = bench::measure(plan_, scale_, traffic);
          if (result) add(*result);
          if (!result) left_out.insert(size);
        } catch (const std::exception& error) {
          Result failed;
          failed.traffic = {level, transport};
          failed.problem = error.what();
          add(std::move(failed));
          return;
        }
      }
    }
    if (left_out.empty() || !options_.table()) return;
    std::vector<std::string> sizes;
    for (const std::size_t size : left_out) sizes.push_back(bench::size_text(size));
    std::printf("          %-8s (no messages of %s at this level)\n", transport.c_str(),
                join(sizes, ", ").c_str());
  }

  void run_mpi() {
    bench::Plan plan = plan_;
    if (options_.blocks != 0) plan.openings = 2 * options_.blocks;
    for (const std::string& transport : transports_) {
      if (transport == "self" || options_.limited) continue;
      bench::measure_mpi(plan, options_.mpi, transport, tests(true), options_.sizes, folder_.path(),
                         [this](Result result) { add(std::move(result)); });
    }
  }

  int exit_code() const {
    bool over = false;
    for (const Result& result : results_) {
      if (!result.problem.empty() && result.traffic.size == 0) return kExitError;
      over = over || result.verdict == bench::Verdict::kOver;
    }
    return options_.check && over ? kExitWarning : kExitOk;
  }

  const BenchOptions& options_;
  bench::Plan plan_;
  const TemporaryFolder folder_{"bench"};
  std::vector<std::string> transports_;
  bool axes_ = false;  // a table with their columns
  const bench::TickScale scale_;
  bench::About about_;
  std::map<std::size_t, double> hash_ns_;
  std::vector<Result> results_;
  Output csv_;
  Output html_;
};

int run(const BenchOptions& options) {
  try {
    return options.worker ? bench::follow_orders() : Bench(options, query_ucx()).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ucx-verity bench: %s\n", error.what());
    return kExitError;
  }
}

}  // namespace

void add_bench_command(CLI::App& app, int argc, char** argv, int* exit_code) {
  auto options = std::make_shared<BenchOptions>();
  options->command = "ucx-verity";
  for (int i = 1; i < argc; ++i) options->command += std::string(" ") + argv[i];
  CLI::App* command =
      app.add_subcommand("bench", "Measure raw against wrapped transports, interleaved");
  const auto add = [command](const char* name, auto& value, const char* type, const char* help) {
    return command->add_option(name, value, help)->type_name(type);
  };
  const auto add_list = [add](const char* name, auto& values, const char* help) {
    return add(name, values, "LIST", help)->delimiter(',');
  };
  BenchOptions& o = *options;
  add_list("--level", o.levels, "uct, ucp, mpi or all (default: uct,ucp)")
      ->check(CLI::IsMember({"uct", "ucp", "mpi", "all"}));
  add("--tls", o.tls, "LIST", "Lower transports, as for env (default: what env chooses)");
  add_list("--sizes", o.sizes, "Bytes, with K or M (default: 8,4K,64K,1M)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::size_t{0}, std::size_t{1} << 30));
  add_list("--tests", o.tests,
           "latency, rate; put, get, allreduce, alltoall (--level mpi) (default: latency,rate)")
      ->check(CLI::IsMember(bench::names_of_tests()));
  command->add_flag("--limited", o.limited, "Measure only the figures that have a limit");
  add("--openings", o.plan.openings, "N", "Pairs of fresh processes per line (default: 7)")
      ->check(CLI::Range(1, 1000));
  add("--seconds", o.plan.seconds, "S", "Time for each line, without the openings (default: 0.4)")
      ->check(CLI::Range(0.01, 3600.0));
  auto* compare = add("--compare", o.compare, "PREFIX",
                      "Also measure the plugin of this other installation or build tree");
  add("--on", o.plan.starts, "COMMAND",
      "Between two hosts, given twice: command that starts a process there ('ssh node1')");
  add("--csv", o.csv, "FILE", "Write the figures to FILE as well");
  add("--html", o.html, "FILE", "Write a page that draws the ratios to FILE");
  auto* json = command->add_flag("--json", o.json, "Print JSON instead of the table");
  command->add_flag("--markdown", o.markdown, "Print a README's table instead")->excludes(json);
  command->add_flag("--check", o.check, "Exit with 1 when a limit is exceeded");
  command
      ->add_flag("--null", o.plan.null_test,
                 "Measure raw on both sides, to show the error of the method")
      ->excludes(compare);
  add_list("--ranks", o.mpi.ranks, "Even numbers of ranks for --level mpi, 2 to 4096 (default: 2)")
      ->check(CLI::Range(2, 4096))
      ->check([](const std::string& text) {
        return std::stoul(text) % 2 == 0 ? "" : text + ": even numbers, as ranks work in pairs";
      });
  add_list("--segments", o.mpi.segments,
           "UCX_VERITY_SEGMENT_SIZE for --level mpi, each in turn (default: the plugin's)")
      ->transform(CLI::AsSizeValue(false))
      ->check([](const std::string& text) {
        return merkle::is_valid_segment_size(std::stoul(text))
                   ? ""
                   : "'" + text + "': a power of two from 256 to 64K";
      });
  add("--blocks", o.blocks, "N", "For older scripts: half of --openings for --level mpi")
      ->check(CLI::Range(1, 500));
  add("--mpicc", o.mpi.mpicc, "PATH", "MPI compiler for --level mpi (mpicc)");
  add("--mpirun", o.mpi.mpirun, "PATH", "MPI launcher for --level mpi (mpirun)");
  command->add_flag("--worker", o.worker)->group("");  // see bench/pair.h
  command->callback([options, exit_code] { *exit_code = run(*options); });
}

}  // namespace verity::tools
