/* SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_THREAD_MULTIPLE: one thread makes mismatched MPI_Put, which are errors and must not be made,
 * while another one leaves MPI calls all the time.
 *
 *   thread_puts    on one rank, with UCX_VERITY_TYPECHECK=error
 *
 * Prints 'puts N made N'. Exit status 77 when the MPI library gives no MPI_THREAD_MULTIPLE.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { kSkip = 77, kPuts = 1500000 };

static _Atomic int done;

static void* other_calls(void* unused) {
  int flag;
  (void)unused;
  while (!atomic_load(&done)) MPI_Iprobe(0, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  return NULL;
}

int main(int argc, char** argv) {
  int level, made = 0, memory[2] = {0, 0};
  const float value = 0;
  MPI_Win window;
  pthread_t thread;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (level < MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    return kSkip;
  }
  MPI_Win_create(memory, sizeof(memory), 1, MPI_INFO_NULL, MPI_COMM_SELF, &window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  pthread_create(&thread, NULL, other_calls, NULL);
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < kPuts; ++i)
    made += MPI_Put(&value, 1, MPI_FLOAT, 0, 0, 1, MPI_INT, window) == MPI_SUCCESS;
  MPI_Win_unlock_all(window);
  atomic_store(&done, 1);
  pthread_join(thread, NULL);
  MPI_Win_free(&window);
  printf("puts %d made %d\n", kPuts, made);
  MPI_Finalize();
  return 0;
}
