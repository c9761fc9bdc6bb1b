/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What one message costs, to oneself: a send, its receive and the transport in between, in one
 * process. The fastest of many short batches, so that other processes hardly disturb it.
 * test/bench/typecheck_cost runs it with and without the interposer.
 *
 *   mpirun -np 1 typecheck_cost              prints "basic NS derived NS"
 *   mpirun -np 1 typecheck_cost count KIND   KIND: basic or derived; 1000 messages in
 *       typecheck_counted(), for callgrind, which counts the instructions that are executed there
 *       (test/integration/types/typecheck_instructions.sh)
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { kBatches = 400, kBatch = 500, kCounted = 1000 };

static void exchange(int messages, int count, MPI_Datatype type) {
  static int in[64], out[64];
  for (int i = 0; i < messages; ++i) {
    MPI_Request request;
    MPI_Irecv(in, count, type, 0, 1, MPI_COMM_WORLD, &request);
    MPI_Send(out, count, type, 0, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

/* Found by its name. */
__attribute__((noinline)) void typecheck_counted(int count, MPI_Datatype type);
void typecheck_counted(int count, MPI_Datatype type) { exchange(kCounted, count, type); }

static double fastest(int count, MPI_Datatype type) {
  double best = 1;
  for (int b = 0; b < kBatches; ++b) {
    const double start = MPI_Wtime();
    exchange(kBatch, count, type);
    const double took = MPI_Wtime() - start;
    if (took < best) best = took;
  }
  return best / kBatch * 1e9;
}

int main(int argc, char** argv) {
  int blocks[2] = {1, 2};
  MPI_Aint displacements[2] = {0, 8};
  MPI_Datatype fields[2] = {MPI_INT, MPI_FLOAT}, derived;
  MPI_Init(&argc, &argv);
  MPI_Type_create_struct(2, blocks, displacements, fields, &derived);
  MPI_Type_commit(&derived);
  if (argc == 3 && strcmp(argv[1], "count") == 0) {
    const int is_basic = strcmp(argv[2], "basic") == 0;
    const MPI_Datatype type = is_basic ? MPI_INT : derived;
    exchange(kCounted, is_basic ? 2 : 3, type);
    typecheck_counted(is_basic ? 2 : 3, type);
  } else {
    (void)fastest(2, MPI_INT);
    const double basic = fastest(2, MPI_INT);
    printf("basic %.1f derived %.1f\n", basic, fastest(3, derived));
  }
  MPI_Type_free(&derived);
  MPI_Finalize();
  return 0;
}
