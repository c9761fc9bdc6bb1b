/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Blocking sends at unlike depths of the stack, with one tag and unlike types: ints to rank 1 and
 * doubles to rank 2. Open MPI has the request of each on the stack, where one lies over the last.
 *
 * Last line of rank 0: stack sends N errors N. Exit status: 0, 1 errors.
 */
#include <mpi.h>
#include <stdio.h>

enum { kInts = 1 << 18, kDoubles = 4000, kRounds = 20, kDepths = 8, kTag = 7 };
static int ints[kInts];
static double doubles[kDoubles];
static void (*volatile touch)(char*);

static void keep(char* frame) { frame[0] = 1; }

/* A rendezvous: it is in progress until rank 1 has fetched it. */
__attribute__((noinline)) static int send_deeper(int depth) {
  char frame[48];
  touch(frame); /* the frame stays */
  int rc =
      depth > 0 ? send_deeper(depth - 1) : MPI_Send(ints, kInts, MPI_INT, 1, kTag, MPI_COMM_WORLD);
  touch(frame);
  return rc;
}

/* From a short message to several fragments: each is sent by other functions of UCX. */
static int doubles_of(int i) { return kDoubles >> i / kDepths % 5; }

static int send_pair(int i) {
  int errors = send_deeper(i % kDepths) != MPI_SUCCESS;
  return errors +
         (MPI_Send(doubles, doubles_of(i), MPI_DOUBLE, 2, kTag, MPI_COMM_WORLD) != MPI_SUCCESS);
}

static int receive(void* buffer, int count, MPI_Datatype type) {
  return MPI_Recv(buffer, count, type, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE) != MPI_SUCCESS;
}

int main(int argc, char** argv) {
  int rank, errors = 0, all = 0;
  touch = keep;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int i = 0; i < kRounds * kDepths; ++i) {
    if (rank == 0) errors += send_pair(i);
    if (rank == 1) errors += receive(ints, kInts, MPI_INT);
    if (rank == 2) errors += receive(doubles, kDoubles, MPI_DOUBLE);
  }
  MPI_Reduce(&errors, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("stack sends %d errors %d\n", 2 * kRounds * kDepths, all);
  MPI_Finalize();
  return all != 0;
}
