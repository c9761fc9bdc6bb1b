/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Mismatches of datatypes at inconvenient moments, between ranks 0 and 1.
 *
 *   mismatch late         the message arrives while its receiver is in MPI_Finalize
 *   mismatch late return  the same, with MPI_ERRORS_RETURN: prints "finalize returned type" for
 *                         MPI_ERR_TYPE
 *   mismatch truncated    of a message that MPI itself refuses, which by default ends the job
 *   mismatch handler      a collective operation; each rank prints "rank R errors own N world N":
 *                         calls of the communicator's error handler and of MPI_COMM_WORLD's
 *   mismatch symmetric    collective operations in which both ranks compare with the other's
 *   mismatch scans        two more of these
 *   mismatch behind RANK  the same where the other's message has come before RANK's call: 4 of them
 *   mismatch turns        the same: the ranks come late to one call by turns
 *   mismatch one_way      two operations in which only rank 1 gets what it does not expect
 *   mismatch reduction    a collective operation whose calls differ, but not in their datatypes
 *   mismatch persistent   between persistent requests
 *   mismatch ending       of messages that are received and sent as a type that is being freed
 *   mismatch again        in a communicator that has the number of others that were freed, in which
 *                         nonblocking operations were complete
 *   mismatch many         beside very many communicators of each rank, and when these are freed
 *                         (MPICH has no room for so many)
 *   mismatch early        in the first ones of many broadcasts, for which rank 1 comes late
 *   mismatch outstanding  in the first one of many nonblocking gathers, for which rank 1 comes late
 *   mismatch alone        of rank 0 with itself, in communicators that have no other rank
 *   mismatch short return a broadcast in which rank 1 has too little room, then correct operations
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kLength = 100 };
static int rank, late_rank;
static int ints[kLength];
static float floats[kLength];
static int own_errors, world_errors;

static void late(void) {
  MPI_Request request;
  if (rank == 0) {
    MPI_Irecv(floats, kLength, MPI_FLOAT, 1, 1, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 1) return;
  usleep(500 * 1000);
  MPI_Send(ints, kLength, MPI_INT, 0, 1, MPI_COMM_WORLD);
}

static void truncated(void) {
  if (rank == 1) MPI_Send(ints, kLength, MPI_INT, 0, 1, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(floats, kLength - 1, MPI_FLOAT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void on_own_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++own_errors;
}
static void on_world_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++world_errors;
}

static void set_handlers(MPI_Comm comm) {
  MPI_Errhandler own, world;
  MPI_Comm_create_errhandler(on_own_error, &own);
  MPI_Comm_create_errhandler(on_world_error, &world);
  MPI_Comm_set_errhandler(comm, own);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, world);
  MPI_Errhandler_free(&own);
  MPI_Errhandler_free(&world);
}

static void handler(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_name(comm, "river");
  set_handlers(comm);
  MPI_Bcast(rank == 1 ? (void*)floats : (void*)ints, kLength, rank == 1 ? MPI_FLOAT : MPI_INT, 0,
            comm);
  MPI_Barrier(comm);
  printf("rank %d errors own %d world %d\n", rank, own_errors, world_errors);
  fflush(stdout);
  MPI_Comm_free(&comm);
}

static void symmetric(void) {
  for (int i = 0; i < 3; ++i) {
    if (rank == 1) {
      float sums[kLength];
      MPI_Allreduce(floats, sums, kLength, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    } else {
      int sums[kLength];
      MPI_Allreduce(ints, sums, kLength, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
  }
}

static void scans(void) {
  const MPI_Datatype type = rank == 1 ? MPI_FLOAT : MPI_INT;
  void* const from = rank == 1 ? (void*)floats : (void*)ints;
  static double to[kLength];
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Scan(from, to, 4, type, MPI_SUM, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Exscan(from, to, 4, type, MPI_SUM, MPI_COMM_WORLD);
}

static void come_late(void) {
  for (int i = 0, flag; i < 100; ++i) {
    MPI_Iprobe(1 - rank, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    usleep(1000);
  }
}

static void behind(void) {
  const MPI_Datatype type = rank == 1 ? MPI_FLOAT : MPI_INT;
  void* const from = rank == 1 ? (void*)floats : (void*)ints;
  static double to[kLength];
  for (int call = 0; call < 4; ++call) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == late_rank) come_late();
    switch (call) {
      case 0: MPI_Allreduce(from, to, 4, type, MPI_SUM, MPI_COMM_WORLD); break;
      case 1: MPI_Allgather(from, 4, type, to, 4, type, MPI_COMM_WORLD); break;
      case 2: MPI_Alltoall(from, 4, type, to, 4, type, MPI_COMM_WORLD); break;
      case 3: MPI_Reduce_scatter_block(from, to, 4, type, MPI_SUM, MPI_COMM_WORLD); break;
    }
  }
}

static void turns(void) {
  const MPI_Datatype type = rank == 1 ? MPI_FLOAT : MPI_INT;
  void* const from = rank == 1 ? (void*)floats : (void*)ints;
  static double to[kLength];
  for (int call = 0; call < 4; ++call) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == call % 2) come_late();
    MPI_Allreduce(from, to, 4, type, MPI_SUM, MPI_COMM_WORLD);
  }
}

/* Rank 1 has sent when the other's message comes. */
static void one_way(void) {
  static int to[2 * kLength];
  for (int call = 0; call < 2; ++call) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) usleep(100 * 1000);
    if (call == 0) {
      MPI_Allgather(ints, 4, MPI_INT, to, 4, rank == 1 ? MPI_FLOAT : MPI_INT, MPI_COMM_WORLD);
    } else {
      MPI_Allgather(ints, 4, rank == 0 ? MPI_FLOAT : MPI_INT, to, 4, MPI_INT, MPI_COMM_WORLD);
    }
  }
}

