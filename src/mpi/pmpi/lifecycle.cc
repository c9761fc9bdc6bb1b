// SPDX-License-Identifier: BSD-3-Clause
// The beginning and the end.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "mpi/check/changes.h"
#include "mpi/check/findings.h"
#include "mpi/check/report.h"
#include "mpi/check/send_family.h"
#include "mpi/collectives/collecting.h"
#include "mpi/handles/comms.h"
#include "mpi/handles/types.h"
#include "mpi/pmpi/partitioned.h"
#include "mpi/pmpi/requests.h"
#include "mpi/pmpi/wrap.h"
#include "mpi/process/library.h"
#include "mpi/process/lifetime.h"

using namespace verity::mpi;  // NOLINT: the wrappers are C functions

namespace {

// Signatures that say for themselves which call they belong to: behind the record they have a tail,
// of the same size.
constexpr size_t kTail = sizeof(CollectiveTail);
static_assert(sizeof(PartitionedTail) == kTail);

// At least a record and a tail.
void arrived(const uint8_t* bytes, size_t length) noexcept {
  verity::signature::Record head;
  std::memcpy(&head, bytes, sizeof(head));
  if (head.family() == kPsendInit) partition_arrived(bytes, length);
  if (head.family() == kCollectiveFamily) collective_arrived(bytes, length);
}

// What is the same whenever MPI begins is done once: threads begin sessions while others use it.
void begin(int required) noexcept {
  // A process that ends without MPI_Finalize has its say too, but not its children.
  static const pid_t process = ::getpid();
  static const bool prepared = [] {
    know_mpi_calls([]() noexcept { return thread.depth != 0; });
    return std::atexit([] {
             if (::getpid() == process) print_summary();
           }) == 0;
  }();
  mpi_begins(required);
  static const bool listens = [] {
    on_collective(collective_begins);
    on_arrival(arrived, sizeof(verity::signature::Record) + kTail);
    on_change(add_change);
    return true;
  }();
  static_cast<void>(prepared && listens);
}

bool errors_return() noexcept {
  MPI_Errhandler handler;  // not given back: it may be a predefined one, and MPI is about to end
  return mpi_runs() && library().Comm_get_errhandler(world(), &handler) == MPI_SUCCESS &&
         handler == handles().errors_return;
}

// For the time of MPI_Finalize. Errors that its own last messages bring come too late for an error
// handler: MPI_Finalize returns them where MPI_COMM_WORLD's errors return, and otherwise they end
// the process, as MPI's own would.
class Ending {
 public:
  explicit Ending(Call& call) : call_(call) {
    static_cast<void>(report_findings(MPI_SUCCESS));
    returns_ = settings().check != Check::kError || errors_return();
  }
  ~Ending() {
    const bool ended = world_ends();
    const bool late = take_unraised();
    if (ended) print_summary();
    if (!late) return;
    call_.rc = MPI_ERR_TYPE;
    if (returns_) return;
    print("ucx-verity: " + process_in_words(process_number()) +
          " ends with an error: datatypes did not match in MPI_Finalize\n");
    std::exit(EXIT_FAILURE);
  }
  Ending(const Ending&) = delete;
  Ending& operator=(const Ending&) = delete;

 private:
  Call& call_;
  bool returns_ = true;
};

#if MPI_VERSION >= 4
// For the time of MPI_Session_init.
class Session {
 public:
  Session(const Call& call, const MPI_Session* session) noexcept : call_(call), session_(session) {}
  ~Session() {
    if (call_.rc == MPI_SUCCESS) session_begins(*session_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  const Call& call_;
  const MPI_Session* session_;
};

// MPI ends with its last session, and with it what the program has not freed. When it begins again,
// the same handles, and communicators of the same tags, are others.
void forget_handles() noexcept {
  forget_all_requests();
  forget_all_collectives();
  forget_all_partitioned();
  CommTable::drop_all();
  TypeTable::drop_all();
}

// For the time of MPI_Session_finalize. MPI may refuse it, as of what is no session or one whose
// communicators are there still: these go on, but what was counted in them is forgotten where it
// would have been the last session.
class EndingSession {
 public:
  EndingSession(const Call& call, const MPI_Session* session)
      : call_(call), is_one_(session != nullptr && *session != MPI_SESSION_NULL) {
    static_cast<void>(report_findings(MPI_SUCCESS));
    was_last_ = is_one_ && session_ends(forget_handles);
  }
  ~EndingSession() {
    if (!is_one_ || call_.rc == MPI_SUCCESS) return;
    session_goes_on();
    if (was_last_) stop_comparing_any();
  }
  EndingSession(const EndingSession&) = delete;
  EndingSession& operator=(const EndingSession&) = delete;

 private:
  const Call& call_;
  bool is_one_;
  bool was_last_ = false;
};
#endif

// There is a world from now on. Its rank is looked up at once: a process may end before its first
// message, without MPI_Finalize.
class World {
 public:
  World(const Call& call, int required) noexcept : call_(call) { begin(required); }
  ~World() {
    if (call_.rc == MPI_SUCCESS) static_cast<void>(query_whether_mpi_runs());
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;

 private:
  const Call& call_;
};

}  // namespace

VERITY_WRAP(Init, (int* argc, char*** argv), (argc, argv),
            const World begins(call, MPI_THREAD_SINGLE))
VERITY_WRAP(Init_thread, (int* argc, char*** argv, int required, int* provided),
            (argc, argv, required, provided), const World begins(call, required))
#if MPI_VERSION >= 4
VERITY_WRAP(Session_init, (MPI_Info info, MPI_Errhandler handler, MPI_Session* session),
            (info, handler, session), begin(MPI_THREAD_MULTIPLE);
            const Session begins(call, session))
VERITY_WRAP(Session_finalize, (MPI_Session * session), (session),
            const EndingSession ending(call, session))
#endif
VERITY_WRAP(Finalize, (), (), const Ending ending(call))
