// SPDX-License-Identifier: BSD-3-Clause
//
// The MPI level: a ping-pong program of our own, compiled with the site's MPI compiler when it is
// needed, and launched with raw and wrapped transports in turn.
#pragma once

#include <string>
#include <vector>

#include "tools/bench/measure.h"

namespace verity::tools::bench {

struct MpiOptions {
  std::string mpicc = "mpicc";
  std::string mpirun = "mpirun";
};

// Two ranks over `transport` (and self). Every job starts MPI anew, so there are only few blocks
// and each job measures every size; `seconds` is the time for one test of one size. Throws
// std::runtime_error when the program cannot be compiled or launched.
[[nodiscard]] std::vector<Result> measure_mpi(const std::string& transport,
                                              const std::vector<Test>& tests,
                                              const std::vector<std::size_t>& sizes, double seconds,
                                              bool null_test, const MpiOptions& options);

}  // namespace verity::tools::bench
