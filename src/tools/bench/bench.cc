// SPDX-License-Identifier: BSD-3-Clause
//
// `ucx-verity bench`: what verification costs on this machine, raw against wrapped.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "merkle/geometry.h"
#include "tools/bench/mpi.h"
#include "tools/bench/report.h"
#include "tools/commands.h"
#include "tools/env/env.h"
#include "tools/env/install.h"
#include "tools/env/transports.h"
#include "tools/quiet_stdout.h"

namespace verity::tools {

namespace {

using bench::Level;
using bench::Result;
using bench::Test;

struct BenchOptions {
  std::vector<std::string> levels = {"uct", "ucp"};
  std::vector<std::string> tests = {"latency", "rate"};
  std::string tls;
  std::vector<std::string> sizes = {"8", "4K", "64K", "1M"};
  double seconds = 0.4;
  bool null_test = false;
  bool check = false;
  bool json = false;
  std::string csv;
  std::vector<std::string> segments;
  bench::MpiOptions mpi;
};

// Set in the environment of the second start of this program, the one with the plugin.
constexpr const char* kPrepared = "VERITY_BENCH_PREPARED";

std::size_t parse_size(const std::string& text) {
  char* end = nullptr;
  const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
  const std::string suffix = end;
  const unsigned shift = suffix == "K" || suffix == "k" ? 10 : suffix == "M" ? 20 : 0;
  if (end == text.c_str() || (shift == 0 && !suffix.empty()) || number > (1ULL << 30 >> shift)) {
    throw std::runtime_error("size '" + text + "': a number up to 1 GiB, with K or M");
  }
  return static_cast<std::size_t>(number << shift);
}

class Bench {
 public:
  Bench(const BenchOptions& options, std::vector<std::string> transports)
      : options_(options), transports_(std::move(transports)) {
    for (const std::string& size : options_.sizes) sizes_.push_back(parse_size(size));
    read_axes();
    (void)tests(wants("mpi"));
    if (options_.csv.empty()) return;
    csv_.reset(std::fopen(options_.csv.c_str(), "w"));
    if (!csv_) throw std::runtime_error("cannot write " + options_.csv);
    std::fputs(bench::csv_heading().c_str(), csv_.get());
  }

  int run() {
    {
      const auto quiet = options_.json ? std::make_unique<QuietStdout>() : nullptr;
      if (wants("uct") || wants("ucp")) run_uct_and_ucp();
      if (wants("mpi")) run_mpi();
    }
    if (options_.json) std::fputs(bench::render_json(results_, about_).c_str(), stdout);
    return exit_code();
  }

 private:
  bool wants(const std::string& level) const {
    for (const std::string& wanted : options_.levels) {
      if (wanted == level || wanted == "all") return true;
    }
    return false;
  }

  // The axes of the MPI level: ranks and segment sizes.
  void read_axes() {
    mpi_ = options_.mpi;
    axes_ = !options_.segments.empty() || mpi_.ranks != bench::MpiOptions{}.ranks;
    if (axes_ && !wants("mpi")) throw std::runtime_error("--ranks and --segments need --level mpi");
    if (!options_.segments.empty()) mpi_.segments.clear();
    for (const std::string& text : options_.segments) {
      mpi_.segments.push_back(parse_size(text));
      if (merkle::is_valid_segment_size(mpi_.segments.back())) continue;
      throw std::runtime_error("segment size '" + text + "': a power of two from 256 to 64K");
    }
    for (const unsigned ranks : mpi_.ranks) {
      if (ranks % 2 != 0) throw std::runtime_error("--ranks: even numbers, as ranks work in pairs");
    }
  }

  // Of those requested, what there is at the MPI level, or at the others.
  std::vector<Test> tests(bool mpi) const {
    std::vector<Test> list;
    for (const std::string& name : options_.tests) {
      if (name == "latency") list.push_back(Test::kLatency);
      if (name == "rate") list.push_back(Test::kRate);
      if (mpi && name == "put") list.push_back(Test::kPut);
      if (mpi && name == "get") list.push_back(Test::kGet);
    }
    if (list.empty() && !wants("mpi")) {
      throw std::runtime_error("put and get are measured at --level mpi");
    }
    return list;
  }