static void reduction(void) {
  int sums[kLength];
  MPI_Reduce(ints, sums, kLength, MPI_INT, rank == 1 ? MPI_MAX : MPI_SUM, 0, MPI_COMM_WORLD);
}

static void persistent(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (rank == 1) MPI_Ssend_init(ints, kLength, MPI_INT, 0, 1, MPI_COMM_WORLD, &request);
  if (rank == 0) MPI_Recv_init(floats, kLength, MPI_FLOAT, 1, 1, MPI_COMM_WORLD, &request);
  if (rank > 1) return;
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
}

/* By the callback of its own end, while what is known of a type has been dropped already. */
static int exchange_as(MPI_Datatype type, int keyval, void* value, void* extra) {
  (void)keyval, (void)value, (void)extra;
  MPI_Recv(floats, 1, type, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(floats, 1, type, 1, 2, MPI_COMM_WORLD);
  return MPI_SUCCESS;
}

static void ending(void) {
  MPI_Datatype type;
  int keyval;
  if (rank == 1) {
    MPI_Send(ints, kLength, MPI_INT, 0, 1, MPI_COMM_WORLD);
    MPI_Recv(ints, kLength, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (rank != 0) return;
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, exchange_as, &keyval, NULL);
  MPI_Type_contiguous(kLength, MPI_FLOAT, &type);
  MPI_Type_commit(&type);
  MPI_Type_set_attr(type, keyval, NULL);
  MPI_Type_free(&type);
  MPI_Type_free_keyval(&keyval);
}

static void alone(void) {
  MPI_Comm comms[2] = {MPI_COMM_SELF};
  MPI_Request requests[2];
  MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &comms[1]);
  for (int i = 0; i < 2 && rank == 0; ++i) {
    MPI_Irecv(floats, kLength, MPI_FLOAT, 0, 1, comms[i], &requests[0]);
    MPI_Send(ints, kLength, MPI_INT, 0, 1, comms[i]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Sendrecv(ints, kLength, MPI_INT, 0, 2, floats, kLength, MPI_FLOAT, 0, 2, comms[i],
                 MPI_STATUS_IGNORE);
    MPI_Send_init(ints, kLength, MPI_INT, 0, 3, comms[i], &requests[0]);
    MPI_Recv_init(floats, kLength, MPI_FLOAT, 0, 3, comms[i], &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Send(ints, kLength, MPI_INT, MPI_PROC_NULL, 4, comms[i]);
  }
  MPI_Comm_free(&comms[1]);
}

static void short_of_room(void) {
  int sums[kLength];
  MPI_Bcast(ints, rank == 1 ? kLength / 2 : kLength, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 3; ++i) {
    MPI_Allreduce(ints, sums, kLength, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce(ints, sums, kLength, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

static void complete(MPI_Request* request, int how) {
  MPI_Status status;
  int done = 1, place;
  do {
    switch (how) {
      case 0: MPI_Wait(request, &status); break;
      case 1: MPI_Waitall(1, request, &status); break;
      case 2: MPI_Waitany(1, request, &place, &status); break;
      case 3: MPI_Waitsome(1, request, &done, &place, &status); break;
      case 4: MPI_Test(request, &done, &status); break;
      case 5: MPI_Testall(1, request, &done, &status); break;
      case 6: MPI_Testany(1, request, &place, &done, &status); break;
      case 7: MPI_Testsome(1, request, &done, &place, &status); break;
    }
  } while (!done);
}

static void again(void) {
  MPI_Comm comm;
  MPI_Request requests[2];
  for (int how = 0; how < 8; ++how) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Ibcast(ints, kLength, MPI_INT, 0, comm, &requests[0]);
    MPI_Ibarrier(comm, &requests[1]);
    for (int i = 0; i < 2; ++i) complete(&requests[i], how);
    MPI_Comm_free(&comm);
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Bcast(rank == 1 ? (void*)floats : (void*)ints, kLength, rank == 1 ? MPI_FLOAT : MPI_INT, 0,
            comm);
  MPI_Comm_free(&comm);
}

static void many(void) {
  enum { kMany = 4100 };
  static MPI_Comm comms[kMany];
  int sums[kLength];
  for (int i = 0; i < kMany; ++i) {
    MPI_Comm_dup(i == 0 ? MPI_COMM_WORLD : MPI_COMM_SELF, &comms[i]);
    MPI_Bcast(ints, 1, MPI_INT, 0, comms[i]);
  }
  MPI_Bcast(ints, 1, rank == 1 ? MPI_FLOAT : MPI_INT, 0, comms[0]);
  for (int i = 0; i < kMany; ++i) MPI_Comm_free(&comms[i]);
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  MPI_Allreduce(rank == 1 ? (void*)floats : (void*)ints, sums, kLength,
                rank == 1 ? MPI_FLOAT : MPI_INT, MPI_SUM, comms[0]);
  MPI_Comm_free(&comms[0]);
}

static void early(void) {
  enum { kCalls = 3000, kWrong = 1000, kFew = 4 };
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (rank == 1) MPI_Recv(ints, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < kCalls; ++i) {
    const int wrong = rank == 1 && i < kWrong;
    MPI_Bcast(wrong ? (void*)floats : (void*)ints, kFew, wrong ? MPI_FLOAT : MPI_INT, 0, comm);
  }
  if (rank == 0) MPI_Send(ints, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  MPI_Comm_free(&comm);
}

static void outstanding(void) {
  enum { kCalls = 100 };
  static int to[kCalls][2];
  MPI_Request requests[kCalls];
  if (rank == 1) MPI_Recv(ints, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 0; i < kCalls; ++i) {
    const MPI_Datatype type = rank == 1 && i == 0 ? MPI_FLOAT : MPI_INT;
    MPI_Igather(ints, 1, type, to[i], 1, type, 0, MPI_COMM_WORLD, &requests[i]);
  }
  if (rank == 0) MPI_Send(ints, 1, MPI_INT, 1, 1, MPI_COMM_WORLD);
  MPI_Waitall(kCalls, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } cases[] = {{"late", late},
               {"truncated", truncated},
               {"handler", handler},
               {"symmetric", symmetric},
               {"scans", scans},
               {"reduction", reduction},
               {"persistent", persistent},
               {"alone", alone},
               {"short", short_of_room},
               {"ending", ending},
               {"again", again},
               {"many", many},
               {"early", early},
               {"behind", behind},
               {"one_way", one_way},
               {"outstanding", outstanding},
               {"turns", turns}};
  int error;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  late_rank = argc > 2 ? atoi(argv[2]) : 0;
  if (argc > 2 && strcmp(argv[2], "return") == 0)
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    if (argc > 1 && strcmp(argv[1], cases[i].name) == 0) cases[i].run();
  }
  error = MPI_Finalize();
  if (error != MPI_SUCCESS)
    printf("finalize returned %s\n", error == MPI_ERR_TYPE ? "type" : "another error");
  return 0;
}
