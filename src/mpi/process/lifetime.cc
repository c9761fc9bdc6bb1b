// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/process/lifetime.h"

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "mpi/interpose/next.h"
#include "mpi/process/library.h"
#include "mpi/ucp/attach.h"

namespace verity::mpi {

namespace {

// 0: the world that the job began with; from 1 on: which one of those that MPI_Comm_spawn made.
// Open MPI's launcher counts them in the name of the job, as the low half of a number or behind an
// @; MPICH's says that it is one of them.
int number_of_world() noexcept {
  constexpr int kMost = 0x7f;
  if (const char* job = std::getenv("PMIX_NAMESPACE")) {
    const char* count = std::strrchr(job, '@');
    const long number = count != nullptr ? std::atol(count + 1) : std::atol(job) & 0xffff;
    return number > 1 ? static_cast<int>((number - 1) & kMost) : 0;
  }
  const char* spawned = std::getenv("PMI_SPAWNED");
  return spawned != nullptr && std::atoi(spawned) != 0 ? 1 : 0;
}

void name_this_process(int rank) noexcept {
  this_process.number.store(rank < 0 ? -1 : number_of_world() << kRankBits | rank,
                            std::memory_order_relaxed);
}

// Both libraries can be set to offer more threads than a program asks for, or to have one of their
// own. MPICH reads each of its variables by three names.
bool may_offer_more() noexcept {
  for (const char* name :
       {"OMPI_MPI_THREAD_LEVEL", "MPIR_CVAR_DEFAULT_THREAD_LEVEL",
        "MPIR_PARAM_DEFAULT_THREAD_LEVEL", "MPICH_DEFAULT_THREAD_LEVEL", "MPIR_CVAR_ASYNC_PROGRESS",
        "MPIR_PARAM_ASYNC_PROGRESS", "MPICH_ASYNC_PROGRESS", "I_MPI_ASYNC_PROGRESS"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

// Held while it changes whether MPI runs: threads begin and end sessions at once. MPI is not called
// under it.
constinit std::mutex changing;

}  // namespace

void mpi_begins(int required) noexcept {
  static constinit bool begun = false;
  const std::lock_guard lock(changing);
  const bool before = begun && this_process.several_threads;  // by an MPI_Session_init
  const bool several = before || required == MPI_THREAD_MULTIPLE || may_offer_more();
  // Threads of other sessions are reading it.
  if (this_process.several_threads != several) this_process.several_threads = several;
  begun = true;
  enable_ucp_calls(this_process.several_threads);
}

bool query_whether_mpi_runs() noexcept {
  const int now = this_process.phase.load(std::memory_order_acquire);
  if (now == kEnded || (now == kRunning && this_process.has_world.load(std::memory_order_relaxed)))
    return now == kRunning;
  int initialized = 0, finalized = 0;
  library().Initialized(&initialized);
  library().Finalized(&finalized);
  if (initialized == 0 || finalized != 0) return now == kRunning;
  int rank = -1;
  library().Comm_rank(handles().comm_world, &rank);
  name_this_process(rank);
  this_process.has_world.store(true, std::memory_order_relaxed);
  this_process.phase.store(kRunning, std::memory_order_release);
  return true;
}

MPI_Comm world() noexcept {
  return this_process.has_world.load(std::memory_order_relaxed) ? handles().comm_world
                                                                : handles().comm_null;
}

#if MPI_VERSION >= 4
namespace {

// Of this process in the set of all that were started with it; -1: not known.
int rank_in_world_set(MPI_Session session) noexcept {
  using FromSet = decltype(&PMPI_Group_from_session_pset);
  using GroupRank = decltype(&PMPI_Group_rank);
  const auto from_set = reinterpret_cast<FromSet>(find_next("PMPI_Group_from_session_pset"));
  const auto rank_of = reinterpret_cast<GroupRank>(find_next("PMPI_Group_rank"));
  MPI_Group group;
  int rank = -1;
  if (from_set == nullptr || rank_of == nullptr ||
      from_set(session, "mpi://WORLD", &group) != MPI_SUCCESS)
    return -1;
  rank_of(group, &rank);
  library().Group_free(&group);
  return rank;
}

}  // namespace

void session_begins(MPI_Session session) noexcept {
  const int rank = mpi_runs() ? -1 : rank_in_world_set(session);
  const std::lock_guard lock(changing);
  this_process.sessions.fetch_add(1);
  if (mpi_is_running()) return;
  if (rank >= 0) name_this_process(rank);
  this_process.phase.store(kRunning, std::memory_order_release);
}

bool session_ends(void (*forget)() noexcept) noexcept {
  const std::lock_guard lock(changing);
  if (this_process.sessions.fetch_sub(1) != 1 || world() != handles().comm_null) return false;
  this_process.phase.store(kBefore, std::memory_order_release);
  forget();  // before another thread's session has anything
  return true;
}

void session_goes_on() noexcept {
  const std::lock_guard lock(changing);
  this_process.sessions.fetch_add(1);
  this_process.phase.store(kRunning, std::memory_order_release);
}
#endif

bool world_ends() noexcept {
  const std::lock_guard lock(changing);
  this_process.has_world.store(false, std::memory_order_relaxed);
  if (this_process.sessions.load() != 0) return false;
  this_process.phase.store(kEnded, std::memory_order_release);
  return true;
}

}  // namespace verity::mpi
