/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_THREAD_MULTIPLE: a receive of one thread is mismatched, and another one's call finds it and
 * raises the error. Meanwhile the first thread completes the receive and frees the communicator,
 * which the error handler still uses.
 *
 *   released    on two ranks, with UCX_VERITY_TYPECHECK=error
 *
 * Prints 'released errors N freed under the handler N'. Exit status 77 when the MPI library gives
 * no MPI_THREAD_MULTIPLE, 3 hang.
 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "watch.h"

enum { kSkip = 77, kRounds = 3, kSeconds = 40 };

static MPI_Comm comm;
static _Atomic int posted, begun, freed; /* of this round */
static _Atomic int errors, freed_early;

static void on_error(MPI_Comm* failed, int* code, ...) {
  const struct timespec time = {0, 200 * 1000 * 1000};
  (void)failed;
  (void)code;
  atomic_store(&begun, 1);
  nanosleep(&time, NULL);
  atomic_fetch_add(&errors, 1);
  if (atomic_load(&freed)) atomic_fetch_add(&freed_early, 1);
}

static void* receiver(void* unused) {
  MPI_Request request;
  float data = 0;
  (void)unused;
  MPI_Irecv(&data, 1, MPI_FLOAT, 1, 0, comm, &request);
  atomic_store(&posted, 1);
  while (!atomic_load(&begun)) sched_yield();
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&comm);
  atomic_store(&freed, 1);
  return NULL;
}

static void receive_in_two_threads(MPI_Errhandler handler) {
  pthread_t thread;
  int token = 0;
  posted = begun = freed = 0;
  MPI_Comm_set_errhandler(comm, handler);
  pthread_create(&thread, NULL, receiver, NULL);
  while (!atomic_load(&posted)) sched_yield();
  MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
  MPI_Recv(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  pthread_join(thread, NULL);
}

static void send_mismatched(void) {
  int token;
  MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Send(&token, 1, MPI_INT, 0, 0, comm);
  MPI_Send(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  int rank, level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (level < MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    return kSkip;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  watch_start(rank, kSeconds);
  MPI_Comm_create_errhandler(on_error, &handler);
  for (int round = 0; round < kRounds; ++round) {
    watch_at("round %d", round);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    rank == 0 ? receive_in_two_threads(handler) : send_mismatched();
  }
  if (rank == 0) printf("released errors %d freed under the handler %d\n", errors, freed_early);
  MPI_Errhandler_free(&handler);
  watch_stop();
  MPI_Finalize();
  return 0;
}
