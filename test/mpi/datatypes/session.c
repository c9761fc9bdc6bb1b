/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that never calls MPI_Init: a session, and a communicator made of its processes.
 *
 *   session right|wrong
 *
 * Rank 0 receives what rank 1 sends, as another type when wrong; then the same by a collective
 * operation. Prints "session done" once. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { kLength = 100 };
static int ints[kLength];
static float floats[kLength];

int main(int argc, char** argv) {
  const int wrong = argc > 1 && strcmp(argv[1], "wrong") == 0;
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  int rank;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "ucx-verity/test", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
  MPI_Group_free(&group);
  MPI_Comm_set_name(comm, "lake");
  MPI_Comm_rank(comm, &rank);
  if (rank == 1) MPI_Send(ints, kLength, MPI_INT, 0, 1, comm);
  if (rank == 0)
    MPI_Recv(wrong ? (void*)floats : (void*)ints, kLength, wrong ? MPI_FLOAT : MPI_INT, 1, 1, comm,
             MPI_STATUS_IGNORE);
  MPI_Bcast(wrong && rank == 1 ? (void*)floats : (void*)ints, kLength,
            wrong && rank == 1 ? MPI_FLOAT : MPI_INT, 0, comm);
  if (rank == 0) printf("session done\n");
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  return 0;
}
