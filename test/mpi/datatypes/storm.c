/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Very many correct messages whose datatypes change from one to the next, so that a signature that
 * is given to another message is reported as a mismatch: in order from each source, by wildcards,
 * probed, cancelled, persistent, and by several threads.
 *
 *   mpirun -np 4 storm [-n ROUNDS] [-t THREADS] [-s SEED]
 *
 * With UCX_VERITY_TYPECHECK=error nothing may call the error handler. Last line of rank 0: "storm
 * messages N errors N".
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "content.h"
#include "watch.h"

enum { kTypes = 7, kBatch = 48, kRoom = 1 << 15, kManyTags = 1 << 10 };

static struct {
  int rounds, threads, rank, ranks;
  uint64_t seed;
} job = {.rounds = 20, .threads = 1, .seed = 1};
static MPI_Datatype types[kTypes];
static atomic_int errors;
static atomic_ullong messages;

static void on_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  fprintf(stderr, "rank %d: error %d\n", job.rank, *code);
  ++errors;
}

static void make_types(void) {
  int blocks[2] = {1, 3};
  MPI_Aint displacements[2] = {0, 8};
  MPI_Datatype fields[2] = {MPI_INT, MPI_FLOAT};
  types[0] = MPI_INT;
  types[1] = MPI_FLOAT;
  types[2] = MPI_DOUBLE;
  types[3] = MPI_SHORT;
  types[4] = MPI_LONG;
  MPI_Type_create_struct(2, blocks, displacements, fields, &types[5]);
  fields[0] = MPI_FLOAT;
  fields[1] = MPI_INT;
  MPI_Type_create_struct(2, blocks, displacements, fields, &types[6]);
  MPI_Type_commit(&types[5]);
  MPI_Type_commit(&types[6]);
}

/* What thread `thread` does in a round: the same numbers on every rank. */
typedef struct {
  content_rng rng;
  int thread, tag;
  char* out;
  char* in;
  MPI_Comm comm;
} lane;

/* Type and count of message `i` of the round from one rank to another: both can tell. */
typedef struct {
  int type, count;
} shape;

static shape shape_of(uint64_t round, int from, int to, int i) {
  content_rng rng = {round * 1000003 + (uint64_t)from * 4099 + (uint64_t)to * 257 + (uint64_t)i};
  shape s;
  s.type = (int)content_below(&rng, kTypes);
  s.count = (int)content_below(&rng, content_below(&rng, 20) == 0 ? 2000 : 40);
  return s;
}

typedef void (*receive_one)(lane* l, shape s, int from, MPI_Request* request);

static void by_irecv(lane* l, shape s, int from, MPI_Request* request) {
  MPI_Irecv(l->in, s.count, types[s.type], from, l->tag, l->comm, request);
}
static void by_cancelled(lane* l, shape s, int from, MPI_Request* request) {
  MPI_Request never;
  MPI_Irecv(l->in, s.count, types[(s.type + 1) % kTypes], from, l->tag + kManyTags / 2, l->comm,
            &never);
  by_irecv(l, s, from, request);
  MPI_Cancel(&never);
  MPI_Wait(&never, MPI_STATUS_IGNORE);
}
static void by_persistent(lane* l, shape s, int from, MPI_Request* request) {
  MPI_Request made;
  MPI_Recv_init(l->in, s.count, types[s.type], from, l->tag, l->comm, &made);
  MPI_Start(&made);
  MPI_Wait(&made, MPI_STATUS_IGNORE);
  MPI_Request_free(&made);
  *request = MPI_REQUEST_NULL;
}
static void by_mprobe(lane* l, shape s, int from, MPI_Request* request) {
  MPI_Message message;
  MPI_Mprobe(from, l->tag, l->comm, &message, MPI_STATUS_IGNORE);
  MPI_Imrecv(l->in, s.count, types[s.type], &message, request);
}
static void by_any_tag(lane* l, shape s, int from, MPI_Request* request) {
  MPI_Irecv(l->in, s.count, types[s.type], from, job.threads == 1 ? MPI_ANY_TAG : l->tag, l->comm,
            request);
}
static void by_larger(lane* l, shape s, int from, MPI_Request* request) {
  MPI_Irecv(l->in, s.count + 100, types[s.type], from, l->tag, l->comm, request);
}