  void explain(const std::string& text) {
    about_ = text;
    if (options_.json) return;
    std::printf("%s\n%s", text.c_str(), bench::table_heading(axes_).c_str());
  }

  void add(Result result) {
    if (!options_.json) {
      std::fputs(bench::table_line(result, axes_).c_str(), stdout);
      std::fflush(stdout);
    }
    if (csv_) {
      std::fputs(bench::csv_line(result).c_str(), csv_.get());
      std::fflush(csv_.get());
    }
    results_.push_back(std::move(result));
  }

  void run_uct_and_ucp() {
    bench::PeerProcess peer;
    const bench::TickScale scale;
    explain(std::string("raw against ") + (options_.null_test ? "raw" : "wrapped") +
            ", blocks A B B A of batches, CPUs " + peer.cpus() + "; medians");
    for (const Level level : {Level::kUct, Level::kUcp}) {
      if (!wants(level == Level::kUct ? "uct" : "ucp")) continue;
      for (const std::string& transport : transports_) {
        if (level == Level::kUct && only_reads(transport)) continue;  // no messages to measure
        run_transport(peer, scale, level, transport);
      }
    }
    peer.close();
  }

  void run_transport(bench::PeerProcess& peer, const bench::TickScale& scale, Level level,
                     const std::string& transport) {
    try {
      peer.open(level, transport, options_.null_test ? transport : wrapper_of(transport));
    } catch (const std::exception& error) {
      Result failed;
      failed.level = level == Level::kUct ? "uct" : "ucp";
      failed.transport = transport;
      failed.problem = error.what();
      add(failed);
      return;
    }
    std::vector<std::string> left_out;
    for (const Test test : tests(false)) {
      for (const std::size_t size : sizes_) {
        Result result = bench::measure(
            peer, scale, {.level = level, .transport = transport, .test = test, .size = size},
            options_.seconds);
        if (result.left_out) {
          left_out.push_back(bench::size_text(size));
          continue;
        }
        bench::conclude(&result, test, options_.null_test);
        add(std::move(result));
      }
    }
    std::sort(left_out.begin(), left_out.end());
    left_out.erase(std::unique(left_out.begin(), left_out.end()), left_out.end());
    if (!left_out.empty() && !options_.json) {
      std::printf("          %-8s (no messages of %s at this level)\n", transport.c_str(),
                  join(left_out, ", ").c_str());
    }
  }

  void run_mpi() {
    if (!options_.json && results_.empty()) explain("MPI programs, alternating A B B A; medians");
    for (const std::string& transport : transports_) {
      if (transport == "self") continue;
      bench::measure_mpi({.transport = transport,
                          .tests = tests(true),
                          .sizes = sizes_,
                          .seconds = options_.seconds,
                          .null_test = options_.null_test},
                         mpi_, [this](Result result) { add(std::move(result)); });
    }
  }

  int exit_code() const {
    bool over = false;
    bool failed = false;
    for (const Result& result : results_) {
      over = over || result.verdict == bench::Verdict::kOver;
      failed = failed || (!result.problem.empty() && result.size == 0);
    }
    if (failed) return kExitError;
    return options_.check && over ? kExitWarning : kExitOk;
  }

  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  const BenchOptions& options_;
  std::vector<std::string> transports_;
  std::vector<std::size_t> sizes_;
  bench::MpiOptions mpi_;
  bool axes_ = false;  // a table with their columns
  std::vector<Result> results_;
  std::string about_;
  std::unique_ptr<std::FILE, CloseFile> csv_;
};

// UCX loads its modules once, and the preload must be there first: start again with it.
[[noreturn]] void start_again(const JobEnvironment& environment, char** argv) {
  for (const Variable& variable : environment.variables) {
    setenv(variable.name.c_str(), variable.value.c_str(), 1);
  }
  setenv(kPrepared, join(environment.transports, ",").c_str(), 1);
  execv(own_path().c_str(), argv);
  throw std::runtime_error("cannot start itself again");
}

// Where this program and its jobs count, so that a benchmark is no part of what the machine's own
// jobs have seen. Gone with it.
class HealthFolder {
 public:
  HealthFolder() {
    if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot write to /tmp");
    setenv("UCX_VERITY_HEALTH_DIR", path_.c_str(), 1);
  }
  ~HealthFolder() {
    std::error_code none;
    std::filesystem::remove_all(path_, none);
  }
  HealthFolder(const HealthFolder&) = delete;
  HealthFolder& operator=(const HealthFolder&) = delete;

