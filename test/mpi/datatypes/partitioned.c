/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Partitioned communication whose datatypes match, or do not, from rank 1 to rank 0.
 *
 *   partitioned wrong|right
 *
 * With UCX_VERITY_TYPECHECK=error each mismatch calls the error handler once. The last line, on
 * rank 0: "partitioned wrong cases N expected N failed N wrong values N". Without MPI 4:
 * "partitioned none".
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "watch.h"

#if MPI_VERSION >= 4
enum { kRoom = 4096, kMost = 3, kStarts = 3 };

struct side {
  int partitions, count;
  MPI_Datatype type;
};

/* Requests of one tag, in the order in which they are made; `late`: who makes his only when the
 * other has: 0 none, 1 the receiver, 2 the sender. `errors`: of the wrong ones. */
struct kind {
  const char* name;
  int late, requests;
  struct side sent[kMost], wrong[kMost], right[kMost];
  int errors;
};

static int errors, rank;
static double out[kMost][kRoom], in[kMost][kRoom];
static MPI_Datatype mixed, mixed_otherwise;

static void on_error(MPI_Comm* comm, int* code, ...) {
  int class;
  (void)comm;
  MPI_Error_class(*code, &class);
  errors += class == MPI_ERR_TYPE;
}

static void make_types(void) {
  int blocks[2] = {1, 3};
  MPI_Aint displacements[2] = {0, 8};
  MPI_Datatype fields[2] = {MPI_INT, MPI_FLOAT}, others[2] = {MPI_FLOAT, MPI_INT};
  MPI_Type_create_struct(2, blocks, displacements, fields, &mixed);
  MPI_Type_create_struct(2, blocks, displacements, others, &mixed_otherwise);
  MPI_Type_commit(&mixed);
  MPI_Type_commit(&mixed_otherwise);
}

static void make(const struct side* sides, int requests, MPI_Comm comm, MPI_Request* made) {
  for (int i = 0; i < requests; ++i) {
    const struct side s = sides[i];
    if (rank == 1)
      MPI_Psend_init(out[i], s.partitions, s.count, s.type, 0, 5, comm, MPI_INFO_NULL, &made[i]);
    if (rank == 0)
      MPI_Precv_init(in[i], s.partitions, s.count, s.type, 1, 5, comm, MPI_INFO_NULL, &made[i]);
  }
}

static void communicate(const struct side* sides, int requests, MPI_Request* made) {
  for (int start = 0; start < kStarts; ++start) {
    MPI_Startall(requests, made);
    for (int i = 0; i < requests && rank == 1; ++i) {
      for (int p = sides[i].partitions - 1; p >= 0; --p) MPI_Pready(p, made[i]);
    }
    MPI_Waitall(requests, made, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < requests; ++i) MPI_Request_free(&made[i]);
}

/* How many bytes arrived otherwise than they were sent. */
static int wrong_values(int requests) {
  int wrong = 0;
  for (int i = 0; i < requests; ++i) {
    int first;
    memcpy(&first, in[i], sizeof(first));
    wrong += first != 0x01010101 + i;
  }
  return wrong;
}

static int run(const struct kind* kind, MPI_Comm comm, int wrong, int* values) {
  MPI_Request made[kMost];
  const struct side* sides = rank == 1 ? kind->sent : wrong ? kind->wrong : kind->right;
  for (int i = 0; i < kMost; ++i) {
    const int first = 0x01010101 + i;
    memset(in[i], 0, sizeof(in[i]));
    memcpy(out[i], &first, sizeof(first));
  }
  errors = 0;
  if (kind->late != 0 && kind->late == rank + 1) MPI_Barrier(comm);
  if (rank < 2) make(sides, kind->requests, comm, made);
  if (kind->late == 0 || kind->late != rank + 1) MPI_Barrier(comm);
  if (rank < 2) communicate(sides, kind->requests, made);
  MPI_Barrier(comm);
  const int expected = rank == 0 && wrong ? kind->errors : 0;
  if (rank == 0) *values += wrong_values(kind->requests);
  if (errors != expected) printf("rank %d: %s: errors %d\n", rank, kind->name, errors);
  return errors != expected;
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  watch_start(rank, 100);
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  make_types();
  const int wrong = argc > 1 && strcmp(argv[1], "wrong") == 0;
  const struct kind kinds[] = {
      {"another class", 0, 1, {{4, 25, MPI_INT}}, {{4, 25, MPI_FLOAT}}, {{4, 25, MPI_INT}}, 1},
      {"other partitions", 0, 1, {{4, 25, MPI_INT}}, {{2, 50, MPI_FLOAT}}, {{2, 50, MPI_INT}}, 1},
      {"the receive later", 1, 1, {{4, 25, MPI_INT}}, {{4, 25, MPI_FLOAT}}, {{4, 25, MPI_INT}}, 1},
      {"the send later", 2, 1, {{4, 25, MPI_INT}}, {{4, 25, MPI_FLOAT}}, {{4, 25, MPI_INT}}, 1},
      {"structures", 0, 1, {{8, 3, mixed}}, {{8, 3, mixed_otherwise}}, {{3, 8, mixed}}, 1},
      {"large", 0, 1, {{64, 128, MPI_INT}}, {{64, 128, MPI_FLOAT}}, {{1, 8192, MPI_INT}}, 1},
      {"in order",
       0,
       3,
       {{1, 8, MPI_INT}, {2, 4, MPI_FLOAT}, {1, 8, MPI_UNSIGNED}},
       {{1, 8, MPI_INT}, {1, 8, MPI_UNSIGNED}, {1, 8, MPI_FLOAT}},
       {{2, 4, MPI_INT}, {1, 8, MPI_FLOAT}, {8, 1, MPI_UNSIGNED}},
       2},
      {"in order, the receives later",
       1,
       3,
       {{1, 8, MPI_INT}, {2, 4, MPI_FLOAT}, {1, 8, MPI_UNSIGNED}},
       {{1, 8, MPI_INT}, {1, 8, MPI_UNSIGNED}, {1, 8, MPI_FLOAT}},
       {{2, 4, MPI_INT}, {1, 8, MPI_FLOAT}, {8, 1, MPI_UNSIGNED}},
       2},
  };
  const int number = (int)(sizeof(kinds) / sizeof(kinds[0]));
  int cases = 0, expected = 0, failed = 0, values = 0;
  /* A communicator that ends gives its tags to the next one. */
  for (int round = 0; round < 3; ++round) {
    MPI_Comm comm = MPI_COMM_WORLD;
    if (round > 0) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int k = 0; k < number; ++k) {
      ++cases;
      if (wrong) expected += kinds[k].errors;
      failed += run(&kinds[k], comm, wrong, &values);
    }
    if (round > 0) MPI_Comm_free(&comm);
  }
  MPI_Type_free(&mixed);
  MPI_Type_free(&mixed_otherwise);
  MPI_Errhandler_free(&handler);
  MPI_Finalize();
  if (rank == 0) {
    printf("partitioned %s cases %d expected %d failed %d wrong values %d\n",
           wrong ? "wrong" : "right", cases, expected, failed, values);
  }
  return failed != 0;
}
#else
int main(void) {
  printf("partitioned none\n");
  return 0;
}
#endif
