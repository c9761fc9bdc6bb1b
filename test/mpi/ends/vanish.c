/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Ranks that come to their ends in ways of their own, after a barrier and MPI_Finalize.
 *
 *   vanish [RANK]  that rank ends without its exit handlers, as if it had been killed; the others a
 *                  little later
 *   vanish silent  no message at all
 *   vanish early   all end with an error, without a message, before MPI_Finalize
 *   vanish fail    rank 0 ends with an error, the others have work to do still
 *   vanish fail all  all end with an error, one after the other
 *   vanish full FILE  rank 0 fills the file system of that file, which it makes, before the end
 *   vanish away FOLDER  all go to that folder and remove the launcher's variables, as programs that
 *                  start jobs of their own; then rank 0 gets another datatype than rank 1 sends
 *
 * Rank 0 prints "vanish done".
 */
#define _GNU_SOURCE
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

static void forget_variables(const char* prefix) {
  char name[256];
  for (size_t i = 0; environ[i] != NULL;) {
    snprintf(name, sizeof(name), "%.*s", (int)strcspn(environ[i], "="), environ[i]);
    if (strncmp(name, prefix, strlen(prefix)) != 0 || unsetenv(name) != 0) ++i;
  }
}

static void go_away(const char* folder, int rank) {
  float value = 0;
  if (chdir(folder) != 0) perror(folder);
  forget_variables("OMPI_");
  forget_variables("PMI");
  if (rank == 0) MPI_Recv(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(&value, 1, MPI_FLOAT, 0, 0, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  int rank, token = 0;
  const int silent = argc > 1 && strcmp(argv[1], "silent") == 0;
  const int early = argc > 1 && strcmp(argv[1], "early") == 0;
  const int fail = argc > 1 && strcmp(argv[1], "fail") == 0;
  const int all_fail = fail && argc > 2;
  const int full = argc > 2 && strcmp(argv[1], "full") == 0;
  const int away = argc > 2 && strcmp(argv[1], "away") == 0;
  const int victim = argc > 1 && !silent && !fail && !full && !away ? atoi(argv[1]) : -1;
  MPI_Init(&argc, &argv);
  if (early) exit(EXIT_FAILURE);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!silent) {
    MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (full && rank == 0) fill(argv[2]);
  if (full) MPI_Barrier(MPI_COMM_WORLD);
  if (away) go_away(argv[2], rank);
  MPI_Finalize();
  if (rank == victim) _exit(0);
  if (victim >= 0) usleep(300000);
  if (all_fail) usleep((useconds_t)rank * 50000);
  if (fail && !all_fail && rank != 0) sleep(5);
  if (rank == 0) printf("vanish done\n");
  return fail && (all_fail || rank == 0);
}