 private:
  std::string path_ = "/tmp/ucx-verity-bench-XXXXXX";
};

int run(const BenchOptions& options, char** argv) {
  try {
    if (const char* prepared = std::getenv(kPrepared)) {
      const HealthFolder folder;
      return Bench(options, split_commas(prepared)).run();
    }
    // What a quick look wants: one shared memory, one network transport, and loopback.
    const std::string tls = options.tls;
    const JobEnvironment environment = job_environment(query_ucx(), {.tls = tls, .typecheck = {}});
    if (!environment.error.empty()) throw std::runtime_error(environment.error);
    start_again(environment, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ucx-verity bench: %s\n", error.what());
    return kExitError;
  }
}

}  // namespace

void add_bench_command(CLI::App& app, char** argv, int* exit_code) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command =
      app.add_subcommand("bench", "Measure raw against wrapped transports, interleaved");
  command->add_option("--level", options->levels, "uct, ucp, mpi or all (default: uct,ucp)")
      ->delimiter(',')
      ->check(CLI::IsMember({"uct", "ucp", "mpi", "all"}))
      ->type_name("LIST");
  command
      ->add_option("--tls", options->tls,
                   "Lower transports, as for env (default: what env chooses)")
      ->type_name("LIST");
  command->add_option("--sizes", options->sizes, "Bytes, with K or M (default: 8,4K,64K,1M)")
      ->delimiter(',')
      ->type_name("LIST");
  command
      ->add_option("--tests", options->tests,
                   "latency, rate; put, get (--level mpi) (default: latency,rate)")
      ->delimiter(',')
      ->check(CLI::IsMember({"latency", "rate", "put", "get"}))
      ->type_name("LIST");
  command->add_option("--seconds", options->seconds, "Time for each line (default: 0.4)")
      ->check(CLI::Range(0.01, 3600.0))
      ->type_name("S");
  command->add_option("--csv", options->csv, "Write the figures to FILE as well")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Print JSON instead of the table");
  command->add_flag("--check", options->check, "Exit with 1 when a limit is exceeded");
  command->add_flag("--null", options->null_test,
                    "Raw on both sides: shows the error of the method itself");
  command
      ->add_option("--ranks", options->mpi.ranks,
                   "Even numbers of ranks for --level mpi, 2 to 4096 (default: 2)")
      ->delimiter(',')
      ->check(CLI::Range(2, 4096))
      ->type_name("LIST");
  command
      ->add_option("--segments", options->segments,
                   "UCX_VERITY_SEGMENT_SIZE for --level mpi, each in turn (default: the plugin's)")
      ->delimiter(',')
      ->type_name("LIST");
  command
      ->add_option("--blocks", options->mpi.blocks,
                   "Blocks of four MPI jobs for each line of --level mpi (default: 3)")
      ->check(CLI::Range(1, 1000))
      ->type_name("N");
  command->add_option("--mpicc", options->mpi.mpicc, "MPI compiler for --level mpi (mpicc)")
      ->type_name("PATH");
  command->add_option("--mpirun", options->mpi.mpirun, "MPI launcher for --level mpi (mpirun)")
      ->type_name("PATH");
  command->callback([options, argv, exit_code] { *exit_code = run(*options, argv); });
}

}  // namespace verity::tools
