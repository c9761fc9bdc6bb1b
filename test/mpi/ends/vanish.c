/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that come to their ends in ways of their own, after a barrier and MPI_Finalize.
 *
 *   vanish [RANK]  that rank ends without its exit handlers, as if it had been killed; the others a
 *                  little later
 *   vanish silent  no message at all
 *   vanish fail    rank 0 ends with an error, the others have work to do still
 *   vanish full FILE  rank 0 fills the file system of that file, which it makes, before the end
 *
 * Rank 0 prints "vanish done".
 */
#define _DEFAULT_SOURCE
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// To the last byte of its last page.
static void fill(const char* path) {
  static const char page[4096];
  const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
  while (write(fd, page, sizeof(page)) > 0) {}
  while (write(fd, page, 1) > 0) {}
}

int main(int argc, char** argv) {
  int rank, token = 0;
  const int silent = argc > 1 && strcmp(argv[1], "silent") == 0;
  const int fail = argc > 1 && strcmp(argv[1], "fail") == 0;
  const int full = argc > 2 && strcmp(argv[1], "full") == 0;
  const int victim = argc > 1 && !silent && !fail && !full ? atoi(argv[1]) : -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!silent) {
    MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (full && rank == 0) fill(argv[2]);
  if (full) MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (rank == victim) _exit(0);
  if (victim >= 0) usleep(300000);
  if (fail && rank != 0) sleep(5);
  if (rank == 0) printf("vanish done\n");
  return fail && rank == 0;
}
