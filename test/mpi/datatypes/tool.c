/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A tool as mpiP or Score-P are: a preloaded library between the program and MPI that counts calls,
 * and makes some of its own through the profiling interface. Prints
 * 'tool sends N receives N starts N' at the end, unless TOOL_ALONE is set: some ranks are without.
 * With TOOL_BARRIER it has all ranks wait for each other before a broadcast, as tools do that
 * measure how late each one is.
 */
#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif
#include <stdio.h>
#include <stdlib.h>

static long sends, receives, starts;

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
int MPI_Startall(int count, MPI_Request requests[]) {
  starts += count;
  return PMPI_Startall(count, requests);
}

static void wait_for_all(MPI_Comm comm) {
  int sum = 1;
  if (getenv("TOOL_BARRIER") == NULL) return;
  PMPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  PMPI_Barrier(comm);
}
int MPI_Barrier(MPI_Comm comm) { return PMPI_Barrier(comm); }
int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  wait_for_all(comm);
  return PMPI_Bcast(data, count, type, root, comm);
}
int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  return PMPI_Allreduce(from, to, count, type, op, comm);
}

static MPI_Request broadcast = MPI_REQUEST_NULL; /* the last persistent one, in that communicator */
static MPI_Comm its_comm;
#if MPI_VERSION >= 4
#define BCAST_INIT(P) P##MPI_Bcast_init
#elif defined(OMPI_HAVE_MPI_EXT_PCOLLREQ)
#define BCAST_INIT(P) P##MPIX_Bcast_init
#endif
#ifdef BCAST_INIT
int BCAST_INIT()(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Info info,
                 MPI_Request* request) {
  int rc = BCAST_INIT(P)(data, count, type, root, comm, info, request);
  broadcast = *request;
  its_comm = comm;
  return rc;
}
#endif
int MPI_Start(MPI_Request* request) {
  const int is_its = request != NULL && *request == broadcast;
  if (is_its && broadcast != MPI_REQUEST_NULL) wait_for_all(its_comm);
  return PMPI_Start(request);
}
int MPI_Request_free(MPI_Request* request) {
  if (request != NULL && *request == broadcast) broadcast = MPI_REQUEST_NULL;
  return PMPI_Request_free(request);
}
#if MPI_VERSION >= 4
int MPI_Psend_init(const void* data, int partitions, MPI_Count count, MPI_Datatype type, int to,
                   int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return PMPI_Psend_init(data, partitions, count, type, to, tag, comm, info, request);
}
int MPI_Precv_init(void* data, int partitions, MPI_Count count, MPI_Datatype type, int from,
                   int tag, MPI_Comm comm, MPI_Info info, MPI_Request* request) {
  return PMPI_Precv_init(data, partitions, count, type, from, tag, comm, info, request);
}
#endif
int MPI_Finalize(void) {
  long mine[3], sums[3] = {0, 0, 0};
  int rank;
  if (getenv("TOOL_ALONE") != NULL) return PMPI_Finalize();
  mine[0] = sends;
  mine[1] = receives;
  mine[2] = starts;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Reduce(mine, sums, 3, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("tool sends %ld receives %ld starts %ld\n", sums[0], sums[1], sums[2]);
  fflush(stdout);
  return PMPI_Finalize();
}
