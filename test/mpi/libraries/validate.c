/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Buffers that differ between ranks, and verity_validate_*() over them.
 *
 * Usage: validate MODE [MIB [DAMAGED]]
 *
 *   p2p, bcast, allgather  a buffer of MIB MiB (allgather: of each rank), of which DAMAGED segments
 *                          are damaged at each receiver
 *   types                  datatypes with and without gaps, different ones at the two sides
 *   ring                   several at once in both directions with one tag
 *   errors                 wrong arguments, unlike lengths, foreign messages
 *   time                   p2p against sending the buffer and comparing, in turns: medians of
 *                          9 pairs
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucx-verity/validate.h>

#include "validate_types.h"

enum { kSegment = 8192 };

int rank;
static int ranks;
static int wrong;

void expect(int is_right, const char* what) {
  if (is_right) return;
  ++wrong;
  printf("rank %d: WRONG: %s\n", rank, what);
}

unsigned char right_byte(size_t i, int owner) {
  const uint64_t x = (i / 8 + (uint64_t)owner * 1000003u + 1) * 0x9e3779b97f4a7c15u;
  return (unsigned char)(x >> (8 * (i % 8)));
}
static void fill(unsigned char* bytes, size_t size, int owner) {
  for (size_t i = 0; i < size; ++i) bytes[i] = right_byte(i, owner);
}
static size_t count_wrong(const unsigned char* bytes, size_t size, int owner) {
  size_t count = 0;
  for (size_t i = 0; i < size; ++i) count += bytes[i] != right_byte(i, owner);
  return count;
}
/* Spread evenly; the bit depends on who holds it. */
static void damage(unsigned char* bytes, size_t size, size_t segments) {
  const size_t all = (size + kSegment - 1) / kSegment;
  for (size_t n = 0; n < segments; ++n) {
    const size_t at = n * all / segments * kSegment + n * 131 % 100;
    bytes[at] ^= (unsigned char)(1 << rank % 8);
  }
}

static void say(const char* what, const struct verity_validation* v, size_t still_wrong) {
  printf("%s rank %d: %llu bytes, %llu damaged, %u rounds, %llu sent again, %zu wrong\n", what,
         rank, (unsigned long long)v->bytes, (unsigned long long)v->damaged, v->rounds,
         (unsigned long long)v->bytes_sent_again, still_wrong);
}

static void p2p(size_t size, size_t damaged) {
  unsigned char* buf = malloc(size + 1);
  struct verity_validation v;
  if (rank > 1) return free(buf);
  fill(buf, size, 0);
  if (rank == 1) damage(buf, size, damaged);
  const int code =
      rank == 0
          ? verity_validate_send(buf, (MPI_Count)size, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, NULL, &v)
          : verity_validate_recv(buf, (MPI_Count)size, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, NULL, &v);
  expect(code == MPI_SUCCESS, "the code of p2p");
  expect(v.damaged == damaged, "damaged segments of p2p");
  say("p2p", &v, count_wrong(buf, size, 0));
  free(buf);
}

static void bcast(size_t size, size_t damaged) {
  unsigned char* buf = malloc(size + 1);
  struct verity_validation v;
  const int root = ranks - 1;
  fill(buf, size, root);
  if (rank % 2 == 0 && rank != root) damage(buf, size, damaged);
  expect(verity_validate_bcast(buf, (MPI_Count)size, MPI_BYTE, root, MPI_COMM_WORLD, NULL, &v) ==
             MPI_SUCCESS,
         "the code of bcast");
  expect(v.damaged == (rank % 2 == 0 && rank != root ? damaged : 0), "damaged segments of bcast");
  say("bcast", &v, count_wrong(buf, size, root));
  free(buf);
}

static void allgather(size_t size, size_t damaged) {
  unsigned char* buf = malloc(size * (size_t)ranks + 1);
  struct verity_validation v;
  size_t still = 0, hit = 0;
  for (int i = 0; i < ranks; ++i) {
    fill(buf + (size_t)i * size, size, i);
    if (i == rank || (i + rank) % 3 != 0) continue;
    damage(buf + (size_t)i * size, size, damaged);
    hit += damaged;
  }
  expect(verity_validate_allgather(buf, (MPI_Count)size, MPI_BYTE, MPI_COMM_WORLD, NULL, &v) ==
             MPI_SUCCESS,
         "the code of allgather");
  expect(v.damaged == hit, "damaged segments of allgather");
  for (int i = 0; i < ranks; ++i) still += count_wrong(buf + (size_t)i * size, size, i);
  say("allgather", &v, still);
  free(buf);
}

