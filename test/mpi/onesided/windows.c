/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A window of each kind, filled by its neighbours: MPI_Win_allocate_shared, MPI_Win_allocate,
 * MPI_Win_create.
 *
 *   windows [-n BYTES]
 *
 * BYTES (64 KiB) go to the right neighbour through each window. Prints "windows RANKS shared ok
 * allocated ok created ok" once. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;
static long length = 65536;

static unsigned char at(int of, long position) { return (unsigned char)(31 * of + position % 251); }

static int all_ok(const unsigned char* window) {
  const int left = (rank + ranks - 1) % ranks;
  int ok = 1, all = 0;
  for (long i = 0; i < length; ++i) ok &= window[i] == at(left, i);
  MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  return all;
}

static int put_to_neighbour(MPI_Win win, const unsigned char* window) {
  unsigned char* mine = malloc((size_t)length);
  for (long i = 0; i < length; ++i) mine[i] = at(rank, i);
  MPI_Win_fence(0, win);
  MPI_Put(mine, (int)length, MPI_BYTE, (rank + 1) % ranks, 0, (int)length, MPI_BYTE, win);
  MPI_Win_fence(0, win);
  free(mine);
  return all_ok(window);
}

/* By plain stores, which is what such a window is for, and by MPI_Put. */
static int shared(void) {
  unsigned char *mine, *right;
  MPI_Win win;
  MPI_Aint size;
  int unit, ok;
  MPI_Win_allocate_shared(length, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
  MPI_Win_shared_query(win, (rank + 1) % ranks, &size, &unit, &right);
  MPI_Win_fence(0, win);
  for (long i = 0; i < length; ++i) right[i] = at(rank, i);
  MPI_Win_fence(0, win);
  ok = all_ok(mine);
  memset(mine, 0, (size_t)length);
  ok &= put_to_neighbour(win, mine);
  MPI_Win_free(&win);
  return ok;
}

static int allocated(void) {
  unsigned char* mine;
  MPI_Win win;
  int ok;
  MPI_Win_allocate(length, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
  ok = put_to_neighbour(win, mine);
  MPI_Win_free(&win);
  return ok;
}

static int created(void) {
  unsigned char* mine = malloc((size_t)length);
  MPI_Win win;
  int ok;
  MPI_Win_create(mine, length, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  ok = put_to_neighbour(win, mine);
  MPI_Win_free(&win);
  free(mine);
  return ok;
}

int main(int argc, char** argv) {
  int results[3];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc > 2 && strcmp(argv[1], "-n") == 0) length = atol(argv[2]);
  results[0] = shared();
  results[1] = allocated();
  results[2] = created();
  if (rank == 0) {
    printf("windows %d shared %s allocated %s created %s\n", ranks, results[0] ? "ok" : "WRONG",
           results[1] ? "ok" : "WRONG", results[2] ? "ok" : "WRONG");
  }
  MPI_Finalize();
  return !(results[0] && results[1] && results[2]);
}
