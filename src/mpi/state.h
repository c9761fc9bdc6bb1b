// SPDX-License-Identifier: BSD-3-Clause
// Whether this process checks, and how: decided at its first MPI call.
#pragma once

#include <atomic>

#include "mpi/mpi_api.h"
#include "signature/basic.h"

namespace verity::mpi {

enum class Check : uint8_t { kOff, kWarn, kError };

struct Settings {
  Check check = Check::kOff;
  signature::Level level = signature::Level::kLayout;
  const char* log = nullptr;    // file for JSON lines; nullptr: none
  bool always_attest = false;
  bool digest = false;          // of the data, too
};
extern constinit Settings chosen;
[[nodiscard]] inline const Settings& settings() noexcept { return chosen; }

enum State : int { kForward = 0, kUndecided = 1, kChecking = 2 };
extern constinit std::atomic<int> state;

// The decision, made once; afterwards `state` is not kUndecided.
void decide() noexcept;

// Nothing is checked in this process, for ever.
[[nodiscard]] inline bool forwarding() noexcept {
  const int now = state.load(std::memory_order_relaxed);
  if (now == kForward) [[likely]] return true;
  if (now == kUndecided) [[unlikely]] {
    decide();
    return state.load(std::memory_order_relaxed) == kForward;
  }
  return false;
}

// Predefined handles: in Open MPI they are addresses of data in a library that we are not linked against.
struct Handles {
  MPI_Comm comm_null;
  MPI_Comm comm_world;
  MPI_Datatype type_null;
  MPI_Request request_null;
  MPI_Op no_op;
};
[[nodiscard]] const Handles& handles() noexcept;

// Before MPI is initialised. `required`: the level of threads that the program asks for.
void mpi_begins(int required) noexcept;
// MPI is initialised and not finalised: its functions may be called. `ended` is for good.
enum Phase : int { kBefore, kRunning, kEnded };
extern constinit std::atomic<int> phase;
[[nodiscard]] bool look_whether_mpi_runs() noexcept;
[[nodiscard]] inline bool mpi_runs() noexcept {
  return phase.load(std::memory_order_acquire) == kRunning || look_whether_mpi_runs();
}
void mpi_ended() noexcept;
// This process in MPI_COMM_WORLD; -1 while there is none.
extern constinit std::atomic<int> rank_in_world;
[[nodiscard]] inline int world_rank() noexcept { return rank_in_world.load(std::memory_order_relaxed); }

}  // namespace verity::mpi
