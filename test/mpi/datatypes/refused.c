/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A communicator that MPI refuses to free, as an attribute's delete callback fails: it goes on, and
 * what is sent in it is correct.
 *
 *   refused free          a copy of MPI_COMM_WORLD, by MPI_Comm_free
 *   refused disconnect    the same, by MPI_Comm_disconnect
 *   refused world         MPI_COMM_WORLD
 *   refused jump          the copy; the error handler leaves the call with longjmp()
 *   refused partitioned   the copy, by rank 1 alone
 *   refused beside        nothing is freed: a partitioned send is refused while another thread
 * makes one
 *
 * Two ranks. Prints "refused done" once, "refused none" where MPI has no partitioned communication.
 */
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rank, refuse = 1;
static MPI_Comm comm;
static jmp_buf before_call;

static int on_delete(MPI_Comm of, int key, void* value, void* extra) {
  (void)of, (void)key, (void)extra;
  return *(int*)value ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static void jump(MPI_Comm* of, int* error, ...) {
  (void)of, (void)error;
  longjmp(before_call, 1);
}

static void expect_refused(int rc) {
  if (rc == MPI_SUCCESS) printf("rank %d: freed\n", rank);
}

/* Rank 1 is late, so that rank 0's messages have come before it is refused. */
static void let_messages_come(void) {
  for (int i = 0; rank == 1 && i < 100; ++i) {
    int flag;
    MPI_Iprobe(0, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    usleep(1000);
  }
}

static void collectives(const char* how) {
  MPI_Comm freed = comm;
  int value = 0, sum;
  MPI_Errhandler handler;
  MPI_Barrier(comm);
  let_messages_come();
  if (strcmp(how, "jump") == 0) {
    MPI_Comm_create_errhandler(jump, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (setjmp(before_call) == 0) {
      MPI_Comm_free(&freed);
      printf("rank %d: not left\n", rank);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  } else {
    expect_refused(strcmp(how, "disconnect") == 0 ? MPI_Comm_disconnect(&freed)
                                                  : MPI_Comm_free(&freed));
  }
  for (int i = 0; i < 3; ++i) {
    MPI_Datatype type;
    if (i == 2 - rank) { /* one rank earlier than the other: handles are looked up anew */
      MPI_Type_dup(MPI_INT, &type);
      MPI_Type_free(&type);
      MPI_Comm_dup(MPI_COMM_SELF, &freed);
      MPI_Comm_free(&freed);
    }
    MPI_Bcast(&value, 1, MPI_INT, i % 2, comm);
    MPI_Barrier(comm);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm);
  }
}

#if MPI_VERSION >= 4 && !defined(OPEN_MPI)
static void send_partitions(MPI_Datatype type) {
  static double buffer[8];
  MPI_Request request;
  if (rank == 0) MPI_Psend_init(buffer, 2, 2, type, 1, 5, comm, MPI_INFO_NULL, &request);
  if (rank == 1) MPI_Precv_init(buffer, 2, 2, type, 0, 5, comm, MPI_INFO_NULL, &request);
  MPI_Start(&request);
  for (int i = 0; rank == 0 && i < 2; ++i) MPI_Pready(i, request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
}

static void partitioned(void) {
  MPI_Comm freed = comm;
  send_partitions(MPI_INT);
  send_partitions(MPI_DOUBLE);
  if (rank == 1) expect_refused(MPI_Comm_free(&freed));
  for (int i = 0; i < 3; ++i) {
    send_partitions(MPI_FLOAT);
    send_partitions(MPI_CHAR);
    send_partitions(MPI_SHORT);
  }
}

enum { kRequests = 3 };
static sem_t is_refused;
static MPI_Request requests[kRequests];
static double buffers[kRequests][8];

static void let_other_thread(MPI_Comm* of, int* error, ...) {
  (void)of, (void)error;
  sem_post(&is_refused);
  usleep(300000);
}

static void make(int i, MPI_Datatype type) {
  if (rank == 0)
    MPI_Psend_init(buffers[i], 2, 2, type, 1, 5, comm, MPI_INFO_NULL, &requests[i]);
  else
    MPI_Precv_init(buffers[i], 2, 2, type, 0, 5, comm, MPI_INFO_NULL, &requests[i]);
}

static void* make_first(void* unused) {
  sem_wait(&is_refused);
  make(0, MPI_INT);
  return unused;
}

/* The refused call is made first, and returns while the other one has begun. */
static void make_beside(void) {
  MPI_Errhandler handler;
  MPI_Request none = MPI_REQUEST_NULL;
  pthread_t other;
  sem_init(&is_refused, 0, 0);
  MPI_Comm_create_errhandler(let_other_thread, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  pthread_create(&other, NULL, make_first, NULL);
  expect_refused(
      MPI_Psend_init(buffers[0], 2, 2, MPI_DATATYPE_NULL, 1, 5, comm, MPI_INFO_NULL, &none));
  pthread_join(other, NULL);
}

static void beside(void) {
  if (rank == 0)
    make_beside();
  else
    make(0, MPI_INT);
  make(1, MPI_FLOAT);
  make(2, MPI_SHORT);
  MPI_Startall(kRequests, requests);
  for (int i = 0; rank == 0 && i < kRequests; ++i) MPI_Pready_range(0, 1, requests[i]);
  MPI_Waitall(kRequests, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kRequests; ++i) MPI_Request_free(&requests[i]);
}
#else
static void partitioned(void) {
  if (rank == 0) printf("refused none\n");
}
static void beside(void) { partitioned(); }
#endif

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "free";
  int key, provided;
  MPI_Init_thread(&argc, &argv,
                  strcmp(how, "beside") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  comm = MPI_COMM_WORLD;
  if (strcmp(how, "world") != 0) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_delete, &key, NULL);
  MPI_Comm_set_attr(comm, key, &refuse);
  if (strcmp(how, "partitioned") == 0) {
    partitioned();
  } else if (strcmp(how, "beside") == 0) {
    beside();
  } else {
    collectives(how);
  }
  refuse = 0;
  if (strcmp(how, "world") != 0) MPI_Comm_free(&comm);
  if (rank == 0) printf("refused done\n");
  MPI_Finalize();
  return 0;
}
