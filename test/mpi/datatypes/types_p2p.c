/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Every way to take one message from one rank to another.
 */
#include <stdlib.h>

#include "types.h"

static char out[kRoom], in[kRoom];

#define SENDER_RECEIVER(name, send, receive)                                                      \
  static void name(int rank, int from, int to, struct side sent, struct side received, int tag) { \
    MPI_Comm comm = MPI_COMM_WORLD;                                                               \
    if (rank == from) { send; }                                                                   \
    if (rank == to) { receive; }                                                                  \
  }

#define OUT out, sent.count, sent.type
#define IN in, received.count, received.type
#define FINISH(call)   \
  MPI_Request request; \
  call;                \
  MPI_Wait(&request, MPI_STATUS_IGNORE)
#define RECV MPI_Recv(IN, from, tag, comm, MPI_STATUS_IGNORE)
#define WITH_BUFFER(call)                        \
  static char space[kRoom + MPI_BSEND_OVERHEAD]; \
  void* address;                                 \
  int size;                                      \
  MPI_Buffer_attach(space, sizeof(space));       \
  call;                                          \
  MPI_Buffer_detach(&address, &size)

SENDER_RECEIVER(send, MPI_Send(OUT, to, tag, comm), RECV)
SENDER_RECEIVER(ssend, MPI_Ssend(OUT, to, tag, comm), RECV)
SENDER_RECEIVER(isend, FINISH(MPI_Isend(OUT, to, tag, comm, &request)), RECV)
SENDER_RECEIVER(issend, FINISH(MPI_Issend(OUT, to, tag, comm, &request)), RECV)
SENDER_RECEIVER(bsend, WITH_BUFFER(MPI_Bsend(OUT, to, tag, comm)), RECV)
SENDER_RECEIVER(ibsend, WITH_BUFFER(FINISH(MPI_Ibsend(OUT, to, tag, comm, &request))), RECV)
SENDER_RECEIVER(irecv, MPI_Send(OUT, to, tag, comm),
                FINISH(MPI_Irecv(IN, from, tag, comm, &request)))
SENDER_RECEIVER(any, MPI_Send(OUT, to, tag, comm),
                MPI_Recv(IN, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE))

/* The receive is there before the send begins, as a ready send wants it. */
#define READY(call)                                                 \
  char go;                                                          \
  MPI_Recv(&go, 0, MPI_CHAR, to, tag + 1, comm, MPI_STATUS_IGNORE); \
  call
#define POSTED                                     \
  MPI_Request request;                             \
  char go = 0;                                     \
  MPI_Irecv(IN, from, tag, comm, &request);        \
  MPI_Send(&go, 0, MPI_CHAR, from, tag + 1, comm); \
  MPI_Wait(&request, MPI_STATUS_IGNORE)
SENDER_RECEIVER(rsend, READY(MPI_Rsend(OUT, to, tag, comm)), POSTED)
SENDER_RECEIVER(irsend, READY(FINISH(MPI_Irsend(OUT, to, tag, comm, &request))), POSTED)

