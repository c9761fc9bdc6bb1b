/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffered sends, which never call for progress: what a round's messages took of the buffer must be
 * free again after the barrier that ends it, as the receiver has them all by then.
 *
 *   mpirun -np 2 bsend [-m BYTES] [-n MESSAGES] [-r ROUNDS] [-b MESSAGES] [-d MS] [-t SECONDS] [-i]
 *
 *   -m  length of the messages (default 16 KiB);  -n  messages in a round (default 8)
 *   -r  rounds (default 20);  -d  how late the receiver is (default 0);  -i  with MPI_Ibsend
 *   -b  messages that the buffer holds (default: those of a round). Fewer: a transport has to take
 *       the messages of a round at once
 *
 * Last line of rank 1: bsend messages N failed N wrong N. Exit status: 0, 1 wrong, 2 usage, 3 hang.
 */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

#include "content.h"
#include "watch.h"

enum { kTag = 4 };

static struct {
  int rank, holds, length, messages, rounds, immediate;
  long delay_ms;
  unsigned seconds;
} job = {0, 0, 16 << 10, 8, 20, 0, 0, 60};

static void parse(int argc, char** argv) {
  int option;
  while ((option = getopt(argc, argv, "b:m:n:r:d:t:i")) != -1) {
    switch (option) {
      case 'b': job.holds = atoi(optarg); break;
      case 'm': job.length = atoi(optarg); break;
      case 'n': job.messages = atoi(optarg); break;
      case 'r': job.rounds = atoi(optarg); break;
      case 'd': job.delay_ms = atol(optarg); break;
      case 't': job.seconds = (unsigned)atoi(optarg); break;
      case 'i': job.immediate = 1; break;
      default: MPI_Abort(MPI_COMM_WORLD, 2);
    }
  }
}

/* How many of the round's messages were refused. */
static long send_round(uint8_t* bytes, int round) {
  long failed = 0;
  MPI_Request request;
  for (int i = 0; i < job.messages; ++i) {
    content_fill(bytes, (size_t)job.length,
                 content_key(1, 0, 1, (uint64_t)(round * job.messages + i)));
    if (!job.immediate) {
      failed += MPI_Bsend(bytes, job.length, MPI_BYTE, 1, kTag, MPI_COMM_WORLD) != MPI_SUCCESS;
    } else if (MPI_Ibsend(bytes, job.length, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, &request) !=
               MPI_SUCCESS) {
      ++failed;
    } else {
      MPI_Request_free(&request); /* nothing here calls for progress */
    }
    memset(bytes, 0xee, (size_t)job.length);
  }
  return failed;
}

static long receive_round(uint8_t* bytes, int round, long failed) {
  const struct timespec time = {job.delay_ms / 1000, job.delay_ms % 1000 * 1000000};
  long wrong = 0;
  size_t first;
  if (failed < 0) {
    nanosleep(&time, NULL);
    return 0;
  }
  for (int i = 0; i < job.messages - failed; ++i) {
    MPI_Recv(bytes, job.length, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    /* After a refusal the numbers do not show which message this is. */
    wrong += failed == 0 &&
             content_check(bytes, (size_t)job.length,
                           content_key(1, 0, 1, (uint64_t)(round * job.messages + i)), &first) != 0;
  }
  return wrong;
}

int main(int argc, char** argv) {
  long failed = 0, wrong = 0, total = 0;
  uint8_t *bytes, *buffer;
  int size, room;
  MPI_Init(&argc, &argv);
  parse(argc, argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (job.holds == 0) job.holds = job.messages;
  room = job.holds * (job.length + MPI_BSEND_OVERHEAD + 64);
  bytes = malloc((size_t)job.length);
  buffer = malloc((size_t)room);
  if (bytes == NULL || buffer == NULL || size != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  watch_start(job.rank, job.seconds);
  MPI_Buffer_attach(buffer, room);
  for (int round = 0; round < job.rounds; ++round) {
    watch_at("round %d", round);
    MPI_Barrier(MPI_COMM_WORLD);
    if (job.rank == 0) {
      failed = send_round(bytes, round);
      MPI_Send(&failed, 1, MPI_LONG, 1, kTag + 1, MPI_COMM_WORLD);
    } else {
      (void)receive_round(bytes, round, -1);
      MPI_Recv(&failed, 1, MPI_LONG, 0, kTag + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      wrong += receive_round(bytes, round, failed);
      total += failed;
    }
  }
  MPI_Buffer_detach(&buffer, &size);
  if (job.rank == 1)
    printf("bsend messages %d failed %ld wrong %ld\n", job.messages * job.rounds, total, wrong);
  watch_stop();
  MPI_Finalize();
  free(bytes);
  free(buffer);
  return wrong != 0;
}
