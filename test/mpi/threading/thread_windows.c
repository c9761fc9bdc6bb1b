/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_THREAD_MULTIPLE with one-sided operations: each thread of every rank has a window of its own
 * and puts, gets and counts in the memory of the next rank, all at the same time.
 *
 *   mpirun -np 2 thread_windows [-n ROUNDS] [-k THREADS]
 *
 * Last line of rank 0: threads K rounds N wrong N. Exit status: 0, 1 wrong, 77 when the MPI library
 * gives no MPI_THREAD_MULTIPLE.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMaxThreads = 16, kBytes = 1 << 19, kSmall = 3000, kSkip = 77 };

static struct {
  int rank, size, threads, rounds;
  _Atomic uint64_t wrong;
} job = {.threads = 4, .rounds = 20};

typedef struct {
  int index;
  MPI_Win window;
  uint8_t* memory; /* a counter, then kBytes */
} worker;

static uint8_t byte_of(int rank, int thread, int round, size_t at) {
  return (uint8_t)((unsigned)(rank * 31 + thread * 7 + round * 3) + at);
}

static void fill(uint8_t* out, size_t length, int rank, int thread, int round) {
  for (size_t i = 0; i < length; ++i) out[i] = byte_of(rank, thread, round, i);
}

/* Puts a part, reads all of it back: small parts travel in frames, the whole by a read where the
 * transport has one. */
static void one_round(worker* self, int round, uint8_t* out, uint8_t* in) {
  int target = (job.rank + 1) % job.size;
  size_t length = round % 2 == 0 ? kSmall : kBytes;
  int64_t one = 1, before = -1;

  fill(out, length, job.rank, self->index, round);
  MPI_Put(out, (int)length, MPI_BYTE, target, 8, (int)length, MPI_BYTE, self->window);
  MPI_Win_flush(target, self->window);
  MPI_Get(in, (int)length, MPI_BYTE, target, 8, (int)length, MPI_BYTE, self->window);
  MPI_Fetch_and_op(&one, &before, MPI_INT64_T, target, 0, MPI_SUM, self->window);
  MPI_Win_flush(target, self->window);
  if (before != round || memcmp(in, out, length) != 0) {
    atomic_fetch_add(&job.wrong, 1);
    fprintf(stderr, "rank %d thread %d round %d: WRONG, counter %lld\n", job.rank, self->index,
            round, (long long)before);
  }
}

static void* run_thread(void* argument) {
  worker* self = argument;
  uint8_t* out = malloc(kBytes);
  uint8_t* in = malloc(kBytes);

  for (int round = 0; round < job.rounds; ++round) one_round(self, round, out, in);
  free(out);
  free(in);
  return NULL;
}

static void run(void) {
  worker workers[kMaxThreads];
  pthread_t threads[kMaxThreads];

  for (int i = 0; i < job.threads; ++i) {
    workers[i].index = i;
    MPI_Win_allocate(8 + kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &workers[i].memory,
                     &workers[i].window);
    memset(workers[i].memory, 0, 8 + kBytes);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, workers[i].window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < job.threads; ++i) pthread_create(&threads[i], NULL, run_thread, &workers[i]);
  for (int i = 0; i < job.threads; ++i) pthread_join(threads[i], NULL);
  for (int i = 0; i < job.threads; ++i) {
    MPI_Win_unlock_all(workers[i].window);
    MPI_Win_free(&workers[i].window);
  }
}

int main(int argc, char** argv) {
  int given = 0, option;
  uint64_t mine, wrong = 0;

  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.size);
  while ((option = getopt(argc, argv, "n:k:")) != -1) {
    if (option == 'n') job.rounds = atoi(optarg);
    if (option == 'k') job.threads = atoi(optarg) < kMaxThreads ? atoi(optarg) : kMaxThreads;
  }
  if (given < MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    return kSkip;
  }
  run();
  mine = atomic_load(&job.wrong);
  MPI_Allreduce(&mine, &wrong, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (job.rank == 0)
    printf("threads %d rounds %d wrong %llu\n", job.threads, job.rounds, (unsigned long long)wrong);
  MPI_Finalize();
  return wrong != 0;
}