static void ring(void) {
  enum { kEach = 3, kSize = 300000 };
  const int next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
  verity_validate_request* requests[4 * kEach];
  struct verity_validation v[4 * kEach];
  unsigned char* buf[4 * kEach];
  int n = 0;
  for (int i = 0; i < kEach; ++i) {
    const int peers[2] = {next, before};
    for (int side = 0; side < 2; ++side) {
      const int there = peers[side];
      for (int receives = 0; receives < 2; ++receives, ++n) {
        const size_t size = kSize + (size_t)i * 1000;
        buf[n] = malloc(size);
        fill(buf[n], size, (receives ? there : rank) * 10 + i);
        if (receives) damage(buf[n], size, (size_t)(2 + i));
        const int code = receives
                             ? verity_validate_irecv(buf[n], (MPI_Count)size, MPI_BYTE, there, kTag,
                                                     MPI_COMM_WORLD, NULL, &v[n], &requests[n])
                             : verity_validate_isend(buf[n], (MPI_Count)size, MPI_BYTE, there, kTag,
                                                     MPI_COMM_WORLD, NULL, &v[n], &requests[n]);
        expect(code == MPI_SUCCESS, "the code of a start");
      }
    }
  }
  expect(verity_validate_waitall(n, requests) == MPI_SUCCESS, "the code of waitall");
  size_t still = 0;
  for (int k = 0; k < n; ++k) {
    const int i = k / 4, receives = k % 2, there = k / 2 % 2 == 0 ? next : before;
    const size_t size = kSize + (size_t)i * 1000;
    still += count_wrong(buf[k], size, (receives ? there : rank) * 10 + i);
    expect(requests[k] == NULL, "a request is left");
    expect(v[k].damaged == (uint64_t)(2 + i), "damaged segments in the ring");
    free(buf[k]);
  }
  printf("ring rank %d: %d validations, %zu wrong\n", rank, n, still);
}

