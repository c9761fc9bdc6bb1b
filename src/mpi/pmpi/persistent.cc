// SPDX-License-Identifier: BSD-3-Clause
// Persistent requests: made once, a new message at each start.
#include <algorithm>

#include "mpi/interpose/behind.h"
#include "mpi/pmpi/requests.h"
#include "mpi/pmpi/wrap.h"
#include "mpi/process/library.h"

using namespace verity::mpi;  // NOLINT: the wrappers are C functions

#define SEND_INIT(name, Count, family)                                                            \
  VERITY_WRAP(name,                                                                               \
              (const void* buf, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, \
               MPI_Request* request),                                                             \
              (buf, count, type, dest, tag, comm, request),                                       \
              const Making making(call, family, Buffer{count, type, buf}, Envelope{dest, tag},    \
                                  comm, request))
#define RECV_INIT(name, Count)                                                                \
  VERITY_WRAP(name,                                                                           \
              (void* buf, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, \
               MPI_Request* request),                                                         \
              (buf, count, type, source, tag, comm, request),                                 \
              const Making making(call, kUnknownFamily, Buffer{count, type, buf},             \
                                  Envelope{source, tag}, comm, request))

SEND_INIT(Send_init, int, kSendInit)
SEND_INIT(Bsend_init, int, kOtherSendInit)
SEND_INIT(Ssend_init, int, kOtherSendInit)
SEND_INIT(Rsend_init, int, kOtherSendInit)
RECV_INIT(Recv_init, int)
#ifdef VERITY_MPI4_COUNTS
SEND_INIT(Send_init_c, MPI_Count, kSendInit)
SEND_INIT(Bsend_init_c, MPI_Count, kOtherSendInit)
SEND_INIT(Ssend_init_c, MPI_Count, kOtherSendInit)
SEND_INIT(Rsend_init_c, MPI_Count, kOtherSendInit)
RECV_INIT(Recv_init_c, MPI_Count)
#endif

namespace {

using StartAll = int (*)(int, MPI_Request*);

// Whether it is a tool's, which makes a call of its own to the profiling interface.
bool is_tools(StartAll next) noexcept {
  return !in_one_library(reinterpret_cast<const void*>(next),
                         reinterpret_cast<const void*>(library().Start));
}

// One by one, as the standard has it that this is the same: each start attaches by itself. What MPI
// refuses, or may, is left to it: with a null request among them it starts none.
int start_all(int count, MPI_Request requests[], StartAll all) {
  if (count <= 0 || requests == nullptr) return all(count, requests);
  const MPI_Request null = handles().request_null;
  if (std::find(requests, requests + count, null) != requests + count) return all(count, requests);
  for (int i = 0; i < count; ++i) {
    const int rc = start_attached(&requests[i], library().Start);
    if (rc != MPI_SUCCESS) return rc;
  }
  return MPI_SUCCESS;
}

}  // namespace

#define START(next) \
  call.rc = start_attached(reinterpret_cast<MPI_Request*>(a), next.as<int (*)(MPI_Request*)>())
VERITY_ENTRY(MPI_Start, "MPI_Start", 1, START(next_MPI_Start))
VERITY_ENTRY(PMPI_Start, "MPI_Start", 1, START(next_PMPI_Start))
#define STARTALL(next)                                      \
  const auto all = next.as<StartAll>();                     \
  static const bool passes = is_tools(all);                 \
  auto* const requests = reinterpret_cast<MPI_Request*>(b); \
  call.rc =                                                 \
      passes ? all(static_cast<int>(a), requests) : start_all(static_cast<int>(a), requests, all)
VERITY_ENTRY(MPI_Startall, "MPI_Startall", 2, STARTALL(next_MPI_Startall))
VERITY_ENTRY(PMPI_Startall, "MPI_Startall", 2, STARTALL(next_PMPI_Startall))
