/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_THREAD_MULTIPLE: threads of every rank exchange messages at the same time, thread i with the
 * threads i of all ranks, and compare every byte. Even threads share one communicator (separated
 * by tags), odd ones have their own and add a collective now and then.
 *
 *   mpirun -np 2 threads [-n MESSAGES] [-k THREADS] [-s SEED] [-m MAX_BYTES] [-t SECONDS]
 *
 * Last line of rank 0: threads K messages N wrong N lost N. Exit status: 0, 1 wrong, 3 hang,
 * 77 when the MPI library gives no MPI_THREAD_MULTIPLE.
 */
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "content.h"
#include "watch.h"

enum { kMaxThreads = 16, kMaxRanks = 16, kBatch = 8, kTags = 1024, kSkip = 77 };

static struct {
  int rank, size, threads;
  uint64_t seed, rounds;
  size_t max_length;
  MPI_Comm shared;
  _Atomic uint64_t messages, wrong;
} job = {.threads = 4, .seed = 1, .rounds = 0, .max_length = 1 << 18};

typedef struct {
  int index;
  MPI_Comm comm;
  uint64_t round;
  uint8_t *send, *receive;
} worker;

static uint64_t message_seed(const worker* self) {
  return content_mix2(job.seed, (uint64_t)self->index);
}

static size_t message_length(uint64_t key) {
  content_rng rng = {key};
  uint64_t limit = content_below(&rng, 50) == 0  ? job.max_length
                   : content_below(&rng, 4) == 0 ? 16384
                                                 : 512;
  return content_below(&rng, (limit < job.max_length ? limit : job.max_length) + 1);
}

static int message_tag(const worker* self, int slot) { return self->index * kTags + slot; }

static uint64_t message_key(const worker* self, int source, int target, int slot) {
  return content_key(message_seed(self), source, target, self->round * kBatch + (uint64_t)slot);
}

static void check_one(const worker* self, int source, int slot, const uint8_t* buffer,
                      const MPI_Status* status) {
  uint64_t key = message_key(self, source, job.rank, slot);
  size_t length = message_length(key), first, bad;
  int count;

  MPI_Get_count(status, MPI_BYTE, &count);
  bad = content_check(buffer, length, key, &first);
  if ((size_t)count != length || bad != 0) {
    atomic_fetch_add(&job.wrong, 1);
    fprintf(stderr,
            "rank %d thread %d round %llu: WRONG message from %d: %d of %zu bytes, "
            "%zu differ from %zu on\n",
            job.rank, self->index, (unsigned long long)self->round, source, count, length, bad,
            first);
  }
  watch.progress = (unsigned long)(atomic_fetch_add(&job.messages, 1) + 1);
}

/* Waits by testing, the processor given away between: on few cores a thread that waits inside
 * MPI_Waitall keeps the lock of UCX, a spinning one, from all the others for seconds. */
static void wait_all(int count, MPI_Request* requests, MPI_Status* statuses) {
  int done = 0;

  while (!done) {
    MPI_Testall(count, requests, &done, statuses);
    if (!done) { sched_yield(); }
  }
}

/* A batch to and from every rank, itself included. */
static void exchange(worker* self) {
  enum { kAll = kMaxRanks * kBatch };
  MPI_Request in[kAll], out[kAll];
  MPI_Status statuses[kAll];
  int count = job.size * kBatch;

  for (int i = 0; i < count; ++i) {
    MPI_Irecv(self->receive + (size_t)i * job.max_length, (int)job.max_length, MPI_BYTE,
              i % job.size, message_tag(self, i / job.size), self->comm, &in[i]);
  }
  for (int i = 0; i < count; ++i) {
    uint64_t key = message_key(self, job.rank, i % job.size, i / job.size);
    size_t length = message_length(key);
    uint8_t* buffer = self->send + (size_t)i * job.max_length;
    content_fill(buffer, length, key);
    if (i % 7 == 3) {
      MPI_Issend(buffer, (int)length, MPI_BYTE, i % job.size, message_tag(self, i / job.size),
                 self->comm, &out[i]);
    } else {
      MPI_Isend(buffer, (int)length, MPI_BYTE, i % job.size, message_tag(self, i / job.size),
                self->comm, &out[i]);
    }
  }
  wait_all(count, in, statuses);
  for (int i = 0; i < count; ++i) {
    check_one(self, i % job.size, i / job.size, self->receive + (size_t)i * job.max_length,
              &statuses[i]);
  }
  wait_all(count, out, statuses);
}

