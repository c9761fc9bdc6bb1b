// SPDX-License-Identifier: BSD-3-Clause
// Blocking receives of one thread that end in another one's progress: as soon as one has returned
// its buffer is the program's again, which writes to it. Open MPI's blocking receives poll with
// ucp_request_test(): here each poll waits a while before it looks, as that of a thread does that
// loses its processor there, so that it may look amid the other thread's progress.
//   early_ends [MESSAGES [BYTES]]
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static atomic_int over;
static MPI_Comm others;

// Linked with -rdynamic: called in place of UCX's own by the MPI library.
__attribute__((visibility("default"))) int ucp_request_test(void* request, void* info) {
  static int (*_Atomic next)(void*, void*);
  const struct timespec while_away = {.tv_nsec = 1000 * 1000};
  if (next == NULL) next = (int (*)(void*, void*))dlsym(RTLD_NEXT, "ucp_request_test");
  nanosleep(&while_away, NULL);
  return next(request, info);
}

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
  pthread_t thread;
  if (rank == 1) pthread_create(&thread, NULL, progress, NULL);
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
  if (rank == 1) pthread_join(thread, NULL);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) printf("wrong %d\n", wrong);
  free(data);
  MPI_Comm_free(&others);
  MPI_Finalize();
  return wrong != 0;
}
