// SPDX-License-Identifier: BSD-3-Clause
// Calls that end the life of a handle, which may then come again for something else.
#include "mpi/collecting.h"
#include "mpi/comms.h"
#include "mpi/partitioned.h"
#include "mpi/types.h"
#include "mpi/wrap.h"

using namespace verity::mpi;  // NOLINT: the wrappers are C functions

namespace {

void end_comm(MPI_Comm comm) noexcept {
  forget_collectives(comm);
  forget_partitioned(comm);
  forget_comm(comm);
}

}  // namespace

VERITY_WRAP(Type_free, 1, (MPI_Datatype * type), (type), forget_type(*type))
VERITY_WRAP(Comm_free, 1, (MPI_Comm * comm), (comm), end_comm(*comm))
VERITY_WRAP(Comm_disconnect, 1, (MPI_Comm * comm), (comm), end_comm(*comm))
VERITY_WRAP(Comm_set_name, 2, (MPI_Comm comm, const char* name), (comm, name), rename_comm(comm, name))
