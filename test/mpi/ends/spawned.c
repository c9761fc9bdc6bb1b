/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Two worlds that MPI_Comm_spawn makes, of one process each, send the first one integers, which it
 * receives as floats.
 *
 *   spawned                prints "spawned done" */
#include <mpi.h>
#include <stdio.h>

enum { kLength = 100, kWorlds = 2 };

int main(int argc, char** argv) {
  int ints[kLength] = {0};
  float floats[kLength];
  MPI_Comm parent, children[kWorlds];
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&parent);
  if (parent != MPI_COMM_NULL) {
    MPI_Send(ints, kLength, MPI_INT, 0, 1, parent);
    MPI_Comm_disconnect(&parent);
    MPI_Finalize();
    return 0;
  }
  for (int i = 0; i < kWorlds; ++i) {
    MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children[i],
                   MPI_ERRCODES_IGNORE);
    /* From places of their own: mismatches are reported once for each pair. */
    if (i == 0) MPI_Recv(floats, kLength, MPI_FLOAT, 0, 1, children[0], MPI_STATUS_IGNORE);
    if (i == 1) MPI_Recv(floats, kLength, MPI_FLOAT, 0, 1, children[1], MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < kWorlds; ++i) MPI_Comm_disconnect(&children[i]);
  printf("spawned done\n");
  MPI_Finalize();
  return 0;
}
