/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The halves of the ranks call collective operations of their own, while another thread makes
 * communicators across them. Four ranks.
 *
 * Last line of rank 0: halves rounds N wrong M, or: halves not tested: no threads.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { kRounds = 300 };

static MPI_Comm across;

/* Rank r of the first half and rank r of the second. */
static void* make_groups(void* unused) {
  int rank, size;
  MPI_Group all, pair;
  MPI_Comm_rank(across, &rank);
  MPI_Comm_size(across, &size);
  const int half = size / 2, ranks[2] = {rank % half, rank % half + half};
  MPI_Comm_group(across, &all);
  MPI_Group_incl(all, 2, ranks, &pair);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Comm made;
    MPI_Comm_create_group(across, pair, 1, &made);
    MPI_Comm_free(&made);
  }
  MPI_Group_free(&pair);
  MPI_Group_free(&all);
  return unused;
}

int main(int argc, char** argv) {
  int provided, rank, size, wrong = 0, all_wrong = 0;
  MPI_Comm half;
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (provided != MPI_THREAD_MULTIPLE) {
    if (rank == 0) printf("halves not tested: no threads\n");
    MPI_Finalize();
    return 0;
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &across);
  MPI_Comm_split(MPI_COMM_WORLD, rank >= size / 2, rank, &half);
  pthread_create(&thread, NULL, make_groups, NULL);
  for (int round = 0; round < kRounds; ++round) {
    int sum = round;
    if (rank < size / 2) {
      MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_MAX, half);
    } else {
      MPI_Bcast(&sum, 1, MPI_INT, round % 2, half);
      MPI_Barrier(half);
    }
    wrong += sum != round;
  }
  pthread_join(thread, NULL);
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Comm_free(&half);
  MPI_Comm_free(&across);
  if (rank == 0) printf("halves rounds %d wrong %d\n", kRounds, all_wrong);
  MPI_Finalize();
  return all_wrong != 0;
}
