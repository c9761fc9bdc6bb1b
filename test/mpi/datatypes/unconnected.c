/* SPDX-License-Identifier: BSD-3-Clause
 *
 * First messages to ranks that are not connected yet: they wait, several of one buffer and tag, and
 * are sent together. The next ones, with that tag, are of another type.
 *
 *   mpirun -np 6 unconnected         small ones
 *   mpirun -np 6 unconnected large   those of a rank are of unlike types, and have one message each
 *
 * Last line of rank 0: unconnected messages N wrong N
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "watch.h"

enum { kTag = 5, kRounds = 3, kMostRanks = 64 };

/* The ranks above the sender have no connection with it yet. */
static void send_to_those_above(int rank, int size) {
  MPI_Request requests[kMostRanks];
  const int number = rank;
  const float half = 0.5f;
  for (int to = rank + 1; to < size; ++to)
    MPI_Isend(&number, 1, MPI_INT, to, kTag, MPI_COMM_WORLD, &requests[to]);
  MPI_Waitall(size - rank - 1, requests + rank + 1, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kRounds; ++i) {
    for (int to = rank + 1; to < size; ++to)
      MPI_Send(&half, 1, MPI_FLOAT, to, kTag, MPI_COMM_WORLD);
  }
}

static int receive_from(int from) {
  int number = -1, wrong;
  MPI_Recv(&number, 1, MPI_INT, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  wrong = number != from;
  for (int i = 0; i < kRounds; ++i) {
    float half = 0;
    MPI_Recv(&half, 1, MPI_FLOAT, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    wrong += half != 0.5f;
  }
  return wrong;
}

/* Strided, so that only its own count and type say which one it is. */
enum { kLarge = 50000 };
static int numbers[2 * (kLarge + kMostRanks)];

static MPI_Datatype large_type(int to) {
  MPI_Datatype type;
  MPI_Type_vector(kLarge + to, 1, 2, to % 2 != 0 ? MPI_INT : MPI_FLOAT, &type);
  MPI_Type_commit(&type);
  return type;
}

static void send_large(int rank, int size) {
  MPI_Request requests[kMostRanks];
  for (int i = 0; i < 2 * (kLarge + kMostRanks); ++i) numbers[i] = rank;
  for (int to = rank + 1; to < size; ++to) {
    MPI_Datatype type = large_type(to);
    MPI_Isend(numbers, 1, type, to, kTag, MPI_COMM_WORLD, &requests[to]);
    MPI_Type_free(&type);
  }
  MPI_Waitall(size - rank - 1, requests + rank + 1, MPI_STATUSES_IGNORE);
}

static int receive_large(int from, int rank) {
  MPI_Datatype type = large_type(rank);
  MPI_Recv(numbers, 1, type, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Type_free(&type);
  return numbers[2 * (kLarge + rank - 1)] != from;
}

int main(int argc, char** argv) {
  const int large = argc > 1, rounds = large ? 1 : 1 + kRounds;
  int rank, size, wrong = 0, all_wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  watch_start(rank, 60);
  if (size > kMostRanks) return EXIT_FAILURE;
  for (int from = 0; from < rank; ++from)
    wrong += large ? receive_large(from, rank) : receive_from(from);
  large ? send_large(rank, size) : send_to_those_above(rank, size);
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("unconnected messages %d wrong %d\n", size * (size - 1) / 2 * rounds, all_wrong);
  watch_stop();
  MPI_Finalize();
  return 0;
}
