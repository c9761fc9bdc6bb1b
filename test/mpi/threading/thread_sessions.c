/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program without MPI_Init: several threads begin sessions at once, and others while the first
 * ones send.
 *
 *   thread_sessions [-n SESSIONS] [-k THREADS]    two ranks; so many sessions of each thread
 *
 * The last one of each thread lasts until all threads are done. Rank 0 prints 'wrong N'; where it
 * is not 0 the exit status is 1.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { kMost = 16, kMessages = 20 };

static int sessions = 3, threads = 4;
static _Atomic int is_first;
static _Atomic int wrong;
static pthread_barrier_t together;

static void exchange(MPI_Comm comm) {
  int rank, sum = 0;
  MPI_Comm_rank(comm, &rank);
  is_first = rank == 0;
  for (int i = 0; i < kMessages; ++i) {
    int in = -1;
    MPI_Sendrecv(&i, 1, MPI_INT, 1 - rank, i, &in, 1, MPI_INT, 1 - rank, i, comm,
                 MPI_STATUS_IGNORE);
    wrong += in != i;
  }
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  wrong += sum != 1;
}

static void* begin_sessions(void* passed) {
  char tag[32];
  snprintf(tag, sizeof(tag), "ucx-verity/test/%d", *(int*)passed);
  pthread_barrier_wait(&together);
  for (int i = 0; i < sessions; ++i) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    exchange(comm);
    MPI_Comm_free(&comm);
    if (i == sessions - 1) pthread_barrier_wait(&together);
    MPI_Session_finalize(&session);
  }
  return NULL;
}

int main(int argc, char** argv) {
  static int numbers[kMost];
  pthread_t made[kMost];
  for (int option; (option = getopt(argc, argv, "n:k:")) != -1;)
    *(option == 'n' ? &sessions : &threads) = atoi(optarg);
  if (threads > kMost) threads = kMost;
  pthread_barrier_init(&together, NULL, (unsigned)threads);
  for (int i = 0; i < threads; ++i) {
    numbers[i] = i;
    pthread_create(&made[i], NULL, begin_sessions, &numbers[i]);
  }
  for (int i = 0; i < threads; ++i) pthread_join(made[i], NULL);
  if (is_first) printf("thread_sessions wrong %d\n", wrong);
  return wrong != 0;
}
