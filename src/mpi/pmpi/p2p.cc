// SPDX-License-Identifier: BSD-3-Clause
// Point-to-point calls that send or receive at once.
#include "mpi/pmpi/receiving.h"
#include "mpi/pmpi/sending.h"
#include "mpi/pmpi/wrap.h"

using namespace verity::mpi;  // NOLINT: the wrappers are C functions

#define SEND(name, Count)                                                                          \
  VERITY_WRAP(name,                                                                                \
              (const void* buf, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm), \
              (buf, count, type, dest, tag, comm),                                                 \
              const Sending send(call, FAMILY, buf, count, type, dest, comm))
#define ISEND(name, Count)                                                                        \
  VERITY_WRAP(name,                                                                               \
              (const void* buf, Count count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, \
               MPI_Request* request),                                                             \
              (buf, count, type, dest, tag, comm, request),                                       \
              const Sending send(call, FAMILY, buf, count, type, dest, comm))
#define RECV(name, Count)                                                                     \
  VERITY_WRAP(name,                                                                           \
              (void* buf, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, \
               MPI_Status* status),                                                           \
              (buf, count, type, source, tag, comm, status),                                  \
              const Receiving receive(call, buf, count, type, source, tag, comm))
#define IRECV(name, Count)                                                                    \
  VERITY_WRAP(name,                                                                           \
              (void* buf, Count count, MPI_Datatype type, int source, int tag, MPI_Comm comm, \
               MPI_Request* request),                                                         \
              (buf, count, type, source, tag, comm, request),                                 \
              const Receiving receive(call, buf, count, type, source, tag, comm))

#define SENDRECV(name, Count)                                                                      \
  VERITY_WRAP(name,                                                                                \
              (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, int dest, int sendtag, \
               void* recvbuf, Count recvcount, MPI_Datatype recvtype, int source, int recvtag,     \
               MPI_Comm comm, MPI_Status* status),                                                 \
              (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,  \
               recvtag, comm, status),                                                             \
              const Sending send(call, kSendrecv, sendbuf, sendcount, sendtype, dest, comm);       \
              const Receiving receive(call, recvbuf, recvcount, recvtype, source, recvtag, comm))
#define SENDRECV_REPLACE(name, Count)                                                        \
  VERITY_WRAP(name,                                                                          \
              (void* buf, Count count, MPI_Datatype type, int dest, int sendtag, int source, \
               int recvtag, MPI_Comm comm, MPI_Status* status),                              \
              (buf, count, type, dest, sendtag, source, recvtag, comm, status),              \
              const Sending send(call, kSendrecvReplace, buf, count, type, dest, comm);      \
              const Receiving receive(call, buf, count, type, source, recvtag, comm))
#define ISENDRECV(name, Count)                                                                     \
  VERITY_WRAP(name,                                                                                \
              (const void* sendbuf, Count sendcount, MPI_Datatype sendtype, int dest, int sendtag, \
               void* recvbuf, Count recvcount, MPI_Datatype recvtype, int source, int recvtag,     \
               MPI_Comm comm, MPI_Request* request),                                               \
              (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source,  \
               recvtag, comm, request),                                                            \
              const Sending send(call, kIsendrecv, sendbuf, sendcount, sendtype, dest, comm);      \
              const Receiving receive(call, recvbuf, recvcount, recvtype, source, recvtag, comm))
#define ISENDRECV_REPLACE(name, Count)                                                       \
  VERITY_WRAP(name,                                                                          \
              (void* buf, Count count, MPI_Datatype type, int dest, int sendtag, int source, \
               int recvtag, MPI_Comm comm, MPI_Request* request),                            \
              (buf, count, type, dest, sendtag, source, recvtag, comm, request),             \
              const Sending send(call, kIsendrecv, buf, count, type, dest, comm);            \
              const Receiving receive(call, buf, count, type, source, recvtag, comm))

#ifdef VERITY_MPI4_COUNTS
#define BOTH(SHAPE, name) SHAPE(name, int) SHAPE(name##_c, MPI_Count)
#else
#define BOTH(SHAPE, name) SHAPE(name, int)
#endif

// The most usual ones.
#undef VERITY_HEAT
#define VERITY_HEAT gnu::hot
#define FAMILY kSend
BOTH(SEND, Send)
#undef FAMILY
#define FAMILY kIsend
BOTH(ISEND, Isend)
#undef FAMILY
BOTH(RECV, Recv)
BOTH(IRECV, Irecv)
#undef VERITY_HEAT
#define VERITY_HEAT

#define FAMILY kSsend
BOTH(SEND, Ssend)
#undef FAMILY
#define FAMILY kRsend
BOTH(SEND, Rsend)
#undef FAMILY
#define FAMILY kBsend
BOTH(SEND, Bsend)
#undef FAMILY
#define FAMILY kIssend
BOTH(ISEND, Issend)
#undef FAMILY
#define FAMILY kIrsend
BOTH(ISEND, Irsend)
#undef FAMILY
#define FAMILY kIbsend
BOTH(ISEND, Ibsend)
#undef FAMILY

BOTH(SENDRECV, Sendrecv)
BOTH(SENDRECV_REPLACE, Sendrecv_replace)
#ifdef VERITY_MPI4_CALLS
BOTH(ISENDRECV, Isendrecv)
BOTH(ISENDRECV_REPLACE, Isendrecv_replace)
#endif
