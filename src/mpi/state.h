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
extern constinit Settings chosen __attribute__((visibility("hidden")));
[[nodiscard]] inline const Settings& settings() noexcept { return chosen; }

enum State : int { kForward = 0, kUndecided = 1, kChecking = 2 };
extern constinit std::atomic<int> state __attribute__((visibility("hidden")));

// The decision, made once; afterwards `state` is not kUndecided.
[[gnu::cold]] void decide() noexcept;

// It is decided that this process checks.
[[nodiscard]] inline bool checking() noexcept { return state.load(std::memory_order_relaxed) == kChecking; }
// Nothing is checked in this process, for ever. Decides, if need be.
[[nodiscard, gnu::cold]] inline bool forwarding() noexcept {
  if (state.load(std::memory_order_relaxed) == kUndecided) decide();
  return state.load(std::memory_order_relaxed) == kForward;
}

// Predefined handles: in Open MPI they are addresses of data in a library that we are not linked against.
struct Handles {
  MPI_Comm comm_null;
  MPI_Comm comm_world;
  MPI_Datatype type_null;
  MPI_Request request_null;
  MPI_Op no_op;
  MPI_Errhandler errors_return;
};
[[nodiscard]] const Handles& handles() noexcept;

// Before MPI is initialised. `required`: the level of threads that the program asks for.
void mpi_begins(int required) noexcept;
// MPI is initialised and not finalised: its functions may be called. `ended` is for good.
enum Phase : int { kBefore, kRunning, kEnded };
extern constinit std::atomic<int> phase __attribute__((visibility("hidden")));
[[nodiscard, gnu::cold]] bool look_whether_mpi_runs() noexcept;
// Known to.
[[nodiscard]] inline bool mpi_is_running() noexcept { return phase.load(std::memory_order_acquire) == kRunning; }
[[nodiscard]] inline bool mpi_runs() noexcept { return mpi_is_running() || look_whether_mpi_runs(); }
void mpi_ended() noexcept;
// This process in MPI_COMM_WORLD; -1 while there is none.
extern constinit std::atomic<int> rank_in_world __attribute__((visibility("hidden")));
[[nodiscard]] inline int world_rank() noexcept { return rank_in_world.load(std::memory_order_relaxed); }

}  // namespace verity::mpi
