// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "tools/bench/measure.h"
#include "tools/env/transports.h"
#include "tools/subprocess.h"

namespace verity::tools::bench {

namespace {

constexpr const char* kSource =
#include "tools/bench/mpi_pingpong.inc"
    ;

constexpr int kJobSeconds = 300;

using Figures = std::pair<double, double>;  // the value and the 99.9th percentile

// Compiles the program, unless it is there from another transport, and returns its path.
std::string program_in(const std::filesystem::path& folder, const std::string& mpicc) {
  const std::string program = folder / "mpi_pingpong";
  if (std::filesystem::exists(program)) return program;
  std::ofstream(program + ".c") << kSource;
  const ProcessResult result =
      run_process({mpicc, "-O2", "-o", program, program + ".c"}, {}, {"LD_PRELOAD"}, kJobSeconds);
  if (result.status == 0) return program;
  throw std::runtime_error(result.status == 127
                               ? "no " + mpicc + ": give --mpicc, or leave --level mpi out"
                               : mpicc + " failed:\n" + result.err);
}

// Other lines may stand between: UCX logs to the standard output.
std::vector<Figures> parse(const std::string& output, std::size_t expected) {
  std::vector<Figures> figures;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    Figures one;
    std::size_t size = 0;
    if (std::sscanf(line.c_str(), "%zu %lf %lf", &size, &one.first, &one.second) == 3) {
      figures.push_back(one);
    }
  }
  if (figures.size() != expected) throw std::runtime_error("the MPI job printed:\n" + output);
  return figures;
}

// What the jobs of one measurement have in common.
struct Case {
  std::vector<std::string> arguments;
  std::string transport;
  unsigned ranks;
  std::size_t segment;
  std::size_t sizes;
  int patience;
};

std::vector<Variable> variables_of(const Case& c, const Variant& variant) {
  std::vector<Variable> variables = variant.set;
  const std::string tls = with_set_up_transport(variant.transport(c.transport));
  variables.insert(variables.end(), {{"UCX_TLS", tls + "," + variant.transport("self")},
                                     // A benchmark may well have fewer cores than ranks.
                                     {"OMPI_MCA_rmaps_base_oversubscribe", "1"},
                                     {"PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"}});
  if (c.segment > 0 && variant.wrapped)
    variables.push_back({"UCX_VERITY_SEGMENT_SIZE", std::to_string(c.segment)});
  if (geteuid() == 0) {
    variables.push_back({"OMPI_ALLOW_RUN_AS_ROOT", "1"});
    variables.push_back({"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"});
  }
  return variables;
}

// One job, a figure for each size.
std::vector<Figures> run_job(const Case& c, const Variant& variant) {
  const ProcessResult result =
      run_process(c.arguments, variables_of(c, variant), variant.unset, c.patience);
  if (result.status == 0) return parse(result.out, c.sizes);
  const std::string& mpirun = c.arguments.front();
  if (result.status == 127) throw std::runtime_error("no " + mpirun + ": give --mpirun");
  throw std::runtime_error(
      mpirun + " on " + variant.transport(c.transport) + " with " + std::to_string(c.ranks) +
      " ranks " + (result.timed_out ? "did not end:\n" : "failed:\n") + result.err + result.out);
}

// By size, then by variant. Each second opening has the variants in the other order.
std::vector<std::vector<Series>> run_jobs(const Plan& plan, const Case& c) {
  std::vector<std::vector<Series>> series(c.sizes, std::vector<Series>(plan.variants.size()));
  for (unsigned opening = 0; opening < plan.openings; ++opening) {
    for (std::size_t i = 0; i < plan.variants.size(); ++i) {
      const std::size_t variant = opening % 2 == 0 ? i : plan.variants.size() - 1 - i;
      const std::vector<Figures> figures = run_job(c, plan.variants[variant]);
      for (std::size_t s = 0; s < c.sizes; ++s) {
        series[s][variant].values.push_back(figures[s].first);
        series[s][variant].p999.push_back(figures[s].second);
      }
    }
  }
  return series;
}

}  // namespace

void measure_mpi(const Plan& plan, const MpiOptions& options, const std::string& transport,
                 const std::vector<Test>& tests, const std::vector<std::size_t>& sizes,
                 const std::filesystem::path& folder, const std::function<void(Result)>& add) {
  const std::string program = program_in(folder, options.mpicc);
  const double seconds = plan.seconds / plan.openings;
  for (const unsigned ranks : options.ranks) {
    for (const std::size_t segment : options.segments) {
      for (const Test test : tests) {
        Case c{.arguments = {options.mpirun, "-np", std::to_string(ranks), program,
                             std::to_string(seconds), name_of(test)},
               .transport = transport,
               .ranks = ranks,
               .segment = segment,
               .sizes = sizes.size(),
               .patience = kJobSeconds + static_cast<int>(10 * ranks + seconds * sizes.size())};
        for (const std::size_t size : sizes) c.arguments.push_back(std::to_string(size));
        std::vector<std::vector<Series>> series = run_jobs(plan, c);
        for (std::size_t s = 0; s < sizes.size(); ++s) {
          Result result;
          result.traffic = {
              .level = Level::kMpi, .transport = transport, .test = test, .size = sizes[s]};
          result.ranks = ranks;
          result.segment = segment;
          result.blocks = plan.openings;
          conclude(&result, std::move(series[s]), plan.null_test);
          if (result.comparison.raw <= 0) {
            result.problem = "left out: the ranks of a host would fill half of its memory";
          }
          add(std::move(result));
        }
      }
    }
  }
}

}  // namespace verity::tools::bench
