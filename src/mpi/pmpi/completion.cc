// SPDX-License-Identifier: BSD-3-Clause
// Calls that complete what others began: a mismatch is reported when they end.
#define VERITY_HEAT gnu::hot
#include "mpi/pmpi/requests.h"
#include "mpi/pmpi/wrap.h"

using namespace verity::mpi;  // NOLINT: the wrappers are C functions

VERITY_PASS(Wait, 2)
VERITY_PASS(Waitall, 3)
VERITY_PASS(Waitany, 4)
VERITY_PASS(Waitsome, 5)
VERITY_PASS(Test, 3)
VERITY_PASS(Testall, 4)
VERITY_PASS(Testany, 5)
VERITY_PASS(Testsome, 5)
VERITY_PASS(Request_get_status, 3)
VERITY_PASS(Cancel, 1)

// (MPI refuses nullptr, as in the wrappers of other calls that end something.)
VERITY_WRAP_FOR_ALL(Request_free, (MPI_Request * request), (request),
                    if (request != nullptr) forget_request(*request))
