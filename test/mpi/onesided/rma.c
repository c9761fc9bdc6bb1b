/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided operations under every kind of synchronization, all results compared with what they
 * must be. Leaves out what stock Open MPI 4.1 over UCX gets wrong by itself: fetch-and-op on 8-bit,
 * 16-bit and floating types, accumulates of derived types, dynamic windows.
 *
 *   mpirun -np 2 rma [-n ROUNDS] [-s SEED] [-m MAX_BYTES] [-o OPERATIONS] [-t SECONDS]
 *
 *   -o  only these, with commas: fence, pscw, lock, flush, accumulate, fetch, swap
 *
 * Last line of rank 0: rma checks N wrong N. Exit status: 0, 1 wrong, 2 usage, 3 hang.
 */
#include <mpi.h>
#include <stdlib.h>

#include "content.h"
#include "watch.h"

enum { kMaxRanks = 16, kCounters = 64 };

static struct {
  int rank, size, rounds, show;
  uint64_t seed;
  size_t max_length;
  const char* only;
  uint64_t checks, wrong;
  uint8_t* base; /* the window: size slots of max_length bytes, then the counters */
  MPI_Win win;
} job = {.rounds = 30, .show = 10, .seed = 1, .max_length = 65536, .only = NULL};

static uint64_t* counters(void) {
  return (uint64_t*)(job.base + job.max_length * (size_t)job.size);
}

static MPI_Aint counter_at(int index) {
  return (MPI_Aint)(job.max_length * (size_t)job.size) + (MPI_Aint)index * 8;
}

static void judge(int ok, const char* what, int round, int peer) {
  ++job.checks;
  watch.progress = (unsigned long)job.checks;
  if (!ok) {
    ++job.wrong;
    if (job.show-- > 0) {
      fprintf(stderr, "rank %d: WRONG %s with rank %d, round %d\n", job.rank, what, peer, round);
    }
  }
}

static uint64_t key_of(int source, int target, int round) {
  return content_key(job.seed, source, target, (uint64_t)round);
}

static size_t length_of(int source, int target, int round) {
  uint64_t key = key_of(source, target, round);
  size_t limit = key % 4 == 0 ? job.max_length : job.max_length < 600 ? job.max_length : 600;
  return (size_t)(content_mix(key) % (limit + 1));
}

static int is_right(const uint8_t* buffer, int source, int target, int round) {
  size_t first;
  return content_check(buffer, length_of(source, target, round), key_of(source, target, round),
                       &first) == 0;
}

/* Rank r's part of everybody's window is slot r. */
static MPI_Aint slot_of(int rank) { return (MPI_Aint)(job.max_length * (size_t)rank); }

static void put_to(int target, int round, uint8_t* buffer) {
  size_t length = length_of(job.rank, target, round);
  content_fill(buffer, length, key_of(job.rank, target, round));
  MPI_Put(buffer, (int)length, MPI_BYTE, target, slot_of(job.rank), (int)length, MPI_BYTE, job.win);
}

static void check_slots(const char* what, int round) {
  for (int source = 0; source < job.size; ++source) {
    judge(is_right(job.base + slot_of(source), source, job.rank, round), what, round, source);
  }
}

/* Puts to all between fences; then gets back what others put elsewhere. */
static void do_fence(int round) {
  uint8_t* out = malloc(job.max_length * (size_t)job.size + 1);
  uint8_t* in = calloc(job.max_length + 1, 1);
  int next = (job.rank + 1) % job.size, after = (job.rank + 2) % job.size;

  MPI_Win_fence(0, job.win);
  for (int target = 0; target < job.size; ++target) {
    put_to(target, round, out + job.max_length * (size_t)target);
  }
  MPI_Win_fence(0, job.win);
  check_slots("put under fence", round);
  MPI_Win_fence(0, job.win);
  MPI_Get(in, (int)length_of(after, next, round), MPI_BYTE, next, slot_of(after),
          (int)length_of(after, next, round), MPI_BYTE, job.win);
  MPI_Win_fence(0, job.win);
  judge(is_right(in, after, next, round), "get under fence", round, next);
  free(in);
  free(out);
}

/* Each rank exposes to the one before and writes to the next, with all of post, start, complete,
 * wait. */
