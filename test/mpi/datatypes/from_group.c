/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A collective operation with unlike types in a communicator of MPI_Comm_create_from_group(). With
 * Open MPI from 6 on the tags of such a communicator may be those of another one elsewhere, so that
 * its collective operations are not compared.
 *
 * With the argument 1 it is a copy of MPI_COMM_WORLD. Prints "from group done" once. Compiled as a
 * library (-DLIBRARY) it is the function for an Open MPI that lacks it, or cannot do it over UCX: a
 * copy of MPI_COMM_WORLD.
 */
#include <mpi.h>
#include <stdio.h>

int MPI_Comm_create_from_group(MPI_Group, const char*, MPI_Info, MPI_Errhandler, MPI_Comm*);

#ifdef LIBRARY
int MPI_Comm_create_from_group(MPI_Group group, const char* tag, MPI_Info info,
                               MPI_Errhandler handler, MPI_Comm* made) {
  (void)group, (void)tag, (void)info, (void)handler;
  return PMPI_Comm_dup(MPI_COMM_WORLD, made);
}
#else
enum { kLength = 100 };
static int ints[kLength];
static float floats[kLength];

int main(int argc, char** argv) {
  MPI_Group group;
  MPI_Comm comm;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_group(MPI_COMM_WORLD, &group);
  if (argc > 1 && argv[1][0] == '1') {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  } else {
    MPI_Comm_create_from_group(group, "ucx-verity", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  }
  MPI_Bcast(rank == 0 ? (void*)ints : (void*)floats, kLength, rank == 0 ? MPI_INT : MPI_FLOAT, 0,
            comm);
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  if (rank == 0) printf("from group done\n");
  MPI_Finalize();
  return 0;
}
#endif
