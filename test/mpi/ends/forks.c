/* SPDX-License-Identifier: BSD-3-Clause
 *
 * forks COMMAND: after some messages each process forks children that end in different ways; each
 * of them writes over memory of its own first, as any child may. The last one is made past fork()
 * and what it calls. Then rank 0 runs COMMAND (not of the other's concern), and there are as many
 * messages again.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kMessages = 200, kSize = 5000, kWays = 5 };

static int exchange(int rank) {
  char out[kSize], in[kSize];
  int i, wrong = 0;
  for (i = 0; i < kMessages; ++i) {
    memset(out, i + rank, sizeof(out));
    MPI_Sendrecv(out, kSize, MPI_BYTE, !rank, 1, in, kSize, MPI_BYTE, !rank, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    memset(out, i + !rank, sizeof(out));
    wrong += memcmp(in, out, sizeof(in)) != 0;
  }
  return wrong;
}

/* By exit() with all its handlers, by _exit(), by another program, killed, and by exit() again. */
static void child(int way) {
  char* memory = malloc(1 << 20);
  memset(memory, way, 1 << 20);
  if (way == 0 || way == 4) exit(0);
  if (way == 1) _exit(0);
  if (way == 2) execl("/bin/true", "true", (char*)NULL);
  abort();
}

int main(int argc, char** argv) {
  int rank, way, wrong, status, failed = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
  wrong = exchange(rank);
  for (way = 0; way < kWays; ++way) {
    pid_t pid;
    fflush(stdout);
    pid = way < 4 ? fork() : (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) child(way);
    failed += pid < 0 || waitpid(pid, &status, 0) != pid || (way != 3 && status != 0);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) failed += system(argv[1]) != 0;
  MPI_Barrier(MPI_COMM_WORLD);
  wrong += exchange(rank);
  printf("rank %d: %d wrong, %d failed\n", rank, wrong, failed);
  MPI_Finalize();
  return wrong != 0 || failed != 0;
}
