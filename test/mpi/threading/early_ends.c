// SPDX-License-Identifier: BSD-3-Clause
// Blocking receives of one thread that end in another one's progress: as soon as one has returned
// its buffer is the program's again, which writes to it.
//   early_ends [MESSAGES [BYTES]]
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_int over;
static MPI_Comm others;

static void* progress(void* unused) {
  (void)unused;
  while (!over) {
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, others, &flag, MPI_STATUS_IGNORE);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const int messages = argc > 1 ? atoi(argv[1]) : 3000;
  const int bytes = argc > 2 ? atoi(argv[2]) : 4096;
  int level, rank, wrong = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &others);
  char* data = malloc((size_t)bytes);
  pthread_t threads[3];
  for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, progress, NULL);
  for (int i = 0; i < messages; ++i) {
    if (rank == 0) {
      memset(data, i, (size_t)bytes);
      MPI_Send(data, bytes, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
      continue;
    }
    MPI_Recv(data, bytes, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    wrong += data[0] != (char)i || data[bytes - 1] != (char)i;
    memset(data, ~i, (size_t)bytes);
  }
  over = 1;
  for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) printf("wrong %d\n", wrong);
  free(data);
  MPI_Comm_free(&others);
  MPI_Finalize();
  return wrong != 0;
}
