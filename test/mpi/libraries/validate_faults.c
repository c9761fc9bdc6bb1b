/* SPDX-License-Identifier: BSD-3-Clause
 *
 * verity_validate_*() where it is used wrongly, and where its own messages are damaged.
 *
 * Usage: validate_faults MODE
 *
 *   arguments  roots that are none, and intercommunicators
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucx-verity/validate.h>

enum { kTag = 5 };

static int rank, ranks;
static int wrong;

static void expect(int is_right, const char* what) {
  if (is_right) return;
  ++wrong;
  printf("rank %d: WRONG: %s\n", rank, what);
}

/* The first rank alone, and all others. */
static MPI_Comm intercommunicator(void) {
  MPI_Comm half, inter;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0, 0, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank == 0 ? 1 : 0, kTag, &inter);
  MPI_Comm_free(&half);
  return inter;
}

static void arguments(void) {
  static char buf[4096];
  const int roots[] = {-1, MPI_ROOT, MPI_PROC_NULL, MPI_ANY_SOURCE, ranks, ranks + 1000};
  struct verity_validation v;
  MPI_Comm inter = intercommunicator();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  for (size_t i = 0; i < sizeof roots / sizeof *roots; ++i) {
    expect(verity_validate_bcast(buf, 64, MPI_CHAR, roots[i], MPI_COMM_WORLD, NULL, &v) ==
               MPI_ERR_ROOT,
           "a root that is none");
  }
  expect(verity_validate_bcast(buf, 64, MPI_CHAR, 0, inter, NULL, &v) == MPI_ERR_COMM,
         "bcast over an intercommunicator");
  expect(verity_validate_bcast(buf, 64, MPI_CHAR, MPI_ROOT, inter, NULL, &v) == MPI_ERR_COMM,
         "bcast from MPI_ROOT");
  expect(verity_validate_allgather(buf, 64, MPI_CHAR, inter, NULL, &v) == MPI_ERR_COMM,
         "allgather over an intercommunicator");
  MPI_Comm_free(&inter);
}

int main(int argc, char** argv) {
  const char* mode = argc > 1 ? argv[1] : "";
  int all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (strcmp(mode, "arguments") == 0) arguments();
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%s: %d wrong expectations\n", mode, all);
  MPI_Finalize();
  return 0;
}
