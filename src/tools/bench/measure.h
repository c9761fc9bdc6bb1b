// SPDX-License-Identifier: BSD-3-Clause
//
// From pairs of processes to one line of the report.
#ifndef VERITY_TOOLS_BENCH_MEASURE_H
#define VERITY_TOOLS_BENCH_MEASURE_H

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "tools/bench/clock.h"
#include "tools/bench/pair.h"
#include "tools/bench/result.h"

namespace verity::tools::bench {

// How each line is measured.
struct Plan {
  std::vector<Variant> variants;    // raw, wrapped, and where one was named another installation's
  std::vector<std::string> starts;  // of Pair: how processes of other hosts are started
  unsigned openings = 7;
  double seconds = 0.4;    // of one line
  bool null_test = false;  // raw on both sides: what it shows as difference is the method's error
};

// Messages of a batch when one takes `ns`: a batch shall last about 1 ms; at least 1000 messages
// where that stays below 30 ms, and never less than 20.
[[nodiscard]] unsigned batch_length(double ns);

// Measures for about the plan's seconds, up to four times as long on a busy machine. Nothing
// where the transport has no such messages. Throws what Pair throws.
[[nodiscard]] std::optional<Result> measure(const Plan& plan, const TickScale& scale,
                                            const Traffic& traffic);

// The MPI level: a ping-pong program of our own, compiled with the site's MPI compiler when it is
// needed, and launched with each variant in turn.
struct MpiOptions {
  std::string mpicc = "mpicc";
  std::string mpirun = "mpirun";
  std::vector<unsigned> ranks = {2};        // even numbers: rank i works with rank i + n/2
  std::vector<std::size_t> segments = {0};  // bytes of a leaf; 0: what the plugin takes
};

// Every combination of ranks, segment size and test over `transport`, the lower one; self is used
// beside it. Each opening is a job that measures every size. Hands each result to `add` as soon as
// there is one. The program is compiled in `folder`. Throws std::runtime_error when it cannot be
// compiled or launched.
void measure_mpi(const Plan& plan, const MpiOptions& options, const std::string& transport,
                 const std::vector<Test>& tests, const std::vector<std::size_t>& sizes,
                 const std::filesystem::path& folder, const std::function<void(Result)>& add);

}  // namespace verity::tools::bench

#endif
