/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rank 1 computes for a while, without a call of MPI. Meanwhile rank 0 receives a large message of
 * it whose send had begun, and works on its window under a passive lock. Tells whether that ended
 * before the computing did.
 *
 *   mpirun -np 2 passive [-c SECONDS] [-o OPERATION] [-t SECONDS]
 *
 *   -o  receive, window, or writes (window without MPI_Get): only that
 *
 * Last line of rank 0: passive OPERATION wrong N, done while computing: yes | no
 */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

#include "content.h"
#include "watch.h"

enum { kLength = 8 << 20, kWindow = 1 << 16, kTag = 5 };

static double compute_seconds = 5;
static const char* only = NULL;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Returns what it computed, lest the compiler leaves it out. */
static unsigned compute(double seconds) {
  unsigned x = 1;
  double end = now() + seconds;
  while (now() < end) {
    for (int i = 0; i < 100000; ++i) x = x * 1664525u + 1013904223u;
    watch.progress = watch.progress + 1;
  }
  return x;
}

static int receive_from(uint8_t* buffer) {
  size_t first;
  MPI_Recv(buffer, kLength, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return content_check(buffer, kLength, 7, &first) != 0;
}

static int work_on_window(MPI_Win win, uint8_t* buffer, int reads) {
  int wrong = 0;
  for (int round = 0; round < 5; ++round) {
    size_t first;
    uint64_t one = 1, old = 99;
    content_fill(buffer, 4096, (uint64_t)round);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    MPI_Put(buffer, 4096, MPI_BYTE, 1, 8, 4096, MPI_BYTE, win);
    MPI_Fetch_and_op(&one, &old, MPI_UINT64_T, 1, 0, MPI_SUM, win);
    MPI_Win_flush(1, win);
    if (reads) MPI_Get(buffer + 4096, 4096, MPI_BYTE, 1, 8, 4096, MPI_BYTE, win);
    MPI_Win_unlock(1, win);
    wrong += reads && content_check(buffer + 4096, 4096, (uint64_t)round, &first) != 0;
    wrong += old != (uint64_t)round;
    watch.progress = watch.progress + 1;
  }
  return wrong;
}

static void run(const char* operation, int rank, uint8_t* buffer) {
  int is_window = operation[0] == 'w', reads = strcmp(operation, "window") == 0, wrong = 0;
  uint8_t* base = NULL;
  MPI_Win win = MPI_WIN_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  if (only != NULL && strcmp(only, operation) != 0) return;
  if (is_window) {
    MPI_Alloc_mem(kWindow, MPI_INFO_NULL, &base);
    memset(base, 0, kWindow);
    MPI_Win_create(base, kWindow, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 0) { /* connects */
      MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
      MPI_Win_unlock(1, win);
    }
  } else {
    int token = 0;
    MPI_Sendrecv_replace(&token, 1, MPI_INT, 1 - rank, 0, 1 - rank, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    if (rank == 1) {
      content_fill(buffer, kLength, 7);
      MPI_Isend(buffer, kLength, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, &request);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    if (compute(compute_seconds) == 0) fprintf(stderr, "a rare number\n");
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    double begin = now();
    wrong = is_window ? work_on_window(win, buffer, reads) : receive_from(buffer);
    printf("passive %s wrong %d, done while computing: %s\n", operation, wrong,
           now() - begin < 0.8 * compute_seconds ? "yes" : "no");
    fflush(stdout);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (is_window) {
    MPI_Win_free(&win);
    MPI_Free_mem(base);
  }
}

int main(int argc, char** argv) {
  int rank, size, seconds = 60;
  uint8_t* buffer;
  MPI_Init(&argc, &argv);
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "-c") == 0) compute_seconds = atof(argv[i + 1]);
    if (strcmp(argv[i], "-t") == 0) seconds = atoi(argv[i + 1]);
    if (strcmp(argv[i], "-o") == 0) only = argv[i + 1];
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size != 2 || (buffer = malloc(kLength)) == NULL) {
    fprintf(stderr, "passive: needs two ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
    return 2;
  }
  watch_start(rank, (unsigned)seconds);
  run("receive", rank, buffer);
  run("window", rank, buffer);
  run("writes", rank, buffer);
  free(buffer);
  MPI_Finalize();
  return 0;
}
