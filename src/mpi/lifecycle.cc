// SPDX-License-Identifier: BSD-3-Clause
// The beginning and the end.
#include <cstdlib>

#include "mpi/findings.h"
#include "mpi/wrap.h"

using namespace verity::mpi;  // NOLINT: the wrappers are C functions

namespace {

// A process that ends without MPI_Finalize has its say too.
struct AtExit {
  AtExit() noexcept { std::atexit(conclude); }
};

// For the time of MPI_Finalize: what the last messages bring is told after it.
struct Ending {
  Ending() noexcept { static_cast<void>(report_findings(MPI_SUCCESS)); }
  ~Ending() {
    mpi_ended();
    conclude();
  }
};

}  // namespace

VERITY_WRAP(Init, 2, (int* argc, char*** argv), (argc, argv), static const AtExit at_exit)
VERITY_WRAP(Init_thread, 4, (int* argc, char*** argv, int required, int* provided), (argc, argv, required, provided),
            static const AtExit at_exit)
VERITY_WRAP(Finalize, 0, (), (), const Ending ending)
