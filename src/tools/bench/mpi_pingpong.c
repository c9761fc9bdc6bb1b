/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two ranks. Usage: mpi_pingpong SECONDS latency|rate SIZE...
 * Rank 0 prints, for each size: "SIZE FIGURE P999", latency in ns (half a round trip, median and
 * 99.9th percentile) or messages per second and 0. Part of ucx-verity, which compiles it.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWindow = 32, kMostSamples = 200000 };

static int rank, peer;
static char* out_buffer;
static char* in_buffer;
static double samples[kMostSamples];

static void ping_pong(int size) {
  if (rank == 0) {
    MPI_Send(out_buffer, size, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
    MPI_Recv(in_buffer, size, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Recv(in_buffer, size, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(out_buffer, size, MPI_CHAR, peer, 0, MPI_COMM_WORLD);
  }
}

static void windows(int size, int count) {
  MPI_Request requests[kWindow];
  char word = 0;
  int done, i;
  for (done = 0; done < count; done += kWindow) {
    for (i = 0; i < kWindow; ++i) {
      if (rank == 0) {
        MPI_Isend(out_buffer, size, MPI_CHAR, peer, 1, MPI_COMM_WORLD, &requests[i]);
      } else {
        MPI_Irecv(in_buffer, size, MPI_CHAR, peer, 1, MPI_COMM_WORLD, &requests[i]);
      }
    }
    MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
  }
  if (rank == 0) {
    MPI_Recv(&word, 1, MPI_CHAR, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(&word, 1, MPI_CHAR, peer, 2, MPI_COMM_WORLD);
  }
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Seconds of one message, agreed by both ranks. */
static double calibrate(int size, int latency) {
  double start, took;
  int i;
  for (i = 0; i < 20; ++i) ping_pong(size);
  windows(size, kWindow);
  start = MPI_Wtime();
  if (latency) {
    for (i = 0; i < 20; ++i) ping_pong(size);
    took = (MPI_Wtime() - start) / 20;
  } else {
    windows(size, 4 * kWindow);
    took = (MPI_Wtime() - start) / (4 * kWindow);
  }
  MPI_Bcast(&took, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  return took;
}

static void measure_latency(int size, int count) {
  double last = MPI_Wtime(), now;
  int i;
  for (i = 0; i < count; ++i) {
    ping_pong(size);
    now = MPI_Wtime();
    samples[i] = (now - last) / 2 * 1e9;
    last = now;
  }
  if (rank == 0) {
    qsort(samples, (size_t)count, sizeof(samples[0]), ascending);
    printf("%d %.1f %.1f\n", size, samples[count / 2], samples[(int)(count * 0.999)]);
  }
}

static void measure_rate(int size, int count) {
  const double start = MPI_Wtime();
  windows(size, count);
  if (rank == 0) printf("%d %.1f 0\n", size, count / (MPI_Wtime() - start));
}

int main(int argc, char** argv) {
  int i, ranks, latency;
  double seconds;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 4 || ranks != 2) {
    fprintf(stderr, "usage: two ranks of mpi_pingpong SECONDS latency|rate SIZE...\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  peer = 1 - rank;
  seconds = atof(argv[1]);
  latency = strcmp(argv[2], "latency") == 0;
  for (i = 3; i < argc; ++i) {
    const int size = atoi(argv[i]);
    double count;
    out_buffer = calloc((size_t)size + 1, 1);
    in_buffer = calloc((size_t)size + 1, 1);
    count = seconds / calibrate(size, latency);
    if (count < 2 * kWindow) count = 2 * kWindow;
    if (count > kMostSamples) count = kMostSamples;
    if (latency) {
      measure_latency(size, (int)count);
    } else {
      measure_rate(size, (int)count / kWindow * kWindow);
    }
    free(out_buffer);
    free(in_buffer);
  }
  MPI_Finalize();
  return 0;
}
