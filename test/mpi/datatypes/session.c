/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program that never calls MPI_Init: a session, and a communicator made of its processes.
 *
 *   session right|wrong [SESSIONS]
 *
 * Rank 0 receives what rank 1 sends, as another type when wrong; then the same by a collective
 * operation. Prints "session done" once. With several sessions, one after the other, each is MPI
 * from its beginning to its end, and the types that it made, which are not freed, end with it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kLength = 100 };
static int ints[kLength];
static float floats[kLength];

/* What the sessions send by turns, with a type of the session's own. */
static void send(int number, MPI_Comm comm) {
  const MPI_Datatype basic = number % 2 == 0 ? MPI_INT : MPI_FLOAT;
  MPI_Datatype row;
  MPI_Type_contiguous(kLength, basic, &row);
  MPI_Type_commit(&row);
  MPI_Send(number % 2 == 0 ? (void*)ints : (void*)floats, 1, row, 0, 1, comm);
}

static int run(int wrong, int number) {
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
  if (rank == 1) send(number, comm);
  if (rank == 0) {
    const int as_ints = (number % 2 == 0) != wrong;
    MPI_Recv(as_ints ? (void*)ints : (void*)floats, kLength, as_ints ? MPI_INT : MPI_FLOAT, 1, 1,
             comm, MPI_STATUS_IGNORE);
  }
  MPI_Bcast(wrong && rank == 1 ? (void*)floats : (void*)ints, kLength,
            wrong && rank == 1 ? MPI_FLOAT : MPI_INT, 0, comm);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  return rank;
}

int main(int argc, char** argv) {
  const int wrong = argc > 1 && strcmp(argv[1], "wrong") == 0;
  const int sessions = argc > 2 ? atoi(argv[2]) : 1;
  int rank = 0, i;
  for (i = 0; i < sessions; ++i) rank = run(wrong, i);
  if (rank == 0) printf("session done\n");
  return 0;
}
