/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An error handler that does not return, as of programs with exceptions of their own: each mismatch
 * has to be an error again.
 *
 *   jump         on two ranks, with UCX_VERITY_TYPECHECK=error; prints 'jump errors N of N'
 *   jump deeper  the same, after an error in a call from nearer to main
 *   jump again   collective operations, of which rank 1 makes the first one wrong before; prints
 *                'jump sum N'
 *   jump array   a collective operation that rank 1 makes wrong, within a nonblocking one that it
 *                completes in a function with an array over the frame that was left; prints
 *                'jump array sum N'
 */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

enum { kMessages = 5 };

static jmp_buf place;

static void on_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  longjmp(place, 1);
}

static void __attribute__((noinline)) receive_all(int rank) {
  volatile int errors = 0;
  int data = 0;
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
}

/* From further down the stack than send_wrong(), whose frames this one's data overwrites. */
static void __attribute__((noinline)) receive_deeper(int rank) {
  volatile char room[4096];
  for (size_t i = 0; i < sizeof(room); ++i) room[i] = 0;
  receive_all(rank);
  room[0] = room[1];
}

/* The call with the error is in a function of its own: setjmp() spares no variables around it. */
static void __attribute__((noinline)) add_wrong(void) {
  int one = 1, sum = 0;
  if (setjmp(place) == 0) MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD);
}

static void __attribute__((noinline)) send_wrong(void) {
  int data = 0;
  if (setjmp(place) == 0) MPI_Send(&data, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
}

static void add_all(int rank) {
  int one = 1, sum = 0;
  if (rank == 1) add_wrong();
  for (int i = 0; i < kMessages; ++i) {
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  printf("jump sum %d\n", sum);
}

/* The middle of `room` is never written to. */
static void __attribute__((noinline)) wait_beneath_array(MPI_Request* request) {
  volatile char room[4096];
  room[0] = room[sizeof(room) - 1] = 0;
  MPI_Wait(request, MPI_STATUS_IGNORE);
  room[1] = room[0];
}

static void add_within(int rank) {
  int one = 1, sum = 0, number = 0;
  double real = 0;
  for (int i = 0; i < kMessages; ++i) {
    MPI_Request request;
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    if (rank == 1) add_wrong();
    wait_beneath_array(&request);
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Bcast(&real, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  }
  printf("jump array sum %d\n", sum);
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  const char* how = argc > 1 ? argv[1] : "";
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  if (strcmp(how, "deeper") == 0) send_wrong();
  if (strcmp(how, "again") == 0) {
    add_all(rank);
  } else if (strcmp(how, "array") == 0) {
    add_within(rank);
  } else {
    receive_deeper(rank);
  }
  MPI_Errhandler_free(&handler);
  MPI_Finalize();
  return 0;
}