static void check_sum(const worker* self) {
  uint64_t mine = content_key(job.seed, job.rank, self->index, self->round), sum = 0, wanted = 0;

  MPI_Allreduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, self->comm);
  for (int i = 0; i < job.size; ++i) {
    wanted += content_key(job.seed, i, self->index, self->round);
  }
  if (sum != wanted) {
    atomic_fetch_add(&job.wrong, 1);
    fprintf(stderr, "rank %d thread %d: WRONG Allreduce\n", job.rank, self->index);
  }
}

static void* run_thread(void* argument) {
  worker* self = argument;
  size_t space = (size_t)(job.size * kBatch) * job.max_length + 8;

  self->send = malloc(space);
  self->receive = malloc(space);
  for (; self->round < job.rounds; ++self->round) {
    exchange(self);
    if (self->index % 2 == 1 && self->round % 8 == 0) { check_sum(self); }
  }
  free(self->send);
  free(self->receive);
  return NULL;
}

static void run_threads(void) {
  pthread_t threads[kMaxThreads];
  worker workers[kMaxThreads] = {{0}};

  for (int i = 0; i < job.threads; ++i) {
    workers[i].index = i;
    workers[i].comm = job.shared;
    if (i % 2 == 1) { MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm); }
  }
  for (int i = 0; i < job.threads; ++i) {
    pthread_create(&threads[i], NULL, run_thread, &workers[i]);
  }
  for (int i = 0; i < job.threads; ++i) {
    pthread_join(threads[i], NULL);
    if (workers[i].comm != job.shared) { MPI_Comm_free(&workers[i].comm); }
  }
}

static unsigned read_options(int argc, char** argv, uint64_t* messages_p) {
  unsigned seconds = 120;
  int option;

  while ((option = getopt(argc, argv, "n:k:s:m:t:")) != -1) {
    uint64_t value = optarg == NULL ? 0 : strtoull(optarg, NULL, 0);
    switch (option) {
      case 'n': *messages_p = value; break;
      case 'k': job.threads = value < kMaxThreads ? (int)value : kMaxThreads; break;
      case 's': job.seed = value; break;
      case 'm': job.max_length = value; break;
      case 't': seconds = (unsigned)value; break;
      default:
        fprintf(stderr,
                "usage: threads [-n messages] [-k threads] [-s seed] [-m max-bytes] "
                "[-t seconds]\n");
        exit(2);
    }
  }
  return seconds;
}

static int report(void) {
  uint64_t own[2], all[2], planned;

  planned = job.rounds * kBatch * (uint64_t)(job.size * job.size * job.threads);
  own[0] = atomic_load(&job.messages);
  own[1] = atomic_load(&job.wrong);
  MPI_Allreduce(own, all, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (job.rank == 0) {
    printf("threads %d messages %llu wrong %llu lost %llu\n", job.threads,
           (unsigned long long)all[0], (unsigned long long)all[1],
           (unsigned long long)(planned - all[0]));
  }
  return all[1] == 0 && all[0] == planned ? 0 : 1;
}

int main(int argc, char** argv) {
  uint64_t messages = 20000;
  unsigned seconds = read_options(argc, argv, &messages);
  int provided, status;

  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.size);
  if (provided < MPI_THREAD_MULTIPLE || job.size > kMaxRanks) {
    if (job.rank == 0) {
      printf("SKIP: this MPI library gives thread level %d, not MPI_THREAD_MULTIPLE\n", provided);
    }
    MPI_Finalize();
    return kSkip;
  }
  watch_start(job.rank, seconds);
  watch_at("%d threads, seed %llu", job.threads, (unsigned long long)job.seed);
  job.rounds = messages / (kBatch * (uint64_t)(job.size * job.size * job.threads)) + 1;
  MPI_Comm_dup(MPI_COMM_WORLD, &job.shared);
  run_threads();
  status = report();
  MPI_Comm_free(&job.shared);
  watch_at("MPI_Finalize");
  MPI_Finalize();
  watch_stop();
  return status;
}
