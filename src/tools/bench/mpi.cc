// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/mpi.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tools/subprocess.h"
#include "tools/transports.h"

namespace verity::tools::bench {

namespace {

constexpr const char* kSource =
#include "tools/bench/mpi_pingpong.inc"
    ;

// Blocks A B B A; every job starts MPI anew, so few have to do.
constexpr int kBlocks = 3;
constexpr int kJobSeconds = 300;

struct Figures {
  double value = 0;
  double p999 = 0;
};

// The program, in a temporary folder for as long as this lives.
class Program {
 public:
  explicit Program(const std::string& mpicc) {
    std::string folder = "/tmp/ucx-verity-bench-XXXXXX";
    if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("cannot write to /tmp");
    folder_ = folder;
    std::ofstream(folder_ / "mpi_pingpong.c") << kSource;
    // Not with the preload: compilers are none of its business.
    const ProcessResult result =
        run_process({mpicc, "-O2", "-o", path(), (folder_ / "mpi_pingpong.c").string()}, {},
                    {"LD_PRELOAD"}, kJobSeconds);
    if (result.status == 0) return;
    remove();
    throw std::runtime_error(result.status == 127
                                 ? "no " + mpicc + ": give --mpicc, or leave --level mpi out"
                                 : mpicc + " failed:\n" + result.err);
  }
  ~Program() { remove(); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] std::string path() const { return (folder_ / "mpi_pingpong").string(); }

 private:
  void remove() {
    std::error_code none;
    std::filesystem::remove_all(folder_, none);
  }

  std::filesystem::path folder_;
};

// Other lines may stand between: UCX logs to the standard output.
std::vector<Figures> parse(const std::string& output, std::size_t expected) {
  std::vector<Figures> figures;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    Figures one;
    std::size_t size = 0;
    if (std::sscanf(line.c_str(), "%zu %lf %lf", &size, &one.value, &one.p999) == 3) {
      figures.push_back(one);
    }
  }
  if (figures.size() != expected) throw std::runtime_error("the MPI job printed:\n" + output);
  return figures;
}

// One job on `transport`, a figure for each size.
std::vector<Figures> run_job(const Program& program, const std::string& transport, Test test,
                             const std::vector<std::size_t>& sizes, double seconds,
                             const MpiOptions& options) {
  const std::string loopback = transport.starts_with('v') ? "vself" : "self";
  std::vector<Variable> variables = {
      {"UCX_TLS", with_set_up_transport(transport) + "," + loopback},
      // A benchmark on two ranks may well have fewer cores than ranks.
      {"OMPI_MCA_rmaps_base_oversubscribe", "1"}};
  if (geteuid() == 0) {
    variables.push_back({"OMPI_ALLOW_RUN_AS_ROOT", "1"});
    variables.push_back({"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"});
  }
  std::vector<std::string> arguments = {options.mpirun,
                                        "-np",
                                        "2",
                                        program.path(),
                                        std::to_string(seconds),
                                        test == Test::kLatency ? "latency" : "rate"};
  for (const std::size_t size : sizes) arguments.push_back(std::to_string(size));
  const ProcessResult result = run_process(arguments, variables, {}, kJobSeconds);
  if (result.status == 0) return parse(result.out, sizes.size());
  throw std::runtime_error(result.status == 127 ? "no " + options.mpirun + ": give --mpirun"
                                                : options.mpirun + " on " + transport +
                                                      " failed:\n" + result.err + result.out);
}

class Measurement {
 public:
  Measurement(const Program& program, const std::string& raw, const std::string& wrapped, Test test,
              const std::vector<std::size_t>& sizes, double seconds, const MpiOptions& options)
      : blocks_(sizes.size()), p999_(sizes.size()) {
    const auto job = [&](const std::string& transport) {
      return run_job(program, transport, test, sizes, seconds / (4 * kBlocks), options);
    };
    for (int i = 0; i < kBlocks; ++i) {
      const auto a1 = job(raw);
      const auto b1 = job(wrapped);
      const auto b2 = job(wrapped);
      const auto a2 = job(raw);
      for (std::size_t s = 0; s < sizes.size(); ++s)
        add(s, a1[s], b1[s], b2[s], a2[s], test, sizes);
    }
  }

  void fill(std::size_t index, Result* result) const {
    result->comparison = compare(blocks_[index]);
    result->raw_p999 = median(p999_[index].raw);
    result->wrapped_p999 = median(p999_[index].wrapped);
  }

 private:
  struct Tails {
    std::vector<double> raw;
    std::vector<double> wrapped;
  };

  void add(std::size_t s, const Figures& a1, const Figures& b1, const Figures& b2,
           const Figures& a2, Test test, const std::vector<std::size_t>& sizes) {
    double scale = 1;
    if (test == Test::kRate) scale = counts_bytes(sizes[s]) ? double(sizes[s]) / 1e6 : 1e-6;
    blocks_[s].push_back({a1.value * scale, b1.value * scale, b2.value * scale, a2.value * scale});
    p999_[s].raw.insert(p999_[s].raw.end(), {a1.p999, a2.p999});
    p999_[s].wrapped.insert(p999_[s].wrapped.end(), {b1.p999, b2.p999});
  }

  std::vector<std::vector<Block>> blocks_;
  std::vector<Tails> p999_;
};

}  // namespace

std::vector<Result> measure_mpi(const std::string& transport, const std::vector<Test>& tests,
                                const std::vector<std::size_t>& sizes, double seconds,
                                bool null_test, const MpiOptions& options) {
  const Program program(options.mpicc);
  std::vector<Result> results;
  for (const Test test : tests) {
    const Measurement measured(program, transport, null_test ? transport : wrapper_of(transport),
                               test, sizes, seconds, options);
    for (std::size_t s = 0; s < sizes.size(); ++s) {
      Result result;
      result.level = "mpi";
      result.transport = transport;
      result.size = sizes[s];
      measured.fill(s, &result);
      conclude(&result, test, null_test);
      results.push_back(std::move(result));
    }
  }
  return results;
}

}  // namespace verity::tools::bench
