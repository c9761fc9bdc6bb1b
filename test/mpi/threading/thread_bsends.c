// SPDX-License-Identifier: BSD-3-Clause
// Buffered sends of several threads to their own rank, long enough for a rendezvous: one thread's
// progress completes another one's send, as soon as UCP's call for that has returned.
//   thread_bsends
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { kThreads = 3, kRounds = 300, kLength = 100000, kRoom = 64 << 20, kSkip = 77 };

static int rank, wrong[kThreads];
static MPI_Comm comm;

static void* run_thread(void* argument) {
  int index = (int)(size_t)argument;
  int* out = calloc(kLength, sizeof(*out));
  int* in = calloc(kLength, sizeof(*in));

  for (int round = 0; round < kRounds; ++round) {
    MPI_Request request;
    MPI_Irecv(in, kLength, MPI_INT, rank, index, comm, &request);
    out[0] = out[kLength - 1] = round;
    MPI_Bsend(out, kLength, MPI_INT, rank, index, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wrong[index] += in[0] != round || in[kLength - 1] != round;
  }
  free(out);
  free(in);
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[kThreads];
  void* room = malloc(kRoom);
  int provided, size, all = 0;

  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  if (provided < MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    return kSkip;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Buffer_attach(room, kRoom);
  for (size_t i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, run_thread, (void*)i);
  for (int i = 0; i < kThreads; ++i) {
    pthread_join(threads[i], NULL);
    all += wrong[i];
  }
  MPI_Buffer_detach(&room, &size);
  free(room);
  MPI_Comm_free(&comm);
  if (rank == 0) printf("buffered sends %d wrong %d\n", kThreads * kRounds, all);
  MPI_Finalize();
  return all != 0;
}
