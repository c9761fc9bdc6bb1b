// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/mpi.h"

#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tools/env/transports.h"
#include "tools/subprocess.h"

namespace verity::tools::bench {

namespace {

constexpr const char* kSource =
#include "tools/bench/mpi_pingpong.inc"
    ;

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

const char* name_of(Test test) {
  switch (test) {
    case Test::kLatency: return "latency";
    case Test::kPut: return "put";
    case Test::kGet: return "get";
    default: return "rate";
  }
}

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

// What the jobs of one measurement have in common.
struct Case {
  const Program& program;
  const MpiPlan& plan;
  const MpiOptions& options;
  unsigned ranks;
  std::size_t segment;
  Test test;
};

std::vector<Variable> variables_of(const Case& c, bool wrapped) {
  const std::string transport = wrapped ? wrapper_of(c.plan.transport) : c.plan.transport;
  std::vector<Variable> variables = {
      {"UCX_TLS", with_set_up_transport(transport) + (wrapped ? ",vself" : ",self")},
      // A benchmark may well have fewer cores than ranks.
      {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
      {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"}};
  // The plugin is loaded there as well, without a part in it.
  if (!wrapped)
    variables.insert(variables.end(), {{"UCX_VERITY_HEALTH", "n"}, {"UCX_VERITY_ATTEST", "never"}});
  if (wrapped && c.segment > 0) {
    variables.push_back({"UCX_VERITY_SEGMENT_SIZE", std::to_string(c.segment)});
  }
  if (geteuid() == 0) {
    variables.push_back({"OMPI_ALLOW_RUN_AS_ROOT", "1"});
    variables.push_back({"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"});
  }
  return variables;
}

// One job, a figure for each size.
std::vector<Figures> run_job(const Case& c, bool wrapped) {
  const double seconds = c.plan.seconds / (4 * c.options.blocks);
  std::vector<std::string> arguments = {c.options.mpirun,        "-np",
                                        std::to_string(c.ranks), c.program.path(),
                                        std::to_string(seconds), name_of(c.test)};
  for (const std::size_t size : c.plan.sizes) arguments.push_back(std::to_string(size));
  const int patience = kJobSeconds + static_cast<int>(10 * c.ranks + seconds * arguments.size());
  const ProcessResult result = run_process(arguments, variables_of(c, wrapped), {}, patience);
  if (result.status == 0) return parse(result.out, c.plan.sizes.size());
  if (result.status == 127) throw std::runtime_error("no " + c.options.mpirun + ": give --mpirun");
  throw std::runtime_error(c.options.mpirun + " on " + (wrapped ? "wrapped " : "") +
                           c.plan.transport + " with " + std::to_string(c.ranks) + " ranks " +
                           (result.timed_out ? "did not end:\n" : "failed:\n") + result.err +
                           result.out);
}

class Measurement {
 public:
  explicit Measurement(const Case& c)
      : case_(c), blocks_(c.plan.sizes.size()), p999_(c.plan.sizes.size()) {
    const bool wrapped = !c.plan.null_test;
    for (int i = 0; i < c.options.blocks; ++i) {
      const auto a1 = run_job(c, false);
      const auto b1 = run_job(c, wrapped);
      const auto b2 = run_job(c, wrapped);
      const auto a2 = run_job(c, false);
      for (std::size_t s = 0; s < blocks_.size(); ++s) add(s, a1[s], b1[s], b2[s], a2[s]);
    }
  }

  [[nodiscard]] Result result(std::size_t index) const {
    Result result;
    result.level = "mpi";
    result.transport = case_.plan.transport;
    result.size = case_.plan.sizes[index];
    result.ranks = case_.ranks;
    result.segment = case_.segment;
    result.comparison = compare(blocks_[index]);
    result.raw_p999 = median(p999_[index].raw);
    result.wrapped_p999 = median(p999_[index].wrapped);
    conclude(&result, case_.test, case_.plan.null_test);
    if (result.comparison.raw <= 0) {
      result.problem = "left out: the ranks of a host would fill half of its memory";
    }
    return result;
  }

 private:
  struct Tails {
    std::vector<double> raw;
    std::vector<double> wrapped;
  };

  void add(std::size_t s, const Figures& a1, const Figures& b1, const Figures& b2,
           const Figures& a2) {
    const std::size_t size = case_.plan.sizes[s];
    double scale = 1;
    if (case_.test == Test::kRate) scale = counts_bytes(size) ? double(size) / 1e6 : 1e-6;
    blocks_[s].push_back({a1.value * scale, b1.value * scale, b2.value * scale, a2.value * scale});
    p999_[s].raw.insert(p999_[s].raw.end(), {a1.p999, a2.p999});
    p999_[s].wrapped.insert(p999_[s].wrapped.end(), {b1.p999, b2.p999});
  }

  const Case& case_;
  std::vector<std::vector<Block>> blocks_;
  std::vector<Tails> p999_;
};

}  // namespace

void measure_mpi(const MpiPlan& plan, const MpiOptions& options,
                 const std::function<void(Result)>& add) {
  const Program program(options.mpicc);
  for (const unsigned ranks : options.ranks) {
    for (const std::size_t segment : options.segments) {
      for (const Test test : plan.tests) {
        const Case c{program, plan, options, ranks, segment, test};
        const Measurement measured(c);
        for (std::size_t s = 0; s < plan.sizes.size(); ++s) add(measured.result(s));
      }
    }
  }
}

}  // namespace verity::tools::bench
