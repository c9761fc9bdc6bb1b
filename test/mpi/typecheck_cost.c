/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What one message costs, to oneself: a send, its receive and the transport in between, in one process. The fastest of many short
 * batches, so that other processes hardly disturb it. test/bench/typecheck_cost runs it with and without the companion.
 *
 *   mpirun -np 1 typecheck_cost
 *
 * Prints "basic NS derived NS".
 */
#include <mpi.h>
#include <stdio.h>

enum { kBatches = 400, kBatch = 500 };

static double fastest(int count, MPI_Datatype type) {
  static int in[64], out[64];
  double best = 1;
  for (int b = 0; b < kBatches; ++b) {
    const double start = MPI_Wtime();
    for (int i = 0; i < kBatch; ++i) {
      MPI_Request request;
      MPI_Irecv(in, count, type, 0, 1, MPI_COMM_WORLD, &request);
      MPI_Send(out, count, type, 0, 1, MPI_COMM_WORLD);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
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
  (void)fastest(2, MPI_INT);
  const double basic = fastest(2, MPI_INT);
  printf("basic %.1f derived %.1f\n", basic, fastest(3, derived));
  MPI_Type_free(&derived);
  MPI_Finalize();
  return 0;
}
