/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages whose receive is found, given up, or ends otherwise than by its own MPI_Wait.
 */
#include <stddef.h>

#include "types.h"

static char out[kRoom], in[kRoom], aside[kRoom];

#define OUT out, sent.count, sent.type
#define IN in, received.count, received.type

/* MPI_Probe by wildcards, then the receive of what it found. */
static void probe(int rank, int from, int to, struct side sent, struct side received, int tag) {
  MPI_Status status;
  if (rank == from) MPI_Send(OUT, to, tag, MPI_COMM_WORLD);
  if (rank != to) return;
  MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
  MPI_Recv(IN, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void iprobe(int rank, int from, int to, struct side sent, struct side received, int tag) {
  int found = 0;
  if (rank == from) MPI_Send(OUT, to, tag, MPI_COMM_WORLD);
  if (rank != to) return;
  while (!found) MPI_Iprobe(from, tag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
  MPI_Recv(IN, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void any_source(int rank, int from, int to, struct side sent, struct side received,
                       int tag) {
  MPI_Request request;
  if (rank == from) MPI_Send(OUT, to, tag, MPI_COMM_WORLD);
  if (rank != to) return;
  MPI_Irecv(IN, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Two receives by wildcards, of which the first gets a message of its own type and the second the
 * one of the case. */
static void any_tag(int rank, int from, int to, struct side sent, struct side received, int tag) {
  MPI_Request requests[2];
  int one = 1, other = 0;
  if (rank == from) {
    MPI_Send(&one, 1, MPI_INT, to, tag + 1, MPI_COMM_WORLD);
    MPI_Send(OUT, to, tag, MPI_COMM_WORLD);
  }
  if (rank != to) return;
  MPI_Irecv(&other, 1, MPI_INT, from, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
  MPI_Irecv(IN, from, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

/* A receive with a type that fits none is cancelled before the message is sent: it plays no part.
 */
static void cancelled(int rank, int from, int to, struct side sent, struct side received, int tag) {
  MPI_Request request;
  char go = 0;
  if (rank == from) {
    MPI_Recv(&go, 1, MPI_CHAR, to, tag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(OUT, to, tag, MPI_COMM_WORLD);
  }
  if (rank != to) return;
  MPI_Irecv(aside, 1000, MPI_C_BOOL, from, tag, MPI_COMM_WORLD, &request);
  MPI_Cancel(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Send(&go, 1, MPI_CHAR, from, tag + 1, MPI_COMM_WORLD);
  MPI_Recv(IN, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* One element less than is sent: MPI's own error; what arrived is compared. */
static void truncated(int rank, int from, int to, struct side sent, struct side received, int tag) {
  if (rank == from) MPI_Send(OUT, to, tag, MPI_COMM_WORLD);
  if (rank != to) return;
  --received.count;
  MPI_Recv(IN, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void truncated_irecv(int rank, int from, int to, struct side sent, struct side received,
                            int tag) {
  MPI_Request request;
  if (rank == from) MPI_Send(OUT, to, tag, MPI_COMM_WORLD);
  if (rank != to) return;
  --received.count;
  MPI_Irecv(IN, from, tag, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* The receive is given up while it is under way; that it has ended shows by the message behind it.
 */
static void freed(int rank, int from, int to, struct side sent, struct side received, int tag) {
  MPI_Request request;
  char go = 0;
  if (rank == from) {
    MPI_Recv(&go, 1, MPI_CHAR, to, tag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Ssend(OUT, to, tag, MPI_COMM_WORLD);
    MPI_Ssend(&go, 1, MPI_CHAR, to, tag + 1, MPI_COMM_WORLD);
  }
  if (rank != to) return;
  MPI_Irecv(IN, from, tag, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  MPI_Send(&go, 1, MPI_CHAR, from, tag + 1, MPI_COMM_WORLD);
  MPI_Recv(&go, 1, MPI_CHAR, from, tag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void freed_send(int rank, int from, int to, struct side sent, struct side received,
                       int tag) {
  MPI_Request request;
  if (rank == from) {
    MPI_Isend(OUT, to, tag, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
  }
  if (rank == to) MPI_Recv(IN, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Persistent requests of both sides, started several times. */
static void restarted(int rank, int from, int to, struct side sent, struct side received, int tag) {
  MPI_Request request;
  if (rank == from) {
    MPI_Send_init(OUT, to, tag, MPI_COMM_WORLD, &request);
  } else if (rank == to) {
    MPI_Recv_init(IN, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &request);
  } else {
    return;
  }
  for (int i = 0; i < kStarts; ++i) {
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&request);
}

static void waitany(int rank, int from, int to, struct side sent, struct side received, int tag) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int which;
  if (rank == from) MPI_Isend(OUT, to, tag, MPI_COMM_WORLD, &requests[1]);
  if (rank == to) MPI_Irecv(IN, from, tag, MPI_COMM_WORLD, &requests[1]);
  if (rank == from || rank == to) MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
}

static void testsome(int rank, int from, int to, struct side sent, struct side received, int tag) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int which[2], done = 0;
  if (rank == from) MPI_Isend(OUT, to, tag, MPI_COMM_WORLD, &requests[0]);
  if (rank == to) MPI_Irecv(IN, from, tag, MPI_COMM_WORLD, &requests[0]);
  while ((rank == from || rank == to) && done == 0)
    MPI_Testsome(2, requests, &done, which, MPI_STATUSES_IGNORE);
}

/* Communicators and types that come and go: their context ids and handles are used again, from the
 * same places, for other messages. The last message is the one of the case. */
static void used_again(int rank, int from, int to, struct side sent, struct side received,
                       int tag) {
  for (int i = 0; i <= 2 * kStarts; ++i) {
    const struct side right = {.count = 3, .type = i % 2 != 0 ? MPI_FLOAT : MPI_INT};
    struct side ours = sent, theirs = received;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (i < 2 * kStarts) {
      MPI_Type_contiguous(3, right.type, &ours.type);
      MPI_Type_commit(&ours.type);
      ours.count = 1;
      theirs = right;
    }
    if (rank == from) MPI_Send(out, ours.count, ours.type, to, tag, comm);
    if (rank == to) MPI_Recv(in, theirs.count, theirs.type, from, tag, comm, MPI_STATUS_IGNORE);
    if (i < 2 * kStarts) MPI_Type_free(&ours.type);
    MPI_Comm_free(&comm);
  }
}

/* One place in the program, several functions: the last message is the one of the case. The
 * compiler knows neither the functions nor how often, so that it makes one call of it. */
static void by_pointer(int rank, int from, int to, struct side sent, struct side received,
                       int tag) {
  static int (*volatile functions[])(const void*, int, MPI_Datatype, int, int, MPI_Comm) = {
      MPI_Send, MPI_Send, MPI_Ssend};
  static volatile int last = 2;
  for (int i = 0; i <= last; ++i) {
    const struct side expected = i == last ? received : sent;
    if (rank == from) functions[i](OUT, to, tag, MPI_COMM_WORLD);
    if (rank == to)
      MPI_Recv(in, expected.count, expected.type, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

const struct operation end_operations[] = {
    {.name = "probe", .run = probe},
    {.name = "iprobe", .run = iprobe},
    {.name = "any_source", .run = any_source},
    {.name = "any_tag", .run = any_tag},
    {.name = "cancelled", .run = cancelled},
    {.name = "truncated", .run = truncated, .kinds = kBasicKinds, .others = 1},
    {.name = "truncated_irecv", .run = truncated_irecv, .kinds = kBasicKinds, .others = 1},
    {.name = "freed", .run = freed},
    {.name = "freed_send", .run = freed_send},
    {.name = "restarted", .run = restarted, .times = kStarts},
    {.name = "waitany", .run = waitany},
    {.name = "testsome", .run = testsome},
    {.name = "used_again", .run = used_again},
    {.name = "by_pointer", .run = by_pointer},
    {.name = NULL},
};
