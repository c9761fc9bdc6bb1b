/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Names what is no datatype in calls whose communicator or window returns errors, while those of
 * MPI_COMM_WORLD end the job.
 *
 *   no_type    on two ranks; each prints 'no_type rank R refused N of N'
 *
 * (Open MPI crashes.) */
#include <mpi.h>
#include <stdio.h>

enum { kCalls = 6 };

static int refused(int no_type, int other, MPI_Comm comm, MPI_Win window) {
  const MPI_Datatype type = (MPI_Datatype)no_type;
  MPI_Request request = MPI_REQUEST_NULL;
  int data = 0;
  return (MPI_Send(&data, 1, type, other, 1, comm) != MPI_SUCCESS) +
         (MPI_Irecv(&data, 1, type, other, 1, comm, &request) != MPI_SUCCESS) +
         (MPI_Send_init(&data, 1, type, other, 1, comm, &request) != MPI_SUCCESS) +
         (MPI_Bcast(&data, 1, type, 0, comm) != MPI_SUCCESS) +
         (MPI_Put(&data, 1, type, other, 0, 1, MPI_INT, window) != MPI_SUCCESS) +
         (MPI_Get(&data, 1, MPI_INT, other, 0, 1, type, window) != MPI_SUCCESS);
}

int main(int argc, char** argv) {
  int place = 0, rank, errors = 0;
  MPI_Comm comm;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  const int no_types[] = {0, -1, (int)MPI_COMM_WORLD, (int)MPI_REQUEST_NULL};
  const int types = sizeof(no_types) / sizeof(no_types[0]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Win_create(&place, sizeof(place), sizeof(place), MPI_INFO_NULL, comm, &window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, window);
  for (int i = 0; i < types; ++i) errors += refused(no_types[i], 1 - rank, comm, window);
  MPI_Win_fence(0, window);
  printf("no_type rank %d refused %d of %d\n", rank, errors, types * kCalls);
  MPI_Win_free(&window);
  MPI_Comm_free(&comm);
  MPI_Finalize();
  return 0;
}
