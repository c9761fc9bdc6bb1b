/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Uses a communicator that was freed, which MPICH refuses, and then the one that has its handle.
 *
 *   freed_comm    on two ranks; rank 0 prints 'freed_comm refused N of 2 same N'
 *
 * Of the second one a message and a collective operation are mismatched. refused: errors that were
 * returned. same: whether the handle came again. */
#include <mpi.h>
#include <stdio.h>

enum { kLength = 4 };

int main(int argc, char** argv) {
  int ints[kLength] = {0}, rank, refused = 0;
  float floats[kLength];
  MPI_Comm freed, comm;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  freed = comm;
  MPI_Comm_free(&comm);
  refused += MPI_Send(ints, kLength, MPI_INT, rank, 1, freed) != MPI_SUCCESS;
  refused += MPI_Barrier(freed) != MPI_SUCCESS;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (rank == 1) MPI_Send(ints, kLength, MPI_INT, 0, 1, comm);
  if (rank == 0) MPI_Recv(floats, kLength, MPI_FLOAT, 1, 1, comm, MPI_STATUS_IGNORE);
  MPI_Bcast(rank == 0 ? (void*)ints : (void*)floats, kLength, rank == 0 ? MPI_INT : MPI_FLOAT, 0,
            comm);
  if (rank == 0) printf("freed_comm refused %d of 2 same %d\n", refused, comm == freed);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
