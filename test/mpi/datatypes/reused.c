/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators that have the number of one that was freed, with other processes as their rank 1:
 * its messages to rank 0 have the same tag for the transport, whoever sends them. Four ranks.
 *
 *   reused [made]
 *
 * made: in every other communicator MPI makes further ones by messages of its own, which have the
 * tags of the program's collective operations in the others.
 *
 * Last line of rank 0: reused messages N.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { kRounds = 30, kEach = 3, kElements = 4 };

static void gather_or_make(MPI_Comm comm, int round) {
  int own = round, all[kElements];
  if (round % 2 == 0) {
    MPI_Comm made;
    MPI_Comm_split(comm, 0, 0, &made);
    MPI_Comm_free(&made);
  } else {
    MPI_Allgather(&own, 1, MPI_INT, all, 1, MPI_INT, comm);
  }
}

int main(int argc, char** argv) {
  const int makes = argc > 1 && strcmp(argv[1], "made") == 0;
  int rank, size, data[kElements] = {0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm comm;
    int place;
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank == 0 ? 0 : 1 + (rank + round) % (size - 1), &comm);
    MPI_Comm_rank(comm, &place);
    if (makes) gather_or_make(comm, round);
    for (int i = 0; i < kEach; ++i) {
      if (place == 1) MPI_Send(data, kElements, MPI_INT, 0, 5, comm);
      if (place == 0) MPI_Recv(data, kElements, MPI_INT, 1, 5, comm, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&comm);
  }
  if (rank == 0) printf("reused messages %d\n", kRounds * kEach);
  MPI_Finalize();
  return 0;
}
