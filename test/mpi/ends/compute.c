/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A peer that computes: rank 1 calls nothing of MPI for some seconds while rank 0 sends it eager
 * messages. Each send must end soon whatever rank 1 does, and everything must arrive whole.
 *
 *   mpirun -np 2 compute [-k SECONDS] [-n MESSAGES] [-m BYTES,BYTES,...] [-l MILLISECONDS]
 *
 *   -k  how long rank 1 computes (default 5);  -n  messages of each size (default 3)
 *   -m  sizes (default 8,1024,8000);  -l  the longest a send may take, 0 any (default 0)
 *
 * Prints per size 'size B send_ms SHORTEST LONGEST', then 'compute K messages N wrong N slow N'.
 * Exit status: 0, 1 wrong or slow, 3 hang.
 */
#include <mpi.h>
#include <stdlib.h>

#include "content.h"
#include "watch.h"

enum { kMaxSizes = 16, kMaxBytes = 1 << 22 };

static struct {
  int rank;
  double seconds;
  int messages;
  const char* sizes;
  double limit_ms;
} job = {0, 5, 3, "8,1024,8000", 0};

static int parse_sizes(size_t* sizes) {
  int count = 0;
  char* rest;

  for (const char* text = job.sizes; *text != '\0' && count < kMaxSizes; text = rest) {
    sizes[count] = strtoul(text, &rest, 0);
    if (rest == text || sizes[count] > kMaxBytes) {
      fprintf(stderr, "compute: bad sizes '%s'\n", job.sizes);
      exit(2);
    }
    ++count;
    rest += *rest == ',';
  }
  return count;
}

/* Sums without touching MPI until the time is over. */
static void compute(void) {
  double begin = MPI_Wtime();
  volatile uint64_t sum = 0;

  alarm((unsigned)job.seconds + 60);
  while (MPI_Wtime() - begin < job.seconds) {
    for (uint64_t i = 0; i < 100000; ++i) { sum = sum + content_mix(i); }
  }
}

/* Returns the number of sends that took longer than the limit. */
static int send_all(const size_t* sizes, int count) {
  uint8_t* buffer = malloc(kMaxBytes + 8);
  int slow = 0;

  for (int i = 0; i < count; ++i) {
    double longest = 0, shortest = 1e9;
    for (int j = 0; j < job.messages; ++j) {
      double begin, ms;
      MPI_Request request; /* Open MPI's MPI_Send copies what MPI_Isend sends from the buffer */
      watch_at("sending %zu bytes", sizes[i]);
      content_fill(buffer, sizes[i], content_key(1, 0, 1, (uint64_t)(i * 1000 + j)));
      begin = MPI_Wtime();
      MPI_Isend(buffer, (int)sizes[i], MPI_BYTE, 1, i, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      ms = (MPI_Wtime() - begin) * 1e3;
      memset(buffer, 0xee, sizes[i]); /* ours again: a late read of it would be seen */
      longest = ms > longest ? ms : longest;
      shortest = ms < shortest ? ms : shortest;
      slow += job.limit_ms > 0 && ms > job.limit_ms;
    }
    printf("size %zu send_ms %.3f %.3f\n", sizes[i], shortest, longest);
  }
  free(buffer);
  return slow;
}

static int receive_all(const size_t* sizes, int count) {
  uint8_t* buffer = malloc(kMaxBytes + 8);
  int wrong = 0;
  size_t first;

  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < job.messages; ++j) {
      watch_at("receiving %zu bytes", sizes[i]);
      MPI_Recv(buffer, kMaxBytes, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (content_check(buffer, sizes[i], content_key(1, 0, 1, (uint64_t)(i * 1000 + j)), &first) !=
          0) {
        fprintf(stderr, "WRONG message of %zu bytes, first at %zu\n", sizes[i], first);
        ++wrong;
      }
    }
  }
  free(buffer);
  return wrong;
}

static void read_options(int argc, char** argv) {
  int option;

  while ((option = getopt(argc, argv, "k:n:m:l:")) != -1) {
    switch (option) {
      case 'k': job.seconds = strtod(optarg, NULL); break;
      case 'n': job.messages = (int)strtol(optarg, NULL, 0); break;
      case 'm': job.sizes = optarg; break;
      case 'l': job.limit_ms = strtod(optarg, NULL); break;
      default:
        fprintf(stderr, "usage: compute [-k seconds] [-n messages] [-m sizes] [-l ms]\n");
        exit(2);
    }
  }
}

int main(int argc, char** argv) {
  size_t sizes[kMaxSizes];
  int count, size, own[2] = {0, 0}, all[2]; /* wrong, slow */

  read_options(argc, argv);
  count = parse_sizes(sizes);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  watch_start(job.rank, (unsigned)job.seconds + 60);
  /* Connections are made before the clock runs. */
  MPI_Barrier(MPI_COMM_WORLD);
  if (job.rank == 0) {
    own[1] = send_all(sizes, count);
  } else if (job.rank == 1) {
    compute();
    own[0] = receive_all(sizes, count);
  }
  watch_at("summing up");
  MPI_Allreduce(own, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (job.rank == 0) {
    printf("compute %g messages %d wrong %d slow %d\n", job.seconds, count * job.messages, all[0],
           all[1]);
  }
  watch_at("MPI_Finalize");
  MPI_Finalize();
  watch_stop();
  return all[0] + all[1] == 0 ? 0 : 1;
}
