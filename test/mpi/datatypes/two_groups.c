/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An intercommunicator whose two groups have made unlike numbers of communicators before: MPICH
 * then numbers it differently in each. Four ranks.
 *
 *   two_groups right|wrong
 *
 * Each rank of one group sends to each of the other, which receives another type when wrong. Last
 * line of rank 0: two groups messages N.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { kOthers = 3, kRounds = 10, kElements = 4 };

int main(int argc, char** argv) {
  int rank, size, others, data[kElements] = {0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int upper = rank >= size / 2, wrong = argc > 1 && strcmp(argv[1], "wrong") == 0;
  MPI_Comm group, between, more[kOthers];
  MPI_Comm_split(MPI_COMM_WORLD, upper, rank, &group);
  for (int i = 0; upper && i < kOthers; ++i) MPI_Comm_dup(group, &more[i]);
  MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, upper ? 0 : size / 2, 0, &between);
  MPI_Comm_remote_size(between, &others);
  for (int round = 0; round < kRounds; ++round) {
    for (int other = 0; other < others; ++other) {
      if (upper)
        MPI_Recv(data, kElements, wrong ? MPI_FLOAT : MPI_INT, other, 1, between,
                 MPI_STATUS_IGNORE);
      if (!upper) MPI_Send(data, kElements, MPI_INT, other, 1, between);
    }
  }
  for (int i = 0; upper && i < kOthers; ++i) MPI_Comm_free(&more[i]);
  MPI_Comm_free(&between);
  MPI_Comm_free(&group);
  if (rank == 0) printf("two groups messages %d\n", kRounds * (size - size / 2) * (size / 2));
  MPI_Finalize();
  return 0;
}
