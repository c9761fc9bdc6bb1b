// SPDX-License-Identifier: BSD-3-Clause
//
// Runs one test on a raw and a wrapped stack in blocks A B B A, and keeps the figures.
#ifndef VERITY_TOOLS_BENCH_MEASURE_H
#define VERITY_TOOLS_BENCH_MEASURE_H

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/bench/clock.h"
#include "tools/bench/peer.h"
#include "tools/bench/statistics.h"

namespace verity::tools::bench {

// One line of the report.
struct Result {
  std::string level;      // uct, ucp, mpi
  std::string transport;  // the lower one
  std::string test;       // latency, rate, bandwidth, put, get
  std::string send;       // short, bcopy, zcopy; empty above UCT
  std::size_t size = 0;
  unsigned ranks = 2;
  std::size_t segment = 0;  // bytes of a leaf; 0: the plugin's default
  std::string unit;         // ns, Mmsg/s, MB/s
  Comparison comparison;
  double raw_p999 = 0;  // ns; latency only
  double wrapped_p999 = 0;
  std::uint64_t messages = 0;  // on each of the two
  std::size_t disturbed = 0;   // blocks left out, as the system took a CPU away meanwhile
  bool too_disturbed = false;  // so many that they had to be taken all the same
  std::optional<Limit> limit;
  Verdict verdict = Verdict::kNoLimit;
  std::string problem;    // why there are no figures
  bool left_out = false;  // the transport has no such messages: nothing went wrong
};

// The request. `null_test` puts the raw transport on both sides: what it shows as difference
// is the error of the method.
struct Request {
  Level level = Level::kUct;
  std::string transport;
  Test test = Test::kLatency;
  std::size_t size = 0;
};

// Small messages count messages, larger ones bytes.
[[nodiscard]] bool counts_bytes(std::size_t size);

// Messages of a batch when one takes `ns`: a batch shall last about 1 ms; at least 1000 messages
// where that stays below 30 ms, and never less than 20.
[[nodiscard]] unsigned batch_length(double ns);

// The limit that the project sets itself for this test, if there is one.
[[nodiscard]] std::optional<Limit> limit_for(const std::string& level, const std::string& transport,
                                             Test test, std::size_t size);

// Measures for about `seconds`, up to four times as long on a busy machine, on the stacks that
// `peer` has open (0 raw, 1 wrapped). Throws what PeerProcess throws.
[[nodiscard]] Result measure(PeerProcess& peer, const TickScale& scale, const Request& request,
                             double seconds);

// Fills unit, limit and verdict from `comparison`.
void conclude(Result* result, Test test, bool null_test);

}  // namespace verity::tools::bench

#endif