static void do_pscw(int round) {
  int next = (job.rank + 1) % job.size, before = (job.rank - 1 + job.size) % job.size;
  uint8_t* out = malloc(job.max_length + 1);
  MPI_Group world, to, from;

  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &next, &to);
  MPI_Group_incl(world, 1, &before, &from);
  MPI_Win_post(from, 0, job.win);
  MPI_Win_start(to, 0, job.win);
  put_to(next, round, out);
  MPI_Win_complete(job.win);
  MPI_Win_wait(job.win);
  judge(is_right(job.base + slot_of(before), before, job.rank, round), "put under post-start",
        round, before);
  MPI_Group_free(&to);
  MPI_Group_free(&from);
  MPI_Group_free(&world);
  free(out);
}

/* Exclusive locks: put, unlock, then a shared lock and a get of one's own data. */
static void do_lock(int round) {
  int target = (job.rank + 1 + round) % job.size;
  uint8_t* out = malloc(job.max_length + 1);
  uint8_t* in = calloc(job.max_length + 1, 1);

  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, job.win);
  put_to(target, round, out);
  MPI_Win_unlock(target, job.win);
  MPI_Win_lock(MPI_LOCK_SHARED, target, 0, job.win);
  MPI_Get(in, (int)length_of(job.rank, target, round), MPI_BYTE, target, slot_of(job.rank),
          (int)length_of(job.rank, target, round), MPI_BYTE, job.win);
  MPI_Win_unlock(target, job.win);
  judge(is_right(in, job.rank, target, round), "put and get under locks", round, target);
  MPI_Barrier(MPI_COMM_WORLD);
  free(in);
  free(out);
}

/* lock_all with flushes: after a flush a get sees the put. */
static void do_flush(int round) {
  uint8_t* out = malloc(job.max_length + 1);
  uint8_t* in = malloc(job.max_length + 1);

  MPI_Win_lock_all(0, job.win);
  for (int step = 0; step < job.size; ++step) {
    int target = (job.rank + step) % job.size;
    put_to(target, round, out);
    MPI_Win_flush(target, job.win);
    memset(out, 0xee, job.max_length);
    memset(in, 0, job.max_length);
    MPI_Get(in, (int)length_of(job.rank, target, round), MPI_BYTE, target, slot_of(job.rank),
            (int)length_of(job.rank, target, round), MPI_BYTE, job.win);
    MPI_Win_flush(target, job.win);
    judge(is_right(in, job.rank, target, round), "put and get with flush", round, target);
  }
  MPI_Win_unlock_all(job.win);
  MPI_Barrier(MPI_COMM_WORLD);
  free(in);
  free(out);
}