/* Test in place of Wait. */
static void testing(int rank, int from, int to, struct side sent, struct side received, int tag) {
  MPI_Request request;
  int done = 0;
  if (rank == from) MPI_Isend(OUT, to, tag, MPI_COMM_WORLD, &request);
  if (rank == to) MPI_Irecv(IN, from, tag, MPI_COMM_WORLD, &request);
  while ((rank == from || rank == to) && !done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

#define PERSISTENT(init)                 \
  MPI_Request request;                   \
  init;                                  \
  MPI_Start(&request);                   \
  MPI_Wait(&request, MPI_STATUS_IGNORE); \
  MPI_Request_free(&request)
SENDER_RECEIVER(send_init, PERSISTENT(MPI_Send_init(OUT, to, tag, comm, &request)),
                PERSISTENT(MPI_Recv_init(IN, from, tag, comm, &request)))
SENDER_RECEIVER(ssend_init, PERSISTENT(MPI_Ssend_init(OUT, to, tag, comm, &request)), RECV)
SENDER_RECEIVER(bsend_init, WITH_BUFFER(PERSISTENT(MPI_Bsend_init(OUT, to, tag, comm, &request))),
                RECV)
SENDER_RECEIVER(rsend_init, READY(PERSISTENT(MPI_Rsend_init(OUT, to, tag, comm, &request))), POSTED)

static void startall(int rank, int from, int to, struct side sent, struct side received, int tag) {
  MPI_Request requests[2];
  char nothing[2] = {0, 0};
  if (rank == from) {
    MPI_Send_init(OUT, to, tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Send_init(&nothing[0], 1, MPI_CHAR, to, tag + 1, MPI_COMM_WORLD, &requests[1]);
  } else if (rank == to) {
    MPI_Recv_init(IN, from, tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&nothing[1], 1, MPI_CHAR, from, tag + 1, MPI_COMM_WORLD, &requests[1]);
  } else {
    return;
  }
  MPI_Startall(2, requests);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  MPI_Request_free(&requests[0]);
  MPI_Request_free(&requests[1]);
}

SENDER_RECEIVER(mprobe, MPI_Send(OUT, to, tag, comm), MPI_Message message;
                MPI_Mprobe(from, tag, comm, &message, MPI_STATUS_IGNORE);
                MPI_Mrecv(IN, &message, MPI_STATUS_IGNORE))
SENDER_RECEIVER(improbe, MPI_Send(OUT, to, tag, comm), MPI_Message message; int found = 0;
                while (!found) MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &found, &message,
                                           MPI_STATUS_IGNORE);
                FINISH(MPI_Imrecv(IN, &message, &request)))
SENDER_RECEIVER(mrecv_refused, MPI_Send(OUT, to, tag, comm), MPI_Message message;
                MPI_Mprobe(from, tag, comm, &message, MPI_STATUS_IGNORE);
                MPI_Mrecv(in, -1, received.type, &message, MPI_STATUS_IGNORE);
                MPI_Mrecv(IN, &message, MPI_STATUS_IGNORE))

/* Both send and receive: only what goes from `from` to `to` has the types of the case. */
static void sendrecv(int rank, int from, int to, struct side sent, struct side received, int tag) {
  char a = 0, b = 0;
  if (rank == from) {
    MPI_Sendrecv(OUT, to, tag, &a, 1, MPI_CHAR, to, tag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == to) {
    MPI_Sendrecv(&b, 1, MPI_CHAR, from, tag + 1, IN, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void sendrecv_replace(int rank, int from, int to, struct side sent, struct side received,
                             int tag) {
  if (rank == from) {
    MPI_Sendrecv_replace(OUT, to, tag, MPI_PROC_NULL, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == to) {
    MPI_Sendrecv_replace(IN, MPI_PROC_NULL, tag, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

/* A communicator of its own. */
static void other_comm(int rank, int from, int to, struct side sent, struct side received,
                       int tag) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_name(comm, "ocean");
  if (rank == from) MPI_Send(OUT, to, tag, comm);
  if (rank == to) MPI_Recv(IN, from, tag, comm, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
}

/* MPICH's messages to oneself do not go through UCX. */
#ifndef MPICH
static void self(int rank, int from, int to, struct side sent, struct side received, int tag) {
  MPI_Request request;
  (void)from;
  if (rank != to) return;
  MPI_Irecv(IN, 0, tag, MPI_COMM_SELF, &request);
  MPI_Send(OUT, 0, tag, MPI_COMM_SELF);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
#endif

/* Called by a library or a tool under its other name. */
SENDER_RECEIVER(pmpi, PMPI_Send(OUT, to, tag, comm),
                PMPI_Recv(IN, from, tag, comm, MPI_STATUS_IGNORE))

#if MPI_VERSION >= 4
SENDER_RECEIVER(send_c, MPI_Send_c(OUT, to, tag, comm),
                MPI_Recv_c(IN, from, tag, comm, MPI_STATUS_IGNORE))
SENDER_RECEIVER(isend_c, FINISH(MPI_Isend_c(OUT, to, tag, comm, &request)),
                FINISH(MPI_Irecv_c(IN, from, tag, comm, &request)))
/* MPICH up to 5.0.1 releases derived types once too often there. */
#if !defined(MPICH_NUMVERSION) || MPICH_NUMVERSION >= 50100000
#define ISENDRECV
static void isendrecv(int rank, int from, int to, struct side sent, struct side received, int tag) {
  MPI_Request request;
  char a = 0, b = 0;
  if (rank == from) {
    MPI_Isendrecv(OUT, to, tag, &a, 1, MPI_CHAR, to, tag + 1, MPI_COMM_WORLD, &request);
  } else if (rank == to) {
    MPI_Isendrecv(&b, 1, MPI_CHAR, from, tag + 1, IN, from, tag, MPI_COMM_WORLD, &request);
  } else {
    return;
  }
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}
#endif
#endif

const struct operation p2p_operations[] = {
    {.name = "send", .run = send},
    {.name = "ssend", .run = ssend},
    {.name = "rsend", .run = rsend},
    {.name = "bsend", .run = bsend},
    {.name = "isend", .run = isend},
    {.name = "issend", .run = issend},
    {.name = "irsend", .run = irsend},
    {.name = "ibsend", .run = ibsend},
    {.name = "irecv", .run = irecv},
    {.name = "testing", .run = testing},
    {.name = "any", .run = any},
    {.name = "send_init", .run = send_init},
    {.name = "ssend_init", .run = ssend_init},
    {.name = "bsend_init", .run = bsend_init},
    {.name = "rsend_init", .run = rsend_init},
    {.name = "startall", .run = startall},
    {.name = "mprobe", .run = mprobe},
    {.name = "improbe", .run = improbe},
    {.name = "mrecv_refused", .run = mrecv_refused, .others = 1},
    {.name = "sendrecv", .run = sendrecv},
    {.name = "sendrecv_replace", .run = sendrecv_replace},
    {.name = "other_comm", .run = other_comm},
#ifndef MPICH
    {.name = "self", .run = self},
#endif
    {.name = "pmpi", .run = pmpi},
#if MPI_VERSION >= 4
    {.name = "send_c", .run = send_c},
    {.name = "isend_c", .run = isend_c},
#ifdef ISENDRECV
    {.name = "isendrecv", .run = isendrecv},
#endif
#endif
    {.name = NULL},
};
