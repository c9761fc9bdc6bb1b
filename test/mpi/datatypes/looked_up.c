/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Datatypes that are freed by a function that was looked up in the MPI library itself, as by
 * Python's ctypes: no preloaded library sees the call, and their handles come again. Two ranks.
 *
 * Last line of rank 0: looked_up reused N, where N is of the datatypes that had an earlier one's.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { kRounds = 30, kElements = 10 };

/* The library's own MPI_Type_free. */
static int (*own_type_free(void))(MPI_Datatype*) {
  Dl_info library;
  void *handle, *function = NULL;
  /* A function that is not wrapped: it is in the library. */
  if (dladdr((void*)MPI_Get_library_version, &library) != 0) {
    handle = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (handle != NULL) function = dlsym(handle, "MPI_Type_free");
  }
  return (int (*)(MPI_Datatype*))function;
}

int main(int argc, char** argv) {
  const MPI_Datatype basic[] = {MPI_INT, MPI_FLOAT, MPI_DOUBLE};
  MPI_Datatype had[kRounds];
  double data[kElements] = {0};
  int rank, reused = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int (*type_free)(MPI_Datatype*) = own_type_free();
  if (type_free == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  for (int round = 0; round < kRounds; ++round) {
    MPI_Datatype type;
    MPI_Type_contiguous(kElements, basic[round % 3], &type);
    MPI_Type_commit(&type);
    for (int i = 0, before = 0; i < round && !before; ++i) reused += before = had[i] == type;
    had[round] = type;
    if (rank == 1) MPI_Send(data, 1, type, 0, 5, MPI_COMM_WORLD);
    if (rank == 0)
      MPI_Recv(data, kElements, basic[round % 3], 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    type_free(&type);
  }
  if (rank == 0) printf("looked_up reused %d\n", reused);
  MPI_Finalize();
  return 0;
}