/* Sums of all ranks in everybody's counters. */
static void do_accumulate(int round) {
  uint64_t add[kCounters];

  memset(counters(), 0, kCounters * 8);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_fence(0, job.win);
  for (int i = 0; i < kCounters; ++i) {
    add[i] = content_word(key_of(job.rank, 0, round), (size_t)i);
  }
  for (int target = 0; target < job.size; ++target) {
    MPI_Accumulate(add, kCounters, MPI_UINT64_T, target, counter_at(0), kCounters, MPI_UINT64_T,
                   MPI_SUM, job.win);
  }
  MPI_Win_fence(0, job.win);
  for (int i = 0; i < kCounters; ++i) {
    uint64_t sum = 0;
    for (int source = 0; source < job.size; ++source) {
      sum += content_word(key_of(source, 0, round), (size_t)i);
    }
    judge(counters()[i] == sum, "accumulate", round, i);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Tickets from a counter of rank 0: each number is given once. */
static void do_fetch(int round) {
  enum { kTickets = 50 };
  uint64_t one = 1, ticket, own = 0, all, total = (uint64_t)kTickets * (uint64_t)job.size;

  if (job.rank == 0) { counters()[0] = 0; }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, job.win);
  MPI_Win_sync(job.win);
  for (int i = 0; i < kTickets; ++i) {
    MPI_Fetch_and_op(&one, &ticket, MPI_UINT64_T, 0, counter_at(0), MPI_SUM, job.win);
    MPI_Win_flush(0, job.win);
    judge(ticket < total, "ticket", round, 0);
    own += content_mix(ticket); /* equal sums only when every ticket was given once */
  }
  MPI_Win_unlock_all(job.win);
  MPI_Allreduce(&own, &all, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  for (uint64_t i = 0; i < total; ++i) { all -= content_mix(i); }
  judge(all == 0, "fetch_and_op: tickets given once each", round, 0);
}

/* Makes progress for a random time. */
static void rest(content_rng* rng) {
  double until = MPI_Wtime() + 1e-6 * (double)content_below(rng, 1000);
  int flag;

  do {
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
  } while (MPI_Wtime() < until);
}

/* A lock made of compare-and-swap guards a counter that is read and written without atomics. Who
 * does not get it rests and serves others: Open MPI takes a lock of its own around each operation,
 * and a target that only spins can hold that one whenever it looks at what others ask, stock UCX or
 * not. */
static void do_swap(int round) {
  enum { kTurns = 10 };
  uint64_t free_value = 0, mine = (uint64_t)job.rank + 1, old, value;
  content_rng rng = {content_mix2(job.seed, mine)};

  if (job.rank == 0) {
    counters()[1] = 0;
    counters()[2] = 0;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, job.win);
  MPI_Win_sync(job.win);
  for (int i = 0; i < kTurns; ++i) {
    for (old = 1; old != 0;) {
      MPI_Compare_and_swap(&mine, &free_value, &old, MPI_UINT64_T, 0, counter_at(1), job.win);
      MPI_Win_flush(0, job.win);
      if (old != 0) { rest(&rng); }
    }
    MPI_Get(&value, 1, MPI_UINT64_T, 0, counter_at(2), 1, MPI_UINT64_T, job.win);
    MPI_Win_flush(0, job.win);
    ++value;
    MPI_Put(&value, 1, MPI_UINT64_T, 0, counter_at(2), 1, MPI_UINT64_T, job.win);
    MPI_Win_flush(0, job.win);
    MPI_Compare_and_swap(&free_value, &mine, &old, MPI_UINT64_T, 0, counter_at(1), job.win);
    MPI_Win_flush(0, job.win);
    judge(old == mine, "compare_and_swap: own lock", round, 0);
  }
  MPI_Win_unlock_all(job.win);
  MPI_Barrier(MPI_COMM_WORLD);
  if (job.rank == 0) {
    judge(counters()[2] == (uint64_t)kTurns * (uint64_t)job.size, "counter under a lock", round, 0);
  }
}

static const struct {
  const char* name;
  void (*run)(int round);
} kOperations[] = {
    {"fence", do_fence},           {"pscw", do_pscw},   {"lock", do_lock}, {"flush", do_flush},
    {"accumulate", do_accumulate}, {"fetch", do_fetch}, {"swap", do_swap}};

/* Whether `name` is in the list of -o. */
static int wanted(const char* name) {
  size_t length = strlen(name);

  for (const char* at = job.only; at != NULL; at = strchr(at, ',')) {
    at += *at == ',';
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) { return 1; }
  }
  return job.only == NULL;
}

static void run_all(void) {
  for (int round = 0; round < job.rounds; ++round) {
    for (size_t i = 0; i < sizeof(kOperations) / sizeof(kOperations[0]); ++i) {
      if (wanted(kOperations[i].name)) {
        watch_at("%s, round %d", kOperations[i].name, round);
        kOperations[i].run(round);
      }
    }
  }
}

static unsigned read_options(int argc, char** argv) {
  unsigned seconds = 60;
  int option;

  while ((option = getopt(argc, argv, "n:s:m:o:t:")) != -1) {
    unsigned long value = optarg == NULL ? 0 : strtoul(optarg, NULL, 0);
    switch (option) {
      case 'n': job.rounds = (int)value; break;
      case 's': job.seed = value; break;
      case 'm': job.max_length = (value + 7) / 8 * 8; break;
      case 'o': job.only = optarg; break;
      case 't': seconds = (unsigned)value; break;
      default:
        fprintf(stderr,
                "usage: rma [-n rounds] [-s seed] [-m max-bytes] [-o operations] "
                "[-t seconds]\n");
        exit(2);
    }
  }
  return seconds;
}

int main(int argc, char** argv) {
  unsigned seconds = read_options(argc, argv);
  uint64_t own[2], all[2];

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.size);
  if (job.size > kMaxRanks) { MPI_Abort(MPI_COMM_WORLD, 2); }
  watch_start(job.rank, seconds);
  watch_at("making the window");
  MPI_Win_allocate((MPI_Aint)(job.max_length * (size_t)job.size + kCounters * 8), 1, MPI_INFO_NULL,
                   MPI_COMM_WORLD, &job.base, &job.win);
  MPI_Barrier(MPI_COMM_WORLD);
  run_all();
  own[0] = job.checks;
  own[1] = job.wrong;
  watch_at("summing up");
  MPI_Allreduce(own, all, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (job.rank == 0) {
    printf("rma checks %llu wrong %llu\n", (unsigned long long)all[0], (unsigned long long)all[1]);
  }
  watch_at("freeing the window, MPI_Finalize");
  MPI_Win_free(&job.win);
  MPI_Finalize();
  watch_stop();
  return all[1] == 0 ? 0 : 1;
}
