/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A mismatch that shows inside of MPI_File_write_all, where the library waits for messages of its
 * own by MPI calls: the error is the program's, and raised at its next call.
 *
 *   mpirun -np 2 file_waits FILE
 *
 * Last line of rank 1: file_waits errors N inside N result N
 */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

#include "watch.h"

enum { kTag = 5, kCount = 4096, kBusy = 200000 /* microseconds */ };

static int is_inside, errors, errors_inside;

static void on_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  ++errors;
  errors_inside += is_inside;
}

/* In rows of both ranks by turns, so that they exchange them. */
static int write_all(const char* name, int rank) {
  static int numbers[kCount];
  MPI_Datatype rows;
  MPI_File file;
  int result;
  MPI_Type_vector(kCount / 8, 8, 16, MPI_INT, &rows);
  MPI_Type_commit(&rows);
  MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
  MPI_File_set_view(file, (MPI_Offset)rank * 8 * (MPI_Offset)sizeof(int), MPI_INT, rows, "native",
                    MPI_INFO_NULL);
  const int number = rank;
  float received = 0;
  MPI_Request request;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) MPI_Send(&number, 1, MPI_INT, 1, kTag, MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Irecv(&received, 1, MPI_FLOAT, 0, kTag, MPI_COMM_WORLD, &request);
    usleep(kBusy);
  }
  is_inside = 1;
  result = MPI_File_write_all(file, numbers, kCount, MPI_INT, MPI_STATUS_IGNORE);
  is_inside = 0;
  if (rank == 1) MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  MPI_Type_free(&rows);
  return result;
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  int rank, result;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  watch_start(rank, 60);
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  result = write_all(argv[argc - 1], rank);
  if (rank == 1)
    printf("file_waits errors %d inside %d result %d\n", errors, errors_inside, result);
  MPI_Errhandler_free(&handler);
  watch_stop();
  MPI_Finalize();
  return 0;
}
