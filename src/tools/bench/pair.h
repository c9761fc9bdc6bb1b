// SPDX-License-Identifier: BSD-3-Clause
//
// Two processes that exchange messages over one transport. Each is this program started anew, with
// the environment that its variant of UCX needs: no figure depends on what was measured before, and
// raw, wrapped and an older plugin never share a process.
#ifndef VERITY_TOOLS_BENCH_PAIR_H
#define VERITY_TOOLS_BENCH_PAIR_H

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/bench/stack.h"
#include "tools/variable.h"

namespace verity::tools::bench {

// One side of a comparison: raw, wrapped by this installation, or wrapped by another one.
struct Variant {
  bool wrapped = false;
  std::vector<Variable> set;
  std::vector<std::string> unset;
  bool own_names = false;  // of UCX, for wrapped transports too: the site locks these

  [[nodiscard]] std::string transport(const std::string& lower) const;
};

struct Batch {
  unsigned warm_up = 0;
  unsigned count = 0;
};

struct Timing {
  std::vector<std::uint64_t> ticks;  // latency: of each round trip; rate: of all messages
  bool in_ns = false;                // nanoseconds instead of ticks
  bool disturbed = false;            // the system took the CPU from one of the two meanwhile
};

// CPUs for the two processes, where this one may use two; else empty.
[[nodiscard]] const std::vector<int>& pair_cpus();

class Pair {
 public:
  // Starts the processes, which open the transport. `starts`: commands that run a program, whose
  // words follow, on the host of each process and forward its input and output, such as "ssh
  // node1"; empty: both are on this host. Throws std::runtime_error, here and below.
  Pair(const Variant& variant, const Traffic& traffic, const std::vector<std::string>& starts = {});
  // Kills them, unless they were closed.
  ~Pair();
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  [[nodiscard]] Capability capability() const;
  void connect(Send how);
  // Between batches both processes sleep.
  [[nodiscard]] Timing run(const Batch& batch);
  void close();

 private:
  class Process;
  [[nodiscard]] std::vector<nlohmann::json> exchange(const std::vector<nlohmann::json>& orders);

  Traffic traffic_;
  bool remote_;
  std::vector<std::unique_ptr<Process>> processes_;  // the one that measures first
  std::vector<nlohmann::json> opened_;
};

// What the processes run: follows the orders on its standard input. Returns an exit status.
int follow_orders();

}  // namespace verity::tools::bench

#endif
