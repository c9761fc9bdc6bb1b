/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program without MPI_Init: a session, and a communicator made of its processes.
 *
 *   session right|wrong|left|outlives|outlives_left [SESSIONS]
 *
 * Rank 0 receives what rank 1 sends, as another type when wrong; then the same by a collective
 * operation. Prints "session done" once. With several sessions, one after the other, each is MPI
 * from its beginning to its end, and the types that it made, which are not freed, end with it.
 *
 * left: nor are communicators and persistent requests freed. In every second session the last rank
 * is not in the communicator that has the tags of the other sessions' second one, where it makes
 * its first call when the others have made one more. Then a persistent broadcast has the request of
 * a receive, and rank 1 names another type.
 *
 * outlives: wrong, after an MPI_Init and MPI_Finalize in the first session, between which MPI
 * refuses to end what is no session. outlives_left: left, after the same. */
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

static void leave(int number, MPI_Comm comm) {
  const int all = number % 2 == 1;
  MPI_Comm other;
  MPI_Request request;
  int rank, size, sum;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Comm_split(comm, all || rank < size - 1 ? 0 : MPI_UNDEFINED, 0, &other);
  if (other == MPI_COMM_NULL) return;
  if (!all) MPI_Barrier(other);
  MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, other);
  if (!all) {
    MPI_Recv_init(ints, kLength, MPI_INT, 0, 2, other, &request);
    return;
  }
  MPI_Bcast_init(rank == 1 ? (void*)floats : (void*)ints, kLength, rank == 1 ? MPI_FLOAT : MPI_INT,
                 0, other, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void exchange(int wrong, int number, MPI_Comm comm) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  if (rank == 1) send(number, comm);
  if (rank == 0) {
    const int as_ints = (number % 2 == 0) != wrong;
    MPI_Recv(as_ints ? (void*)ints : (void*)floats, kLength, as_ints ? MPI_INT : MPI_FLOAT, 1, 1,
             comm, MPI_STATUS_IGNORE);
  }
  MPI_Bcast(wrong && rank == 1 ? (void*)floats : (void*)ints, kLength,
            wrong && rank == 1 ? MPI_FLOAT : MPI_INT, 0, comm);
}

static void outlive(void) {
  MPI_Session none = MPI_SESSION_NULL;
  MPI_Init(NULL, NULL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (MPI_Session_finalize(&none) == MPI_SUCCESS) printf("no session was ended\n");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
}

static int run(const char* how, int number) {
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
  if (number == 0 && strncmp(how, "outlives", 8) == 0) outlive();
  if (strstr(how, "left") != NULL) {
    leave(number, comm);
  } else {
    exchange(strcmp(how, "right") != 0, number, comm);
    MPI_Comm_free(&comm);
  }
  MPI_Session_finalize(&session);
  return rank;
}

int main(int argc, char** argv) {
  const int sessions = argc > 2 ? atoi(argv[2]) : 1;
  int rank = 0, i;
  for (i = 0; i < sessions; ++i) rank = run(argc > 1 ? argv[1] : "right", i);
  if (rank == 0) printf("session done\n");
  return 0;
}