/* The sender's validation ends with an error while what it sends again is on its way. */
static void error_while_sending(void) {
  enum { kOwn = kTag + 1, kEnded = kTag + 2 };
  const size_t size = 8 << 20;
  unsigned char* buf = malloc(size);
  struct verity_validation v;
  char word[256] = {0};
  fill(buf, size, 0);
  if (rank == 0) {
    expect(verity_validate_send(buf, (MPI_Count)size, MPI_BYTE, 1, kOwn, MPI_COMM_WORLD, NULL,
                                &v) == MPI_ERR_TAG,
           "a foreign message to the sender");
    memset(buf, 0, size);
    MPI_Send(word, 1, MPI_CHAR, 1, kEnded, MPI_COMM_WORLD);
    MPI_Recv(word, sizeof(word), MPI_BYTE, 1, kOwn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (rank == 1) {
    verity_validate_request* request;
    int flag, bytes = 0;
    damage(buf, size, size / kSegment);
    verity_validate_irecv(buf, (MPI_Count)size, MPI_BYTE, 0, kOwn, MPI_COMM_WORLD, NULL, &v,
                          &request);
    while (bytes < (int)size) {
      MPI_Status status;
      MPI_Probe(0, kOwn, MPI_COMM_WORLD, &status);
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      if (bytes < (int)size) verity_validate_test(&request, &flag);
    }
    MPI_Send(word, 1, MPI_CHAR, 0, kOwn, MPI_COMM_WORLD);
    MPI_Recv(word, 1, MPI_CHAR, 0, kEnded, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(verity_validate_wait(&request) == MPI_SUCCESS, "the receiver's validation goes on");
    expect(count_wrong(buf, size, 0) == 0, "what was sent again is right");
  }
  free(buf);
}

static void errors(void) {
  unsigned char buf[1000] = {0};
  struct verity_validation v;
  verity_validate_request* request = NULL;
  int flag = 0;
  const struct verity_validate_options odd = {1000, 0};
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  expect(
      verity_validate_send(buf, 1, MPI_INT, rank, kTag, MPI_COMM_WORLD, NULL, &v) == MPI_ERR_RANK,
      "to oneself");
  expect(verity_validate_recv(buf, 1, MPI_INT, MPI_ANY_SOURCE, kTag, MPI_COMM_WORLD, NULL, &v) ==
             MPI_ERR_RANK,
         "from anybody");
  expect(verity_validate_recv(buf, 1, MPI_INT, 1 - rank, MPI_ANY_TAG, MPI_COMM_WORLD, NULL, &v) ==
             MPI_ERR_TAG,
         "with any tag");
  expect(verity_validate_recv(buf, -1, MPI_INT, 1 - rank, kTag, MPI_COMM_WORLD, NULL, &v) ==
             MPI_ERR_COUNT,
         "a negative count");
  expect(verity_validate_send(buf, 1, MPI_DATATYPE_NULL, 1 - rank, kTag, MPI_COMM_WORLD, NULL,
                              &v) == MPI_ERR_TYPE,
         "no datatype");
  expect(verity_validate_send(buf, 1, MPI_INT, 1 - rank, kTag, MPI_COMM_WORLD, &odd, &v) ==
             MPI_ERR_ARG,
         "an odd segment size");
  expect(verity_validate_isend(buf, 1, MPI_INT, 1 - rank, kTag, MPI_COMM_WORLD, NULL, &v, NULL) ==
             MPI_ERR_ARG,
         "no request");
  expect(verity_validate_send(buf, 1, MPI_INT, MPI_PROC_NULL, kTag, MPI_COMM_WORLD, NULL, &v) ==
             MPI_SUCCESS,
         "to MPI_PROC_NULL");
  expect(verity_validate_test(&request, &flag) == MPI_SUCCESS && flag == 1, "no request has ended");
  if (rank == 0) {
    expect(verity_validate_send(buf, 1000, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, NULL, &v) ==
               MPI_ERR_TRUNCATE,
           "unlike lengths, sender");
    MPI_Send(buf, 10, MPI_INT, 1, kTag, MPI_COMM_WORLD);
  } else if (rank == 1) {
    expect(verity_validate_recv(buf, 999, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, NULL, &v) ==
               MPI_ERR_TRUNCATE,
           "unlike lengths, receiver");
    expect(verity_validate_recv(buf, 10, MPI_INT, 0, kTag, MPI_COMM_WORLD, NULL, &v) == MPI_ERR_TAG,
           "a foreign message");
  }
  error_while_sending();
  printf("errors rank %d: done\n", rank);
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void times(size_t size, size_t damaged) {
  enum { kPairs = 9 };
  double seconds[2][kPairs], ratios[kPairs];
  unsigned char *buf = malloc(size), *again = malloc(size);
  struct verity_validation v;
  fill(buf, size, 0);
  memset(again, 0, size);
  for (int pair = 0; pair < kPairs && rank < 2; ++pair) {
    for (int which = 0; which < 2; ++which) {
      if (rank == 1) damage(buf, size, damaged);
      char ready = 0;
      MPI_Sendrecv_replace(&ready, 1, MPI_CHAR, 1 - rank, 1, 1 - rank, 1, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE);
      const double begin = MPI_Wtime();
      if (which == 0) {
        if (rank == 0)
          verity_validate_send(buf, (MPI_Count)size, MPI_BYTE, 1, kTag, MPI_COMM_WORLD, NULL, &v);
        if (rank == 1)
          verity_validate_recv(buf, (MPI_Count)size, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, NULL, &v);
      } else {
        if (rank == 0) MPI_Send(buf, (int)size, MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
        if (rank == 1) {
          MPI_Recv(again, (int)size, MPI_BYTE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
          if (memcmp(buf, again, size) != 0) memcpy(buf, again, size);
        }
        MPI_Sendrecv_replace(&ready, 1, MPI_CHAR, 1 - rank, 1, 1 - rank, 1, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
      }
      seconds[which][pair] = MPI_Wtime() - begin;
      if (rank == 1) expect(count_wrong(buf, size, 0) == 0, "after a timed repair");
    }
    ratios[pair] = seconds[0][pair] / seconds[1][pair];
  }
  if (rank == 1) {
    qsort(seconds[0], kPairs, sizeof(double), by_value);
    qsort(seconds[1], kPairs, sizeof(double), by_value);
    qsort(ratios, kPairs, sizeof(double), by_value);
    printf(
        "time %zu bytes, %zu segments damaged: validated %.1f ms, sent again and compared %.1f ms, "
        "ratio %.2f (%.2f to %.2f)\n",
        size, damaged, seconds[0][kPairs / 2] * 1e3, seconds[1][kPairs / 2] * 1e3,
        ratios[kPairs / 2], ratios[0], ratios[kPairs - 1]);
  }
  free(buf);
  free(again);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* mode = argc > 1 ? argv[1] : "p2p";
  const size_t size = (size_t)((argc > 2 ? atof(argv[2]) : 1) * 1048576) + 77;
  const size_t damaged = argc > 3 ? (size_t)atol(argv[3]) : 10;
  if (strcmp(mode, "p2p") == 0) p2p(size, damaged);
  if (strcmp(mode, "bcast") == 0) bcast(size, damaged);
  if (strcmp(mode, "allgather") == 0) allgather(size, damaged);
  if (strcmp(mode, "types") == 0) types();
  if (strcmp(mode, "ring") == 0) ring();
  if (strcmp(mode, "errors") == 0) errors();
  if (strcmp(mode, "time") == 0) times(size, damaged);
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%s: %d wrong expectations\n", mode, all);
  MPI_Finalize();
  return 0;
}
