/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Usage: mpi_pingpong SECONDS latency|rate|put|get SIZE..., on an even number of ranks. Each of the
 * first half works with one of the second, all pairs at the same time. Rank 0 prints for each size
 * "SIZE FIGURE P999": ns (half a round trip, or an MPI_Put or MPI_Get with its flush; the mean of
 * the pairs' medians, the largest of their 99.9th percentiles), or messages per second of all pairs
 * and 0; "SIZE 0 0" where the ranks of a host would fill half of its memory. Part of ucx-verity,
 * which compiles it.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMostWindow = 32, kMostSamples = 200000, kLarge = 1 << 20 };
enum test { kLatency, kRate, kPut, kGet };

static enum test test;
static int leads; /* one of the first half */
static int peer;
static int pairs;
static int ranks_here; /* on this host */
static char* out_buffer;
static char* in_buffer;
static MPI_Win window;
static double samples[kMostSamples];

static void ping_pong(int size) {
  if (leads) {
    MPI_Send(out_buffer, size, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
    MPI_Recv(in_buffer, size, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(in_buffer, size, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(out_buffer, size, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
  }
}

/* The follower of a pair that makes one-sided operations waits for the leader's token. */
static void token(int from_leader) {
  char text = 0;
  if (leads == from_leader) {
    MPI_Send(&text, 1, MPI_CHAR, peer, 2, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&text, 1, MPI_CHAR, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static void one_sided(int size) {
  if (test == kPut) {
    MPI_Put(out_buffer, size, MPI_CHAR, peer, 0, size, MPI_CHAR, window);
  } else {
    MPI_Get(out_buffer, size, MPI_CHAR, peer, 0, size, MPI_CHAR, window);
  }
  MPI_Win_flush(peer, window);
}

/* Messages under way at a time: 64 MB at most, where that is more than one. */
static int window_length(int size) {
  int length = kMostWindow;
  while (length > 2 && (double)length * size > 64e6) length /= 2;
  return length;
}

static void windows(int size, int count) {
  MPI_Request requests[kMostWindow];
  const int length = window_length(size);
  int done, i;
  for (done = 0; done < count; done += length) {
    for (i = 0; i < length; ++i) {
      if (leads) {
        MPI_Isend(out_buffer, size, MPI_CHAR, peer, 1, MPI_COMM_WORLD, &requests[i]);
      } else {
        MPI_Irecv(in_buffer, size, MPI_CHAR, peer, 1, MPI_COMM_WORLD, &requests[i]);
      }
    }
    MPI_Waitall(length, requests, MPI_STATUSES_IGNORE);
  }
  token(0);
}

static void repeat(int size, int count) {
  int i;
  if (test == kRate) {
    windows(size, count);
  } else if (test == kLatency) {
    for (i = 0; i < count; ++i) ping_pong(size);
  } else {
    for (i = 0; leads && i < count; ++i) one_sided(size);
    token(1);
  }
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* How many to measure: for SECONDS at the pace of rank 0's pair, and a few at least. */
static int calibrate(int size, double seconds) {
  const int first = size > kLarge ? 2 : 20;
  const int count = test == kRate ? 2 * window_length(size) : first;
  const int least = test == kRate ? window_length(size) : size > kLarge ? 4 : 64;
  double start, wanted;
  repeat(size, count);
  start = MPI_Wtime();
  repeat(size, count);
  wanted = seconds / ((MPI_Wtime() - start) / count + 1e-9);
  MPI_Bcast(&wanted, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  if (wanted < least) return least;
  return wanted > kMostSamples ? kMostSamples : (int)wanted;
}

static double rate(int size, int count) {
  const double start = MPI_Wtime();
  windows(size, count);
  return count / (MPI_Wtime() - start);
}

/* The median; the samples are sorted afterwards. */
static double times(int size, int count) {
  double last = MPI_Wtime(), now;
  int i;
  if (!leads && test != kLatency) {
    token(1);
    return 0;
  }
  for (i = 0; i < count; ++i) {
    if (test == kLatency) {
      ping_pong(size);
    } else {
      one_sided(size);
    }
    now = MPI_Wtime();
    samples[i] = (now - last) / (test == kLatency ? 2 : 1) * 1e9;
    last = now;
  }
  if (test != kLatency) token(1);
  qsort(samples, (size_t)count, sizeof(samples[0]), ascending);
  return samples[count / 2];
}

static void measure(int size, double seconds) {
  const int count = calibrate(size, seconds);
  const int length = window_length(size);
  double mine[2] = {0, 0}, figure = 0, tail = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (test == kRate) {
    mine[0] = rate(size, count / length * length);
  } else {
    mine[0] = times(size, count) / pairs;
    mine[1] = samples[(int)(count * 0.999)];
  }
  if (!leads) mine[0] = mine[1] = 0;
  MPI_Reduce(&mine[0], &figure, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mine[1], &tail, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (leads && peer == pairs) printf("%d %.1f %.1f\n", size, figure, tail);
}

/* Whether every host has the memory for its ranks' buffers. */
static int fits(int size) {
  const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  int mine = 2.0 * size * ranks_here < memory / 2, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!all && leads && peer == pairs) printf("%d 0 0\n", size);
  return all;
}

static void run(int size, double seconds) {
  const int one_sided_test = test == kPut || test == kGet;
  if (!fits(size)) return;
  out_buffer = malloc((size_t)size + 1);
  in_buffer = malloc((size_t)size + 1);
  if (out_buffer == NULL || in_buffer == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  memset(out_buffer, 'v', (size_t)size + 1); /* pages of its own, not the one of zeros */
  memset(in_buffer, 'v', (size_t)size + 1);
  if (one_sided_test) {
    MPI_Win_create(in_buffer, size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_lock_all(0, window);
  }
  measure(size, seconds);
  if (one_sided_test) {
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
  }
  free(out_buffer);
  free(in_buffer);
}

int main(int argc, char** argv) {
  static const char* const names[] = {"latency", "rate", "put", "get"};
  MPI_Comm host;
  int i, rank, ranks, known = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (i = 0; argc > 3 && i < 4; ++i) {
    if (strcmp(argv[2], names[i]) != 0) continue;
    test = (enum test)i;
    known = 1;
  }
  if (!known || ranks % 2 != 0) {
    fprintf(stderr, "usage: even ranks of mpi_pingpong SECONDS latency|rate|put|get SIZE...\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &ranks_here);
  MPI_Comm_free(&host);
  pairs = ranks / 2;
  leads = rank < pairs;
  peer = leads ? rank + pairs : rank - pairs;
  for (i = 3; i < argc; ++i) run(atoi(argv[i]), atof(argv[1]));
  MPI_Finalize();
  return 0;
}
