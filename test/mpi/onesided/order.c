/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The order of one-sided operations of one origin: what a get brings must be what was there when it
 * was called for, whatever the same call, or the next one, writes to that place; and a request that
 * MPI_Wait has completed must have its data. Every rank works on its own rank and on rank 0 while
 * the others read there.
 *
 *   mpirun -np 2 order [-n ROUNDS] [-m MAX_BYTES] [-o OPERATIONS] [-t SECONDS]
 *
 *   -o  only these, with commas: replace, rreplace, rget, rgets, swap
 *
 * Last line of rank 0: order checks N wrong N. Exit status: 0, 1 wrong, 2 usage, 3 hang.
 */
#include <mpi.h>
#include <stdlib.h>

#include "content.h"
#include "watch.h"

enum { kMaxRanks = 16, kReads = 24, kReadBytes = 3000 };

static struct {
  int rank, size, rounds, show;
  size_t length; /* bytes of a slot, and of the part that all read and none writes */
  const char* only;
  uint64_t checks, wrong;
  uint8_t* base; /* the window: one slot for each origin, the part that is read, one word for each
                    origin */
  uint8_t* result;
  uint8_t* source;
  uint8_t* reads;
  MPI_Win win;
} job = {.rounds = 30, .show = 10, .length = 400 * 1024};

static MPI_Aint slot_at(int origin) { return (MPI_Aint)(job.length * (size_t)origin); }
static MPI_Aint shared_at(void) { return slot_at(job.size); }
static MPI_Aint word_at(int origin) { return slot_at(job.size + 1) + 8 * (MPI_Aint)origin; }
static uint64_t shared_key(int rank) { return content_key(7, rank, rank, 0); }
static uint64_t slot_key(int origin, int target, int round) {
  return content_key(8, origin, target, (uint64_t)round + 1);
}

static void judge(int ok, const char* what, int round, int target, size_t at) {
  ++job.checks;
  watch.progress = (unsigned long)job.checks;
  if (!ok) {
    ++job.wrong;
    if (job.show-- > 0) {
      fprintf(stderr, "rank %d: WRONG %s, rank %d's memory, round %d, first at byte %zu\n",
              job.rank, what, target, round, at);
    }
  }
}

static void check_bytes(const void* bytes, size_t length, uint64_t key, const char* what, int round,
                        int target) {
  size_t first = 0;
  size_t wrong = content_check(bytes, length, key, &first);
  judge(wrong == 0, what, round, target, first);
}

/* Some hundred to all bytes of a slot, whole words. */
static size_t length_of(int round) {
  size_t most = round % 3 == 0 ? job.length : job.length < 20000 ? job.length : 20000;
  return (content_mix((uint64_t)round + 99) % most) / 8 * 8 + 8;
}

/* Gets of what no rank writes, so that the target has others to answer. */
static void start_reads(int target) {
  for (int i = 0; i < kReads; ++i) {
    MPI_Get(job.reads + (size_t)i * kReadBytes, kReadBytes, MPI_BYTE, target, shared_at(),
            kReadBytes, MPI_BYTE, job.win);
  }
}

static void check_reads(int target, int round) {
  for (int i = 0; i < kReads; ++i) {
    check_bytes(job.reads + (size_t)i * kReadBytes, kReadBytes, shared_key(target),
                "an unrelated get", round, target);
  }
}

static void fill_slots(void) {
  for (int origin = 0; origin < job.size; ++origin) {
    content_fill(job.base + slot_at(origin), job.length, slot_key(origin, job.rank, -1));
    memset(job.base + word_at(origin), 0, 8);
  }
  content_fill(job.base + shared_at(), job.length, shared_key(job.rank));
}

/* One call that gets and then puts to the same place. The slot is put whole for the next round. */
static void do_replace(int round, int target) {
  size_t length = job.size > 1 && target != job.rank ? length_of(round) : job.length / 8 * 8;
  int words = (int)(length / 8);

  content_fill(job.source, job.length, slot_key(job.rank, target, round));
  memset(job.result, 0xee, job.length);
  start_reads(target);
  MPI_Get_accumulate(job.source, words, MPI_UINT64_T, job.result, words, MPI_UINT64_T, target,
                     slot_at(job.rank), words, MPI_UINT64_T, MPI_REPLACE, job.win);
  MPI_Win_flush(target, job.win);
  check_bytes(job.result, length, slot_key(job.rank, target, round - 1),
              "get_accumulate with MPI_REPLACE", round, target);
  check_reads(target, round);
  MPI_Put(job.source, (int)job.length, MPI_BYTE, target, slot_at(job.rank), (int)job.length,
          MPI_BYTE, job.win);
  MPI_Win_flush(target, job.win);
}

