/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls on stacks of the program's own, one of which is unmapped after an error handler has left
 * the call on it for good. With UCX_VERITY_TYPECHECK; prints 'fibers N of N'.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { kStack = 1 << 20, kRounds = 3 };

static ucontext_t usual, fiber;
static int sizes = 0;

static void on_error(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  setcontext(&usual);
}

static void send_wrong(void) {
  int data = 0;
  MPI_Send(&data, 1, MPI_INT, 99, 0, MPI_COMM_WORLD);
}

static void find_size(void) {
  int size = 0;
  MPI_Type_size(MPI_INT, &size);
  MPI_Barrier(MPI_COMM_WORLD);
  sizes += size == sizeof(int);
}

static void run_on(char* stack, void (*function)(void)) {
  getcontext(&fiber);
  fiber.uc_stack.ss_sp = stack;
  fiber.uc_stack.ss_size = kStack;
  fiber.uc_link = &usual;
  makecontext(&fiber, function, 0);
  swapcontext(&usual, &fiber);
}

int main(int argc, char** argv) {
  MPI_Errhandler handler;
  int rank, round;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  for (round = 0; round < kRounds; ++round) {
    char* stacks =
        mmap(NULL, 2 * kStack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    run_on(stacks + kStack, send_wrong);
    munmap(stacks + kStack, kStack);
    run_on(stacks, find_size);
    munmap(stacks, kStack);
  }
  printf("fibers %d of %d\n", sizes, kRounds);
  MPI_Errhandler_free(&handler);
  MPI_Finalize();
  return 0;
}
