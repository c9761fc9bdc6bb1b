// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/process/state.h"

#include <strings.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "mpi/ucp/attach.h"
#include "mpi/process/counting.h"
#include "mpi/process/library.h"
#include "mpi/interpose/next.h"
#include "mpi/check/report.h"

namespace verity::mpi {

constinit std::atomic<int> state{kUndecided};
constinit bool several_threads = true;
constinit Settings chosen;
constinit std::atomic<int> phase{kBefore};
constinit std::atomic<int> this_process{-1};

namespace {

constinit Handles predefined{};
constinit std::atomic<bool> has_world{false};

// 0: the world that the job began with; from 1 on: which one of those that MPI_Comm_spawn made. Open MPI's launcher counts them in the name of
// the job, as the low half of a number or behind an @; MPICH's says that it is one of them.
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
  this_process.store(rank < 0 ? -1 : number_of_world() << kRankBits | rank, std::memory_order_relaxed);
}

// The index of a variable's value in `names`; the first one with a line on stderr when it is none of them.
int choice(const char* variable, const char* const names[], const char* allowed) noexcept {
  const char* value = std::getenv(variable);
  if (value == nullptr || *value == '\0') return 0;
  for (int i = 0; names[i] != nullptr; ++i) {
    if (strcasecmp(value, names[i]) == 0) return i;
  }
  std::fprintf(stderr, "ucx-verity: %s=%s: bad value; allowed: %s. Using %s\n", variable, value, allowed, names[0]);
  return 0;
}

Settings read_settings() noexcept {
  static const char* const kChecks[] = {"off", "warn", "error", nullptr};
  static const char* const kLevels[] = {"layout", "names", nullptr};
  Settings read;
  read.check = static_cast<Check>(choice("UCX_VERITY_TYPECHECK", kChecks, "off, warn, error"));
  if (read.check == Check::kOff) return read;
  read.level = static_cast<signature::Level>(choice("UCX_VERITY_TYPECHECK_LEVEL", kLevels, "layout, names"));
  const char* log = std::getenv("UCX_VERITY_TYPECHECK_LOG");
  if (log != nullptr && *log != '\0') read.log = log;
  static const char* const kNo[] = {"n", "no", "off", "0", "y", "yes", "on", "1", nullptr};
  read.digest = choice("UCX_VERITY_TYPECHECK_DIGEST", kNo, "y, n") >= 4;
  const char* attest = std::getenv("UCX_VERITY_ATTEST");
  read.always_attest = attest != nullptr && strcasecmp(attest, "always") == 0;
  return read;
}

// Whether the process's MPI is the one whose header this was compiled with. May be asked before MPI_Init.
bool is_own_mpi() noexcept {
  using GetVersion = int (*)(char*, int*);
  const auto get_version = reinterpret_cast<GetVersion>(find_next("PMPI_Get_library_version"));
  if (get_version == nullptr) return false;
  char version[MPI_MAX_LIBRARY_VERSION_STRING + 8192] = {};  // as long as any library's
  int length = 0;
  get_version(version, &length);
#if defined(OPEN_MPI)
  return std::strstr(version, "Open MPI") != nullptr;
#else
  for (const char* kin : {"MPICH", "MVAPICH", "Intel(R) MPI"}) {
    if (std::strstr(version, kin) != nullptr) return true;
  }
  return false;
#endif
}

Handles find_handles() noexcept {
#if defined(OPEN_MPI)
  return {.comm_null = static_cast<MPI_Comm>(find_data("ompi_mpi_comm_null")),
          .comm_world = static_cast<MPI_Comm>(find_data("ompi_mpi_comm_world")),
          .type_null = static_cast<MPI_Datatype>(find_data("ompi_mpi_datatype_null")),
          .request_null = static_cast<MPI_Request>(find_data("ompi_request_null")),
          .no_op = static_cast<MPI_Op>(find_data("ompi_mpi_op_no_op")),
          .errors_return = static_cast<MPI_Errhandler>(find_data("ompi_mpi_errors_return"))};
#else
  return {.comm_null = MPI_COMM_NULL,
          .comm_world = MPI_COMM_WORLD,
          .type_null = MPI_DATATYPE_NULL,
          .request_null = MPI_REQUEST_NULL,
          .no_op = MPI_NO_OP,
          .errors_return = MPI_ERRORS_RETURN};
#endif
}

void start_checking() noexcept {
  if (!load_library()) {
    std::fprintf(stderr, "ucx-verity: this " VERITY_MPI_NAME " lacks functions that the checks of datatypes need: none is made\n");
    state.store(kForward, std::memory_order_relaxed);
    return;
  }
  predefined = find_handles();
  state.store(kChecking, std::memory_order_release);
}

}  // namespace

