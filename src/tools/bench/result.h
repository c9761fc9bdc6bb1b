// SPDX-License-Identifier: BSD-3-Clause
//
// One line of the report, and how its figures and verdict follow from the openings.
#ifndef VERITY_TOOLS_BENCH_RESULT_H
#define VERITY_TOOLS_BENCH_RESULT_H

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/bench/stack.h"
#include "tools/bench/statistics.h"

namespace verity::tools::bench {

struct Result {
  Traffic traffic;
  std::string send;  // short, bcopy, zcopy; empty above UCT
  unsigned ranks = 2;
  std::size_t segment = 0;  // bytes of a leaf; 0: the plugin's default
  Comparison comparison;
  std::optional<Comparison> against_old;  // `raw` in it is the older plugin
  double raw_p999 = 0;                    // ns; latency only
  double wrapped_p999 = 0;
  double hash_ns = 0;          // of one pass over a message, on this CPU; 0: not measured
  std::size_t blocks = 0;      // rounds of batches, of all openings
  std::size_t disturbed = 0;   // those left out, as the system took a CPU away meanwhile
  bool too_disturbed = false;  // so many openings had no other that they had to be taken
  std::uint64_t messages = 0;  // of each side
  std::optional<Limit> limit;
  Verdict verdict = Verdict::kNoLimit;
  std::string problem;  // why there are no figures

  [[nodiscard]] bool is_time() const { return traffic.test != Test::kRate; }
  // latency, rate, bandwidth, put, get, allreduce, alltoall
  [[nodiscard]] std::string test() const;
  [[nodiscard]] std::string unit() const;  // ns, Mmsg/s, MB/s
};

// What one variant showed, a value for each opening.
struct Series {
  std::vector<double> values;  // ns, or messages per second
  std::vector<double> p999;    // ns
};

// Small messages count messages, larger ones bytes.
[[nodiscard]] bool counts_bytes(std::size_t size);

// The limit that the project sets itself, if there is one.
[[nodiscard]] std::optional<Limit> limit_for(const Traffic& traffic);

// Fills the figures, the limit and the verdict from raw, wrapped, and maybe an older plugin. A test
// of the method itself (`null_test`) has no limits.
void conclude(Result* result, std::vector<Series> series, bool null_test);

}  // namespace verity::tools::bench

#endif
