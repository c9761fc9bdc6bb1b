// SPDX-License-Identifier: BSD-3-Clause
// Whether this process checks, and how: decided at its first MPI call.
#pragma once

#include <atomic>

#include "mpi/process/mpi_api.h"
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
// A process as reports name it, also in the records of its messages: its rank in its MPI_COMM_WORLD, or in the process set mpi://WORLD where
// it has sessions alone, and above kRankBits the number of that world: 0, or which one it is that MPI_Comm_spawn made. -1: not known.
inline constexpr int kRankBits = 24;
extern constinit std::atomic<int> this_process __attribute__((visibility("hidden")));
[[nodiscard]] inline int world_rank() noexcept { return this_process.load(std::memory_order_relaxed); }
// The one of this rank in this process's world.
[[nodiscard]] inline int in_this_world(int rank) noexcept {
  const int self = world_rank();
  return rank < 0 || self < 0 ? rank : (self & ~((1 << kRankBits) - 1)) | rank;
}

// MPI_COMM_WORLD; MPI_COMM_NULL in a process that has sessions alone.
[[nodiscard]] MPI_Comm world() noexcept;
// A session begins, or ends: while there is one MPI's functions may be called without MPI_Init.
#if MPI_VERSION >= 4
void session_begins(MPI_Session session) noexcept;
void session_ends() noexcept;
#endif

}  // namespace verity::mpi
