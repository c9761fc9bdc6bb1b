/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Communicators that have the number of one that was freed, with other processes as their rank 1:
 * its messages to rank 0 have the same tag for the transport, whoever sends them. Four ranks.
 *
 * Last line of rank 0: reused messages N.
 */
#include <mpi.h>
#include <stdio.h>

enum { kRounds = 30, kEach = 3, kElements = 4 };

int main(int argc, char** argv) {
  int rank, size, data[kElements] = {0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm comm;
    int place;
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank == 0 ? 0 : 1 + (rank + round) % (size - 1), &comm);
    MPI_Comm_rank(comm, &place);
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
