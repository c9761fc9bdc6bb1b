/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages whose datatypes do not match, of every operation and every kind of mismatch, and their corrected twins.
 *
 *   types wrong|right [OPERATION] [KIND]
 *
 * With UCX_VERITY_TYPECHECK=error each mismatch calls the communicator's error handler, once and with MPI_ERR_TYPE: what was not as it
 * should be is printed, "OPERATION / KIND: errors N". The last line, on rank 0: "types wrong messages N errors N failed N".
 */
#include <stdio.h>
#include <string.h>

#include "types.h"
#include "watch.h"

static int errors;
static int other_errors;

static void on_error(MPI_Comm* comm, int* code, ...) {
  int class;
  (void)comm;
  MPI_Error_class(*code, &class);
  if (class == MPI_ERR_TYPE) {
    ++errors;
  } else {
    ++other_errors;
  }
}

static int asked_for(int argc, char** argv, int argument, const char* name) {
  return argc <= argument || strcmp(argv[argument], name) == 0;
}

int main(int argc, char** argv) {
  static struct kind kinds[kMaxCases];
  int rank, messages = 0, failed = 0, all = 0, tag = 10;
  MPI_Errhandler handler;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  watch_start(rank, 100);
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  const int wrong = argc > 1 && strcmp(argv[1], "wrong") == 0;
  const int number = make_kinds(kinds);
  for (const struct operation* o = operations; o->name != NULL; ++o) {
    if (!asked_for(argc, argv, 2, o->name)) continue;
    for (int k = 0; k < number; ++k, tag += 2) {
      if (!asked_for(argc, argv, 3, kinds[k].name)) continue;
      errors = 0;
      o->run(rank, 1, 0, kinds[k].sent, wrong ? kinds[k].wrong : kinds[k].right, tag);
      MPI_Barrier(MPI_COMM_WORLD);
      ++messages;
      all += errors;
      const int expected = wrong && rank == 0 ? 1 : 0;
      if (errors == expected) continue;
      ++failed;
      printf("rank %d: %s / %s: errors %d\n", rank, o->name, kinds[k].name, errors);
    }
  }
  free_kinds();
  MPI_Errhandler_free(&handler);
  MPI_Finalize();
  if (rank == 0) {
    printf("types %s messages %d errors %d failed %d others %d\n", wrong ? "wrong" : "right", messages, all, failed, other_errors);
  }
  return 0;
}
