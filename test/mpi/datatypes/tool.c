/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A tool as mpiP or Score-P are: a preloaded library between the program and MPI that counts calls,
 * and makes some of its own through the profiling interface. Prints 'tool sends N receives N' at
 * the end.
 */
#include <mpi.h>
#include <stdio.h>

static long sends, receives;

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++sends;
  return PMPI_Send(data, count, type, to, tag, comm);
}
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  ++sends;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}
int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status* status) {
  MPI_Request request;
  ++receives;
  int rc = PMPI_Irecv(data, count, type, from, tag, comm, &request);
  return rc != MPI_SUCCESS ? rc : PMPI_Wait(&request, status);
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
  ++receives;
  return PMPI_Irecv(data, count, type, from, tag, comm, request);
}
int MPI_Finalize(void) {
  long mine[2], sums[2] = {0, 0};
  int rank;
  mine[0] = sends;
  mine[1] = receives;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Reduce(mine, sums, 2, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("tool sends %ld receives %ld\n", sums[0], sums[1]);
  fflush(stdout);
  return PMPI_Finalize();
}
