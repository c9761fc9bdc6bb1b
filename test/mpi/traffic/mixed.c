/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Exchanges mixed messages between all ranks and accounts for each: content, length, order, number.
 *
 *   mpirun -np 4 mixed [-n MESSAGES] [-s SEED] [-m MAX_BYTES] [-t SECONDS] [-p PATTERN] [-C] [-v]
 *
 *   -n  point-to-point messages in all, at least (default 20000)
 *   -s  seed of the schedule: equal seeds give equal schedules (default 1)
 *   -m  longest message (default 1 MiB)
 *   -t  a round that takes longer is a hang (default 60 s)
 *   -p  only this pattern: nonblocking unexpected anysource anytag probe blocking sendrecv
 *       persistent
 *   -C  no collectives;  -v  progress of every rank
 *
 * Last line of rank 0: messages N wrong N lost N repeated N reordered N collectives N bytes N ...
 * Exit status: 0 all as it should be, 1 not, 2 usage, 3 hang.
 */
#include <stdio.h>
#include <stdlib.h>

#include "mixed.h"
#include "watch.h"

typedef struct {
  uint64_t messages;
  unsigned seconds;
  int pattern; /* -1: all */
  int collectives, verbose;
} mixed_options;

static void usage(void) {
  fprintf(stderr,
          "usage: mixed [-n messages] [-s seed] [-m max-bytes] [-t seconds] "
          "[-p pattern] [-C] [-v]\n");
  MPI_Abort(MPI_COMM_WORLD, 2);
}

static int find_pattern(const char* name) {
  for (int i = 0; i < kPatterns; ++i) {
    if (strcmp(name, plan_name((mixed_pattern)i)) == 0) { return i; }
  }
  usage();
  return -1;
}

static mixed_options read_options(int argc, char** argv, mixed_state* state) {
  mixed_options options = {20000, 60, -1, 1, 0};
  int option;

  while ((option = getopt(argc, argv, "n:s:m:t:p:Cv")) != -1) {
    switch (option) {
      case 'n': options.messages = strtoull(optarg, NULL, 0); break;
      case 's': state->seed = strtoull(optarg, NULL, 0); break;
      case 'm': state->max_length = strtoull(optarg, NULL, 0); break;
      case 't': options.seconds = (unsigned)strtoul(optarg, NULL, 0); break;
      case 'p': options.pattern = find_pattern(optarg); break;
      case 'C': options.collectives = 0; break;
      case 'v': options.verbose = 1; break;
      default: usage();
    }
  }
  return options;
}

static void start(mixed_state* state) {
  MPI_Comm_rank(MPI_COMM_WORLD, &state->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &state->size);
  if (state->size > kMaxRanks) {
    fprintf(stderr, "at most %d ranks\n", kMaxRanks);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &state->p2p[0]);
  MPI_Comm_dup(MPI_COMM_WORLD, &state->p2p[1]);
  MPI_Comm_dup(MPI_COMM_WORLD, &state->collective);
  state->bsend_buffer = malloc(kBsendBuffer);
  MPI_Buffer_attach(state->bsend_buffer, kBsendBuffer);
}

static void show_progress(const mixed_state* state, uint64_t planned,
                          const mixed_options* options) {
  if (options->verbose && state->round % 200 == 0) {
    fprintf(stderr, "rank %d: round %llu, %llu of %llu messages, wrong %llu\n", state->rank,
            (unsigned long long)state->round, (unsigned long long)planned,
            (unsigned long long)options->messages, (unsigned long long)state->counts.wrong);
  }
}

/* All rounds. Returns the number of point-to-point messages planned over all ranks. */
static uint64_t run_rounds(mixed_state* state, const mixed_options* options) {
  uint64_t planned = 0;

  for (; planned < options->messages; ++state->round) {
    int batch;
    mixed_pattern pattern = plan_round(state, &batch);

    pattern = options->pattern >= 0 ? (mixed_pattern)options->pattern : pattern;
    watch_at("round %llu (%s, %d messages per pair, seed %llu)", (unsigned long long)state->round,
             plan_name(pattern), batch, (unsigned long long)state->seed);
    p2p_round(state, pattern, batch);
    planned += (uint64_t)batch * (uint64_t)(state->size * state->size);
    if (options->collectives && state->round % 3 == 0) {
      watch_at("round %llu, collective (seed %llu)", (unsigned long long)state->round,
               (unsigned long long)state->seed);
      collective_round(state);
    }
    show_progress(state, planned, options);
  }
  return planned;
}

/* After all expected messages nothing may be left: what is, came twice. */
static void count_leftovers(mixed_state* state) {
  MPI_Status status;
  char one;
  int flag;

  watch_at("barrier at the end");
  MPI_Barrier(state->collective);
  for (int comm = 0; comm < 2; ++comm) {
    for (int tries = 0; tries < 1000; ++tries) {
      MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, state->p2p[comm], &flag, &status);
      if (flag) {
        ++state->counts.repeated;
        account_complain(state, "a message from %d with tag %d too many", status.MPI_SOURCE,
                         status.MPI_TAG);
        MPI_Recv(&one, 0, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, state->p2p[comm],
                 MPI_STATUS_IGNORE);
      }
    }
  }
}

/* Sums the account over the ranks and prints it. Returns the exit status. */
static int report(mixed_state* state, uint64_t planned, double seconds) {
  mixed_counts* c = &state->counts;
  uint64_t own[] = {c->messages,  c->wrong,       c->lost, c->repeated,
                    c->reordered, c->collectives, c->bytes};
  uint64_t all[7];

  watch_at("summing up");
  MPI_Allreduce(own, all, 7, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  /* A message that never came is lost whether or not a wildcard round noticed. */
  if (all[0] + all[2] < planned) { all[2] = planned - all[0]; }
  if (state->rank == 0) {
    printf(
        "messages %llu wrong %llu lost %llu repeated %llu reordered %llu collectives %llu "
        "bytes %llu seconds %.1f\n",
        (unsigned long long)all[0], (unsigned long long)all[1], (unsigned long long)all[2],
        (unsigned long long)all[3], (unsigned long long)all[4], (unsigned long long)all[5],
        (unsigned long long)all[6], seconds);
  }
  return all[1] + all[2] + all[3] + all[4] == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  mixed_state state = {.seed = 1, .max_length = (size_t)1 << 20, .show = 10};
  mixed_options options;
  uint64_t planned;
  double begin;
  void* buffer;
  int status, size;

  MPI_Init(&argc, &argv);
  options = read_options(argc, argv, &state);
  start(&state);
  watch_start(state.rank, options.seconds);
  begin = MPI_Wtime();
  planned = run_rounds(&state, &options);
  count_leftovers(&state);
  status = report(&state, planned, MPI_Wtime() - begin);
  watch_at("MPI_Finalize");
  MPI_Buffer_detach(&buffer, &size);
  free(state.bsend_buffer);
  MPI_Comm_free(&state.p2p[0]);
  MPI_Comm_free(&state.p2p[1]);
  MPI_Comm_free(&state.collective);
  MPI_Finalize();
  watch_stop();
  return status;
}
