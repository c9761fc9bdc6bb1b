/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An error handler that does not return, as of programs with exceptions of their own: each mismatch
 * has to be an error again.
 *
 *   jump    on two ranks, with UCX_VERITY_TYPECHECK=error; prints 'jump errors N of N'
 */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>

enum { kMessages = 5 };

static jmp_buf place;

static void on_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  longjmp(place, 1);
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  int rank, data = 0;
  volatile int errors = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  for (volatile int i = 0; i < kMessages; ++i) {
    if (rank == 1) {
      MPI_Send(&data, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
    } else if (setjmp(place) == 0) {
      MPI_Recv(&data, 1, MPI_FLOAT, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      ++errors;
    }
  }
  if (rank == 0) printf("jump errors %d of %d\n", errors, kMessages);
  MPI_Errhandler_free(&handler);
  MPI_Finalize();
  return 0;
}