const Handles& handles() noexcept { return predefined; }

void decide() noexcept {
  static std::once_flag once;
  std::call_once(once, [] {
    const Settings read = read_settings();
    if (read.check == Check::kOff || !is_own_mpi()) {
      state.store(kForward, std::memory_order_relaxed);
      return;
    }
    chosen = read;
    start_checking();
  });
}

void mpi_begins(int required) noexcept {
  // Both libraries can be told to offer more than a program asks for.
  const bool more = std::getenv("OMPI_MPI_THREAD_LEVEL") != nullptr || std::getenv("MPIR_CVAR_DEFAULT_THREAD_LEVEL") != nullptr ||
                    std::getenv("MPIR_CVAR_ASYNC_PROGRESS") != nullptr || std::getenv("MPICH_ASYNC_PROGRESS") != nullptr ||
                    std::getenv("I_MPI_ASYNC_PROGRESS") != nullptr;  // a thread of the library's own
  several_threads = required == MPI_THREAD_MULTIPLE || more;
  enable_ucp_calls(several_threads);
}

bool look_whether_mpi_runs() noexcept {
  const int now = phase.load(std::memory_order_acquire);
  if (now == kEnded || (now == kRunning && has_world.load(std::memory_order_relaxed))) return now == kRunning;
  int initialized = 0, finalized = 0;
  library().Initialized(&initialized);
  library().Finalized(&finalized);
  if (initialized == 0 || finalized != 0) return now == kRunning;
  int rank = -1;
  library().Comm_rank(handles().comm_world, &rank);
  name_this_process(rank);
  has_world.store(true, std::memory_order_relaxed);
  phase.store(kRunning, std::memory_order_release);
  return true;
}

MPI_Comm world() noexcept { return has_world.load(std::memory_order_relaxed) ? handles().comm_world : handles().comm_null; }

#if MPI_VERSION >= 4
namespace {
constinit std::atomic<int> sessions{0};
}

void session_begins(MPI_Session session) noexcept {
  if (sessions.fetch_add(1) != 0 || look_whether_mpi_runs()) return;
  using FromSet = decltype(&PMPI_Group_from_session_pset);
  using GroupRank = decltype(&PMPI_Group_rank);
  const auto from_set = reinterpret_cast<FromSet>(find_next("PMPI_Group_from_session_pset"));
  const auto rank_of = reinterpret_cast<GroupRank>(find_next("PMPI_Group_rank"));
  MPI_Group group;
  int rank = -1;
  if (from_set == nullptr || rank_of == nullptr || from_set(session, "mpi://WORLD", &group) != MPI_SUCCESS) return;
  rank_of(group, &rank);
  library().Group_free(&group);
  name_this_process(rank);
  phase.store(kRunning, std::memory_order_release);
}

// The last one, in a process without MPI_Init: MPI may begin again.
void session_ends() noexcept {
  if (sessions.fetch_sub(1) == 1 && world() == handles().comm_null) phase.store(kBefore, std::memory_order_release);
}
#endif

void mpi_ended() noexcept { phase.store(kEnded, std::memory_order_release); }

}  // namespace verity::mpi
