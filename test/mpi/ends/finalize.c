/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that end in a chosen order, with messages of the last moment on their way: each must arrive
 * whole, and no rank may hang.
 *
 *   mpirun -np 4 finalize [-o ORDER] [-d MILLISECONDS] [-n MESSAGES] [-m BYTES] [-r] [-s SEED]
 *                      [-t SECONDS]
 *
 *   -o  forward, reverse, even (even ranks first), or shuffle (by seed)
 *   -d  delay between two ranks' calls of MPI_Finalize (default 100)
 *   -n  messages from each rank to each just before (default 20); -m the longest (default 8000)
 *   -r  receives are posted before the sends: needed for messages beyond the eager limit
 *
 * A rank's sends are complete, as MPI counts it, before it calls MPI_Finalize. Receives come late:
 * a rank that ends late first sleeps, then takes what was sent by ranks already in MPI_Finalize.
 * Last line of rank 0: finalize ORDER messages N wrong N. Exit status: 0, 1 wrong, 2 usage, 3 hang.
 */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

#include "content.h"
#include "watch.h"

enum { kMaxRanks = 16, kMaxMessages = 256 };

static struct {
  int rank, size;
  const char* order;
  long delay_ms;
  int messages;
  size_t length;
  uint64_t seed;
  unsigned seconds;
  int early;
} job = {0, 0, "forward", 100, 20, 8000, 1, 60, 0};

static void sleep_ms(long ms) {
  struct timespec time = {ms / 1000, ms % 1000 * 1000000};
  nanosleep(&time, NULL);
}

/* The place of this rank in the order, 0 first. */
static int place(void) {
  int order[kMaxRanks];
  content_rng rng = {job.seed};

  if (strcmp(job.order, "reverse") == 0) { return job.size - 1 - job.rank; }
  if (strcmp(job.order, "even") == 0) {
    return job.rank / 2 + (job.rank % 2 ? (job.size + 1) / 2 : 0);
  }
  if (strcmp(job.order, "shuffle") != 0) { return job.rank; }
  for (int i = 0; i < job.size; ++i) {
    int j = (int)content_below(&rng, (uint64_t)i + 1);
    order[i] = order[j];
    order[j] = i;
  }
  return order[job.rank];
}

static size_t message_length(int source, int target, int index) {
  uint64_t key = content_key(job.seed + 9, source, target, (uint64_t)index);
  return index == 0 ? job.length : (size_t)(key % (job.length + 1));
}

/* Starts all sends and waits for them: with eager messages that is before any rank receives. */
static void send_all(void) {
  MPI_Request requests[kMaxMessages];
  uint8_t* memory = malloc((job.length + 1) * (size_t)job.messages);

  for (int step = 1; step < job.size; ++step) {
    int target = (job.rank + step) % job.size;
    watch_at("sending to %d", target);
    for (int i = 0; i < job.messages; ++i) {
      size_t length = message_length(job.rank, target, i);
      uint8_t* buffer = memory + (job.length + 1) * (size_t)i;
      content_fill(buffer, length, content_key(job.seed, job.rank, target, (uint64_t)i));
      MPI_Isend(buffer, (int)length, MPI_BYTE, target, i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(job.messages, requests, MPI_STATUSES_IGNORE);
  }
  free(memory);
}

/* The receives of a rank: one after the other in memory. */
typedef struct {
  uint8_t* memory;
  MPI_Request* requests;
  int count;
} inbox;

static void post_receives(inbox* in) {
  in->count = job.messages * (job.size - 1);
  in->memory = calloc((size_t)in->count + 1, job.length + 1);
  in->requests = malloc(sizeof(*in->requests) * (size_t)(in->count + 1));
  for (int i = 0; i < in->count; ++i) {
    int source = (job.rank + 1 + i / job.messages) % job.size;
    MPI_Irecv(in->memory + (job.length + 1) * (size_t)i, (int)job.length, MPI_BYTE, source,
              i % job.messages, MPI_COMM_WORLD, &in->requests[i]);
  }
}

/* Returns the number of wrong messages. */
static int finish_receives(inbox* in) {
  int wrong = 0;

  for (int i = 0; i < in->count; ++i) {
    int source = (job.rank + 1 + i / job.messages) % job.size, index = i % job.messages, count;
    size_t length = message_length(source, job.rank, index), first;
    MPI_Status status;

    watch_at("receiving message %d from %d", index, source);
    MPI_Wait(&in->requests[i], &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    if ((size_t)count != length ||
        content_check(in->memory + (job.length + 1) * (size_t)i, length,
                      content_key(job.seed, source, job.rank, (uint64_t)index), &first) != 0) {
      fprintf(stderr, "rank %d: WRONG last message %d from %d\n", job.rank, index, source);
      ++wrong;
    }
  }
  free(in->memory);
  free(in->requests);
  return wrong;
}

static void read_options(int argc, char** argv) {
  int option;

  while ((option = getopt(argc, argv, "o:d:n:m:rs:t:")) != -1) {
    unsigned long value = optarg == NULL ? 0 : strtoul(optarg, NULL, 0);
    switch (option) {
      case 'o': job.order = optarg; break;
      case 'd': job.delay_ms = (long)value; break;
      case 'n': job.messages = value < kMaxMessages ? (int)value : kMaxMessages; break;
      case 'm': job.length = value; break;
      case 'r': job.early = 1; break;
      case 's': job.seed = value; break;
      case 't': job.seconds = (unsigned)value; break;
      default:
        fprintf(stderr,
                "usage: finalize [-o forward|reverse|even|shuffle] [-d ms] [-n messages] "
                "[-m bytes] [-r] [-s seed] [-t seconds]\n");
        exit(2);
    }
  }
}

int main(int argc, char** argv) {
  inbox in;
  int wrong;

  read_options(argc, argv);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &job.size);
  if (job.size > kMaxRanks) { MPI_Abort(MPI_COMM_WORLD, 2); }
  watch_start(job.rank, job.seconds);
  watch_at("barrier");
  MPI_Barrier(MPI_COMM_WORLD);
  if (job.early) { post_receives(&in); }
  send_all();
  watch_at("sleeping before the end");
  sleep_ms(job.delay_ms * place());
  if (!job.early) { post_receives(&in); }
  wrong = finish_receives(&in);
  watch_at("MPI_Finalize, place %d", place());
  MPI_Finalize();
  watch_stop();
  if (wrong == 0 && job.rank == 0) {
    printf("finalize %s messages %d wrong 0\n", job.order, job.messages * (job.size - 1));
  }
  return wrong == 0 ? 0 : 1;
}
