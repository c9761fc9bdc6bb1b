// SPDX-License-Identifier: BSD-3-Clause
// Probes that take the message out of the queue, and the receives of such messages.
#include "mpi/pmpi/requests.h"
#include "mpi/pmpi/wrap.h"

using namespace verity::mpi;  // NOLINT: the wrappers are C functions

VERITY_WRAP(Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message* message, MPI_Status* status),
            (source, tag, comm, message, status),
            const Probing probing(call, source, comm, nullptr, message, &status))
VERITY_WRAP(Improbe,
            (int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message,
             MPI_Status* status),
            (source, tag, comm, flag, message, status),
            const Probing probing(call, source, comm, flag, message, &status))

#define MRECV(name, Count)                                                                         \
  VERITY_WRAP(                                                                                     \
      name, (void* buf, Count count, MPI_Datatype type, MPI_Message* message, MPI_Status* status), \
      (buf, count, type, message, status),                                                         \
      const ReceivingMessage receive(call, Buffer{count, type}, message))
#define IMRECV(name, Count)                                                                    \
  VERITY_WRAP(                                                                                 \
      name,                                                                                    \
      (void* buf, Count count, MPI_Datatype type, MPI_Message* message, MPI_Request* request), \
      (buf, count, type, message, request),                                                    \
      const ReceivingMessage receive(call, Buffer{count, type}, message))
MRECV(Mrecv, int)
IMRECV(Imrecv, int)
#ifdef VERITY_MPI4_COUNTS
MRECV(Mrecv_c, MPI_Count)
IMRECV(Imrecv_c, MPI_Count)
#endif

VERITY_PASS(Probe, 4)
VERITY_PASS(Iprobe, 5)
