// SPDX-License-Identifier: BSD-3-Clause
//
// The benchmark's two processes. fork() comes before UCX is used, so each has a UCX of its own;
// they agree on every step over a socket pair.
#ifndef VERITY_TOOLS_BENCH_PEER_H
#define VERITY_TOOLS_BENCH_PEER_H

#include <sched.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tools/bench/stack.h"

namespace verity::tools::bench {

// A pair of stacks is opened in both processes and batches run on one of them.
class PeerProcess {
 public:
  // Forks. The child follows orders and never returns. Each is bound to a CPU of its own where the
  // process may use two. Throws std::runtime_error.
  PeerProcess();
  ~PeerProcess();
  PeerProcess(const PeerProcess&) = delete;
  PeerProcess& operator=(const PeerProcess&) = delete;

  // Opens and connects `first` and `second` in both processes; the ones opened before are closed.
  void open(Level level, const std::string& first, const std::string& second);
  void close();

  // Runs `batch` on stack 0 or 1. See Stack::lead(), or loop_back() where nothing else is possible.
  void run(int index, const Batch& batch, std::vector<std::uint64_t>* ticks_out);

  // How often the system took the CPU from either process so far. A batch during which this grew
  // measured the system's other work.
  [[nodiscard]] std::uint64_t preemptions();

  [[nodiscard]] Capability capability(int index) const;
  // Whether messages go within this process, as with the transport self.
  [[nodiscard]] bool loops_back() const { return loops_back_; }
  // "0,1", or why the processes are not bound.
  [[nodiscard]] const std::string& cpus() const { return cpus_; }

 private:
  [[noreturn]] static void follow_orders(int socket);

  int socket_ = -1;
  int child_ = -1;
  bool loops_back_ = false;
  std::string cpus_;
  cpu_set_t allowed_{};
  std::vector<std::unique_ptr<Stack>> stacks_;
};

}  // namespace verity::tools::bench

#endif
