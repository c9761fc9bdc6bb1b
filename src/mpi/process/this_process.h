// SPDX-License-Identifier: BSD-3-Clause
// This process: whether it checks and how, which is decided at its first MPI call, and how far MPI
// has come. One object for what all threads share; what each thread has is in thread.h. The header
// of the MPI library is not needed here.
#ifndef VERITY_MPI_PROCESS_THIS_PROCESS_H
#define VERITY_MPI_PROCESS_THIS_PROCESS_H

#include <atomic>
#include <cstdint>

#include "signature/basic.h"

namespace verity::mpi {

enum class Check : uint8_t { kOff, kWarn, kError };

struct Settings {
  Check check = Check::kOff;
  signature::Level level = signature::Level::kLayout;
  const char* log = nullptr;  // file for JSON lines; nullptr: none
  bool always_attest = false;
  bool digest = false;  // of the data, too
};

enum State : int { kForward = 0, kUndecided = 1, kChecking = 2 };
enum Phase : int { kBefore, kRunning, kEnded };

struct ThisProcess {
  std::atomic<int> state{kUndecided};
  std::atomic<bool> findings_wait{
      false};  // mismatches wait for the next exit of an MPI call (check/findings.h)
  bool several_threads = true;  // MPI_THREAD_MULTIPLE may be in use; set before MPI is initialised
  Settings settings;
  std::atomic<int> phase{kBefore};
  std::atomic<int> number{-1};         // see process_number()
  std::atomic<bool> has_world{false};  // MPI_COMM_WORLD is there
  std::atomic<int> sessions{0};
  std::atomic<uint64_t> handle_generation{
      1};  // changes when a handle is freed (handles/handle_table.h); never 0
};
extern constinit ThisProcess this_process __attribute__((visibility("hidden")));

[[nodiscard]] inline const Settings& settings() noexcept { return this_process.settings; }

// The decision, made once; afterwards the state is not kUndecided.
[[gnu::cold]] void decide() noexcept;

// It is decided that this process checks.
[[nodiscard]] inline bool checking() noexcept {
  return this_process.state.load(std::memory_order_relaxed) == kChecking;
}
// Nothing is checked in this process, for ever. Decides, if need be.
[[nodiscard, gnu::cold]] inline bool forwarding() noexcept {
  if (this_process.state.load(std::memory_order_relaxed) == kUndecided) decide();
  return this_process.state.load(std::memory_order_relaxed) == kForward;
}

// MPI is known to be initialised, by MPI_Init or a session, and not finalised.
[[nodiscard]] inline bool mpi_is_running() noexcept {
  return this_process.phase.load(std::memory_order_acquire) == kRunning;
}
[[nodiscard, gnu::cold]] bool query_whether_mpi_runs() noexcept;
// Its functions may be called.
[[nodiscard]] inline bool mpi_runs() noexcept {
  return mpi_is_running() || query_whether_mpi_runs();
}

// A process as reports name it, also in the records of its messages: its rank in its
// MPI_COMM_WORLD, or in the process set mpi://WORLD where it has sessions alone, and above
// kRankBits the number of that world: 0, or which one it is that MPI_Comm_spawn made. -1: not
// known.
inline constexpr int kRankBits = 24;
[[nodiscard]] inline int process_number() noexcept {
  return this_process.number.load(std::memory_order_relaxed);
}
// The one of this rank in this process's world.
[[nodiscard]] inline int in_this_world(int rank) noexcept {
  const int self = process_number();
  return rank < 0 || self < 0 ? rank : (self & ~((1 << kRankBits) - 1)) | rank;
}

}  // namespace verity::mpi

#endif
