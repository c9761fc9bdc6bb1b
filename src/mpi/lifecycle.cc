// SPDX-License-Identifier: BSD-3-Clause
// The beginning and the end.
#include <unistd.h>

#include <cstdlib>

#include "mpi/changes.h"
#include "mpi/collecting.h"
#include "mpi/findings.h"
#include "mpi/wrap.h"

using namespace verity::mpi;  // NOLINT: the wrappers are C functions

namespace {

void begin(int required) noexcept {
  // A process that ends without MPI_Finalize has its say too, but not its children.
  static const pid_t process = ::getpid();
  static const int registered = std::atexit([] {
    if (::getpid() == process) conclude();
  });
  static_cast<void>(registered);
  mpi_begins(required);
  listen_to_collectives();
  on_change(add_change);
}

// For the time of MPI_Finalize: what the last messages bring is told after it.
struct Ending {
  Ending() noexcept { static_cast<void>(report_findings(MPI_SUCCESS)); }
  ~Ending() {
    mpi_ended();
    conclude();
  }
};

}  // namespace

VERITY_WRAP(Init, 2, (int* argc, char*** argv), (argc, argv), begin(MPI_THREAD_SINGLE))
VERITY_WRAP(Init_thread, 4, (int* argc, char*** argv, int required, int* provided), (argc, argv, required, provided), begin(required))
#if MPI_VERSION >= 4
VERITY_WRAP(Session_init, 3, (MPI_Info info, MPI_Errhandler handler, MPI_Session* session), (info, handler, session),
            begin(MPI_THREAD_MULTIPLE))
#endif
VERITY_WRAP(Finalize, 0, (), (), const Ending ending)
