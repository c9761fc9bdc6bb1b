/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages whose datatypes do not match, of every operation and every kind of mismatch, and their
 * corrected twins.
 *
 *   types wrong|right [OPERATION|all] [KIND]
 *
 * With UCX_VERITY_TYPECHECK=error each mismatch calls the communicator's error handler, once and
 * with MPI_ERR_TYPE: what was not as it should be is printed, "OPERATION / KIND: errors N". The
 * last line, on rank 0: "types wrong cases N expected N errors N failed N others N".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "types.h"
#include "watch.h"

static int errors;
static int other_errors;

static int cases, failed, expected_in_all, all, all_others, by_names;
MPI_Errhandler window_errors;

static void count_error(int code) {
  int class;
  MPI_Error_class(code, &class);
  if (class == MPI_ERR_TYPE) {
    ++errors;
  } else {
    ++other_errors;
  }
}
static void on_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  count_error(*code);
}
static void on_window_error(MPI_Win* win, int* code, ...) {
  (void)win;
  count_error(*code);
}

static int asked_for(int argc, char** argv, int argument, const char* name) {
  return argc <= argument || strcmp(argv[argument], "all") == 0 ||
         strcmp(argv[argument], name) == 0;
}

static int is_reported(enum reported reported) {
  return reported == kAlways || (reported == kByNames && by_names);
}

static void run(int rank, const struct operation* o, const struct kind* kind, int wrong) {
  static int tag = 10;
  const int expected =
      wrong && rank == 0 && is_reported(kind->reported) ? (o->times != 0 ? o->times : 1) : 0;
  errors = other_errors = 0;
  o->run(rank, 1, 0, kind->sent, wrong ? kind->wrong : kind->right, tag);
  tag += 2;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) other_errors -= o->others;
  ++cases;
  expected_in_all += expected;
  all += errors;
  all_others += other_errors;
  if (errors == expected && other_errors == 0) return;
  ++failed;
  printf("rank %d: %s / %s: errors %d others %d\n", rank, o->name, kind->name, errors,
         other_errors);
}

int main(int argc, char** argv) {
  static struct kind kinds[kMaxCases];
  const struct operation* const families[] = {p2p_operations, end_operations, onesided_operations};
  int rank;
  MPI_Errhandler handler;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  watch_start(rank, 100);
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Win_create_errhandler(on_window_error, &window_errors);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  const int wrong = argc > 1 && strcmp(argv[1], "wrong") == 0;
  const char* level = getenv("UCX_VERITY_TYPECHECK_LEVEL");
  by_names = level != NULL && strcmp(level, "names") == 0;
  const int number = make_kinds(kinds);
  for (int f = 0; f < 3; ++f) {
    for (const struct operation* o = families[f]; o->name != NULL; ++o) {
      if (!asked_for(argc, argv, 2, o->name)) continue;
      for (int k = 0; k < (o->kinds != 0 ? o->kinds : number); ++k) {
        if (asked_for(argc, argv, 3, kinds[k].name)) run(rank, o, &kinds[k], wrong);
      }
    }
  }
  free_kinds();
  MPI_Errhandler_free(&handler);
  MPI_Errhandler_free(&window_errors);
  MPI_Finalize();
  if (rank == 0) {
    printf("types %s cases %d expected %d errors %d failed %d others %d\n",
           wrong ? "wrong" : "right", cases, expected_in_all, all, failed, all_others);
  }
  return 0;
}