static void do_rreplace(int round, int target) {
  MPI_Request request;
  int words = (int)(length_of(round) / 8);

  content_fill(job.source, job.length, slot_key(job.rank, target, round));
  memset(job.result, 0xee, job.length);
  MPI_Rget_accumulate(job.source, words, MPI_UINT64_T, job.result, words, MPI_UINT64_T, target,
                      slot_at(job.rank), words, MPI_UINT64_T, MPI_REPLACE, job.win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check_bytes(job.result, (size_t)words * 8, slot_key(job.rank, target, round - 1),
              "rget_accumulate with MPI_REPLACE, waited for", round, target);
  MPI_Win_flush(target, job.win);
  MPI_Put(job.source, (int)job.length, MPI_BYTE, target, slot_at(job.rank), (int)job.length,
          MPI_BYTE, job.win);
  MPI_Win_flush(target, job.win);
}

/* The data is there when the request is complete. */
static void do_rget(int round, int target) {
  MPI_Request request;

  memset(job.result, 0xee, job.length);
  MPI_Rget(job.result, (int)job.length, MPI_BYTE, target, shared_at(), (int)job.length, MPI_BYTE,
           job.win, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  check_bytes(job.result, job.length, shared_key(target), "rget, waited for", round, target);
  MPI_Win_flush(target, job.win);
}

/* Requests under way together, between gets without one: the last is waited for first. */
static void do_rgets(int round, int target) {
  MPI_Request requests[kReads];

  memset(job.reads, 0xee, (size_t)kReads * kReadBytes);
  for (int i = 0; i < kReads; ++i) {
    uint8_t* into = job.reads + (size_t)i * kReadBytes;
    requests[i] = MPI_REQUEST_NULL;
    if (i % 2 == 0) {
      MPI_Rget(into, kReadBytes, MPI_BYTE, target, shared_at(), kReadBytes, MPI_BYTE, job.win,
               &requests[i]);
    } else {
      MPI_Get(into, kReadBytes, MPI_BYTE, target, shared_at(), kReadBytes, MPI_BYTE, job.win);
    }
  }
  for (int i = kReads - 2; i >= 0; i -= 2) {
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    check_bytes(job.reads + (size_t)i * kReadBytes, kReadBytes, shared_key(target),
                "one of several rgets, waited for", round, target);
  }
  MPI_Win_flush(target, job.win);
  check_reads(target, round);
}

/* Each brings what the one before put there. */
static void do_swap(int round, int target) {
  enum { kSwaps = 8 };
  uint64_t old[kSwaps], mine[kSwaps];

  MPI_Win_flush(target, job.win);
  start_reads(target);
  for (int i = 0; i < kSwaps; ++i) {
    mine[i] = (uint64_t)round * kSwaps + (uint64_t)i + 1;
    old[i] = ~(uint64_t)0;
    MPI_Get_accumulate(&mine[i], 1, MPI_UINT64_T, &old[i], 1, MPI_UINT64_T, target,
                       word_at(job.rank), 1, MPI_UINT64_T, MPI_REPLACE, job.win);
  }
  MPI_Win_flush(target, job.win);
  for (int i = 0; i < kSwaps; ++i) {
    judge(old[i] == mine[i] - 1, "swap of one word", round, target, 0);
  }
  check_reads(target, round);
}

static const struct {
  const char* name;
  void (*run)(int round, int target);
} kOperations[] = {{"replace", do_replace},
                   {"rreplace", do_rreplace},
                   {"rget", do_rget},
                   {"rgets", do_rgets},
                   {"swap", do_swap}};

static int wanted(const char* name) {
  size_t length = strlen(name);

  for (const char* at = job.only; at != NULL; at = strchr(at, ',')) {
    at += *at == ',';
    if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0')) { return 1; }
  }
  return job.only == NULL;
}

/* On one target, from a fresh window. */
static void run(size_t operation, int target) {
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock(MPI_LOCK_EXCLUSIVE, job.rank, 0, job.win);
  fill_slots();
  MPI_Win_unlock(job.rank, job.win);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, job.win);
  for (int round = 0; round < job.rounds; ++round) {
    watch_at("%s on rank %d, round %d", kOperations[operation].name, target, round);
    kOperations[operation].run(round, target);
  }
  MPI_Win_unlock_all(job.win);
}

static unsigned read_options(int argc, char** argv) {
  unsigned seconds = 60;
  int option;

  while ((option = getopt(argc, argv, "n:m:o:t:")) != -1) {
    unsigned long value = optarg == NULL ? 0 : strtoul(optarg, NULL, 0);
    switch (option) {
      case 'n': job.rounds = (int)value; break;
      case 'm':
        job.length = value < kReadBytes ? (kReadBytes + 7) / 8 * 8 : (value + 7) / 8 * 8;
        break;
      case 'o': job.only = optarg; break;
      case 't': seconds = (unsigned)value; break;
      default:
        fprintf(stderr, "usage: order [-n rounds] [-m max-bytes] [-o operations] [-t seconds]\n");
        exit(2);
    }
  }
  return seconds;
}

static void make_buffers(void) {
  job.result = malloc(job.length);
  job.source = malloc(job.length);
  job.reads = malloc((size_t)kReads * kReadBytes);
  if (job.size > kMaxRanks || job.result == NULL || job.source == NULL || job.reads == NULL) {
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Win_allocate((MPI_Aint)(job.length * ((size_t)job.size + 1) + 8 * (size_t)job.size), 1,
                   MPI_INFO_NULL, MPI_COMM_WORLD, &job.base, &job.win);
}

int main(int argc, char** argv) {
  unsigned seconds = read_options(argc, argv);
  uint64_t own[2], all[2];

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.size);
  watch_start(job.rank, seconds);
  watch_at("making the window");
  make_buffers();
  for (size_t i = 0; i < sizeof(kOperations) / sizeof(kOperations[0]); ++i) {
    if (wanted(kOperations[i].name)) {
      run(i, job.rank);
      run(i, 0);
    }
  }
  own[0] = job.checks;
  own[1] = job.wrong;
  watch_at("summing up");
  MPI_Allreduce(own, all, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  if (job.rank == 0) {
    printf("order checks %llu wrong %llu\n", (unsigned long long)all[0],
           (unsigned long long)all[1]);
  }
  watch_at("freeing the window, MPI_Finalize");
  MPI_Win_free(&job.win);
  MPI_Finalize();
  watch_stop();
  free(job.result);
  free(job.source);
  free(job.reads);
  return all[1] == 0 ? 0 : 1;
}
