// SPDX-License-Identifier: BSD-3-Clause
//
// The MPI level: a ping-pong program of our own, compiled with the site's MPI compiler when it is
// needed, and launched with raw and wrapped transports in turn.
#ifndef VERITY_TOOLS_BENCH_MPI_H
#define VERITY_TOOLS_BENCH_MPI_H

#include <functional>
#include <string>
#include <vector>

#include "tools/bench/measure.h"

namespace verity::tools::bench {

struct MpiOptions {
  std::string mpicc = "mpicc";
  std::string mpirun = "mpirun";
  std::vector<unsigned> ranks = {2};        // even numbers: rank i works with rank i + n/2
  std::vector<std::size_t> segments = {0};  // bytes of a leaf; 0: what the plugin takes
  int blocks = 3;                           // A B B A; every job starts MPI anew, so few have to do
};

// What every combination of ranks, segment size and test is measured on, and for how long: one
// test of one size takes `seconds`.
struct MpiPlan {
  std::string transport;  // the lower one; self is used beside it
  std::vector<Test> tests;
  std::vector<std::size_t> sizes;
  double seconds = 0;
  bool null_test = false;
};

// Hands each result to `add` as soon as there is one. Each job measures every size. Throws
// std::runtime_error when the program cannot be compiled or launched.
void measure_mpi(const MpiPlan& plan, const MpiOptions& options,
                 const std::function<void(Result)>& add);

}  // namespace verity::tools::bench

#endif
