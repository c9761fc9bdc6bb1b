// SPDX-License-Identifier: BSD-3-Clause
// Calls that complete what others began: a mismatch is reported when they end.
#define VERITY_HEAT gnu::hot
#include "mpi/collectives/requests.h"
#include "mpi/pmpi/requests.h"
#include "mpi/pmpi/wrap.h"

using namespace verity::mpi;  // NOLINT: the wrappers are C functions

// They may be nonblocking collective operations.
#define COMPLETES_ONE(function, arity, count, requests)                              \
  VERITY_FUNCTION(                                                                   \
      function, arity, const PlainCall call(return_address, frame_end); int rc;      \
      if (Completing::is_any_awaited()) [[unlikely]] {                               \
        const Completing completing(static_cast<int>(count),                         \
                                    reinterpret_cast<const MPI_Request*>(requests)); \
        rc = next_##function.as<Words>()(VERITY_ARGUMENTS(arity));                   \
      } else {                                                                       \
        rc = next_##function.as<Words>()(VERITY_ARGUMENTS(arity));                   \
      } return call.leave(rc);)
#define COMPLETES(name, arity, count, requests)     \
  COMPLETES_ONE(MPI_##name, arity, count, requests) \
  COMPLETES_ONE(PMPI_##name, arity, count, requests)

COMPLETES(Wait, 2, 1, a)
COMPLETES(Waitall, 3, a, b)
COMPLETES(Waitany, 4, a, b)
COMPLETES(Waitsome, 5, a, b)
COMPLETES(Test, 3, 1, a)
COMPLETES(Testall, 4, a, b)
COMPLETES(Testany, 5, a, b)
COMPLETES(Testsome, 5, a, b)

VERITY_PASS(Request_get_status, 3)
VERITY_PASS(Cancel, 1)

// (MPI refuses nullptr, as in the wrappers of other calls that end something.)
VERITY_WRAP_FOR_ALL(Request_free, (MPI_Request * request), (request),
                    if (request != nullptr) forget_request(*request))