/* In order from each source. */
static void ordered(lane* l, uint64_t round, int to, int from, receive_one receive) {
  MPI_Request sends[kBatch], receives[kBatch];
  for (int i = 0; i < kBatch; ++i) {
    const shape s = shape_of(round, job.rank, to, i);
    if (i % 5 == 4) {
      MPI_Issend(l->out, s.count, types[s.type], to, l->tag, l->comm, &sends[i]);
    } else {
      MPI_Isend(l->out, s.count, types[s.type], to, l->tag, l->comm, &sends[i]);
    }
  }
  for (int i = 0; i < kBatch; ++i)
    receive(l, shape_of(round, from, job.rank, i), from, &receives[i]);
  MPI_Waitall(kBatch, receives, MPI_STATUSES_IGNORE);
  MPI_Waitall(kBatch, sends, MPI_STATUSES_IGNORE);
  messages += kBatch;
}

/* From anybody: each tag has its type. */
static void from_anybody(lane* l, uint64_t round) {
  MPI_Request sends[kBatch], receives[kBatch];
  for (int i = 0; i < kBatch; ++i) {
    const int type = (int)((round + (uint64_t)i) % kTypes), to = (job.rank + i) % job.ranks;
    MPI_Isend(l->out, i, types[type], to, l->tag + 1 + type, l->comm, &sends[i]);
  }
  /* Each rank gets message i from the rank (rank - i) mod ranks. */
  for (int i = kBatch - 1; i >= 0; --i) {
    const int type = (int)((round + (uint64_t)i) % kTypes);
    MPI_Irecv(l->in, kBatch, types[type], MPI_ANY_SOURCE, l->tag + 1 + type, l->comm, &receives[i]);
  }
  MPI_Waitall(kBatch, receives, MPI_STATUSES_IGNORE);
  MPI_Waitall(kBatch, sends, MPI_STATUSES_IGNORE);
  messages += kBatch;
}

static void* run(void* argument) {
  static const receive_one ways[] = {by_irecv,  by_cancelled, by_persistent,
                                     by_mprobe, by_any_tag,   by_larger};
  lane* l = argument;
  for (int i = 0; i < job.rounds; ++i) {
    const uint64_t round = content_next(&l->rng);
    const int step = (int)(round % (uint64_t)job.ranks), way = (int)((round >> 8) % 7);
    if (way == 6) {
      from_anybody(l, round);
    } else {
      ordered(l, round, (job.rank + step) % job.ranks, (job.rank + job.ranks - step) % job.ranks,
              ways[way]);
    }
    /* No rank is a round ahead: its messages would fit wildcards of this one. */
    MPI_Barrier(l->comm);
    watch.progress = (unsigned long)i;
  }
  return NULL;
}

static int total(int mine) {
  int sum = 0;
  MPI_Reduce(&mine, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  return sum;
}

int main(int argc, char** argv) {
  int option, provided;
  MPI_Errhandler handler;
  while ((option = getopt(argc, argv, "n:t:s:")) != -1) {
    if (option == 'n') job.rounds = atoi(optarg);
    if (option == 't') job.threads = atoi(optarg);
    if (option == 's') job.seed = strtoull(optarg, NULL, 0);
  }
  MPI_Init_thread(&argc, &argv, job.threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE,
                  &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
  watch_start(job.rank, 600);
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  make_types();
  lane lanes[16];
  pthread_t threads[16];
  for (int t = 0; t < job.threads && t < 16; ++t) {
    lanes[t] = (lane){.rng = {job.seed * 31 + (uint64_t)t},
                      .thread = t,
                      .tag = 16 * t,
                      .out = calloc(4, kRoom),
                      .in = calloc(4, kRoom)};
    MPI_Comm_dup(MPI_COMM_WORLD, &lanes[t].comm);
    if (t > 0) pthread_create(&threads[t], NULL, run, &lanes[t]);
  }
  run(&lanes[0]);
  for (int t = 1; t < job.threads && t < 16; ++t) pthread_join(threads[t], NULL);
  const int all = total((int)messages), wrong = total(errors);
  for (int t = 0; t < job.threads && t < 16; ++t) MPI_Comm_free(&lanes[t].comm);
  MPI_Type_free(&types[5]);
  MPI_Type_free(&types[6]);
  MPI_Errhandler_free(&handler);
  MPI_Finalize();
  if (job.rank == 0) printf("storm messages %d errors %d\n", all, wrong);
  return wrong != 0;
}
