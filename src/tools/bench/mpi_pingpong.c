/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Usage: mpi_pingpong SECONDS TEST SIZE..., on an even number of ranks; TEST is latency, rate, put
 * or get: each rank of the first half works with one of the second, all pairs at the same time; or
 * allreduce (sum of integers) or alltoall (SIZE bytes to each rank) of all ranks, one after the
 * other. Rank 0 prints for each size "SIZE FIGURE P999": ns (half a round trip, an MPI_Put or
 * MPI_Get with its flush, or a collective; the mean of the pairs' or ranks' medians, the largest of
 * their 99.9th percentiles), or messages per second of all pairs and 0; "SIZE 0 0" where the ranks
 * of a host would fill half of its memory. Part of ucx-verity, which compiles it.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kMostWindow = 32, kMostSamples = 200000, kLarge = 1 << 20 };
enum test { kLatency, kRate, kPut, kGet, kAllreduce, kAlltoall };

static enum test test;
static int leads; /* one of the first half, or any rank of a collective */
static int peer;
static int leaders;
static int rank, ranks;
static int ranks_here; /* on this host */
static char* out_buffer;
static char* in_buffer;
static MPI_Win window;
static double samples[kMostSamples];

static int one_sided(void) { return test == kPut || test == kGet; }
static int collective(void) { return test == kAllreduce || test == kAlltoall; }
/* A collective's integers. */
static int integers(int size) { return (size + (int)sizeof(int) - 1) / (int)sizeof(int); }
/* Of a buffer of each rank. */
static double bytes(int size) {
  return test == kAlltoall ? (double)size * ranks : (double)size + sizeof(int);
}

/* One round trip of a pair, what its leader does alone, or a collective. */
static void operate(int size) {
  if (test == kAllreduce)
    MPI_Allreduce(out_buffer, in_buffer, integers(size), MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (test == kAlltoall)
    MPI_Alltoall(out_buffer, size, MPI_CHAR, in_buffer, size, MPI_CHAR, MPI_COMM_WORLD);
  if (collective()) return;
  if (test == kPut) MPI_Put(out_buffer, size, MPI_CHAR, peer, 0, size, MPI_CHAR, window);
  if (test == kGet) MPI_Get(out_buffer, size, MPI_CHAR, peer, 0, size, MPI_CHAR, window);
  if (one_sided()) {
    MPI_Win_flush(peer, window);
    return;
  }
  if (leads) MPI_Send(out_buffer, size, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
  MPI_Recv(in_buffer, size, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (!leads) MPI_Send(out_buffer, size, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
}

static void token(int sends) {
  char text = 0;
  if (sends) {
    MPI_Send(&text, 1, MPI_CHAR, peer, 2, MPI_COMM_WORLD);
  } else {
    MPI_Recv(&text, 1, MPI_CHAR, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
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
  token(!leads);
}

/* Fills `samples` with ns, unless the test is of rates. */
static void repeat(int size, int count) {
  double last = MPI_Wtime(), now;
  int i;
  if (test == kRate) windows(size, count);
  for (i = 0; test != kRate && (leads || !one_sided()) && i < count; ++i) {
    operate(size);
    now = MPI_Wtime();
    samples[i] = (now - last) / (one_sided() || collective() ? 1 : 2) * 1e9;
    last = now;
  }
  /* The target of one-sided operations waits in a receive. */
  if (one_sided()) token(leads);
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

static void measure(int size, double seconds) {
  double mine[2] = {0, 0}, figure = 0, tail = 0, start;
  int count = calibrate(size, seconds);
  if (test == kRate) count -= count % window_length(size);
  MPI_Barrier(MPI_COMM_WORLD);
  start = MPI_Wtime();
  repeat(size, count);
  if (leads && test == kRate) {
    mine[0] = count / (MPI_Wtime() - start);
  } else if (leads) {
    qsort(samples, (size_t)count, sizeof(samples[0]), ascending);
    mine[0] = samples[count / 2] / leaders;
    mine[1] = samples[(int)(count * 0.999)];
  }
  MPI_Reduce(&mine[0], &figure, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(&mine[1], &tail, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d %.1f %.1f\n", size, figure, tail);
}

/* Whether every host has the memory for its ranks' buffers. */
static int fits(int size) {
  const double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  int mine = 2.0 * bytes(size) * ranks_here < memory / 2, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (!all && rank == 0) printf("%d 0 0\n", size);
  return all;
}

static void run(int size, double seconds) {
  if (!fits(size)) return;
  out_buffer = malloc((size_t)bytes(size) + 1);
  in_buffer = malloc((size_t)bytes(size) + 1);
  if (out_buffer == NULL || in_buffer == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  memset(out_buffer, 'v', (size_t)bytes(size) + 1); /* pages of its own, not the one of zeros */
  memset(in_buffer, 'v', (size_t)bytes(size) + 1);
  if (one_sided()) {
    MPI_Win_create(in_buffer, size, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_lock_all(0, window);
  }
  measure(size, seconds);
  if (one_sided()) {
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
  }
  free(out_buffer);
  free(in_buffer);
}

int main(int argc, char** argv) {
  static const char* const names[] = {"latency", "rate", "put", "get", "allreduce", "alltoall"};
  MPI_Comm host;
  int i, known = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (i = 0; argc > 3 && i < 6; ++i) {
    if (strcmp(argv[2], names[i]) != 0) continue;
    test = (enum test)i;
    known = 1;
  }
  if (!known || ranks % 2 != 0) {
    fprintf(stderr, "usage: even ranks of mpi_pingpong SECONDS TEST SIZE...\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &ranks_here);
  MPI_Comm_free(&host);
  peer = rank < ranks / 2 ? rank + ranks / 2 : rank - ranks / 2;
  leads = collective() || rank < ranks / 2;
  leaders = collective() ? ranks : ranks / 2;
  for (i = 3; i < argc; ++i) run(atoi(argv[i]), atof(argv[1]));
  MPI_Finalize();
  return 0;
}
