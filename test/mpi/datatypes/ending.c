/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Correct programs that use a handle during the call that frees it, by the delete callback of an
 * attribute of it, and then others that have its place.
 *
 *   ending type      the callback has another thread send itself a message of the type
 *   ending nest N    N types: each one's callback does so itself, and frees the next one
 *   ending comm      the callback has another thread send itself a message in the communicator
 *   ending mixed     rank 0's callback makes the collective call that rank 1 makes before
 *   ending again     another thread makes a communicator, which has the freed one's place, and uses
 *                    it before MPI_Comm_free returns
 *
 * Two ranks. Prints "ending done" once, and "ending in its place" where a handle came again.
 * Exit status 77 when the MPI library gives no MPI_THREAD_MULTIPLE, 3 hang. Compiled as a library
 * (-DLIBRARY) it stands between the program and MPI, and `again` needs it.
 */
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watch.h"

void freed_comm(void) __attribute__((weak));

#ifdef LIBRARY
int MPI_Comm_free(MPI_Comm* comm) {
  const int rc = PMPI_Comm_free(comm);
  if (freed_comm != NULL) freed_comm();
  return rc;
}
#else
enum { kSkip = 77, kSeconds = 20, kMost = 400, kAfter = 20, kComms = 4 };

static int rank, came_again;
static MPI_Datatype types[kMost];
static int nested;

/* What the callback has another thread do. */
static sem_t requested, finished;
static MPI_Datatype its_type;
static MPI_Comm its_comm, made[kComms];
static MPI_Comm old;
static int is_again;

static void send_itself(MPI_Datatype type, int self, MPI_Comm comm) {
  char out[64] = {0}, in[64];
  MPI_Sendrecv(out, 1, type, self, 0, in, 1, type, self, 0, comm, MPI_STATUS_IGNORE);
}

static void* send_typed(void* unused) {
  sem_wait(&requested);
  send_itself(its_type, 0, MPI_COMM_SELF);
  sem_post(&finished);
  return unused;
}
static void* send_in_comm(void* unused) {
  sem_wait(&requested);
  send_itself(MPI_INT, rank, its_comm);
  sem_post(&finished);
  return unused;
}
static void* make_again(void* unused) {
  int value = 0;
  sem_wait(&requested);
  for (int i = 0; i < kComms; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &made[i]);
    came_again |= made[i] == old;
    MPI_Bcast(&value, 1, MPI_INT, 0, made[i]);
  }
  sem_post(&finished);
  return unused;
}

static void let_other_thread(void) {
  sem_post(&requested);
  sem_wait(&finished);
}

static int on_type(MPI_Datatype type, int key, void* value, void* extra) {
  (void)key, (void)value, (void)extra;
  its_type = type;
  let_other_thread();
  return MPI_SUCCESS;
}
static int on_nested(MPI_Datatype type, int key, void* value, void* extra) {
  const int next = (int)((MPI_Datatype*)value - types) + 1;
  (void)key, (void)extra;
  send_itself(type, 0, MPI_COMM_SELF);
  if (next < nested) MPI_Type_free(&types[next]);
  return MPI_SUCCESS;
}
static int on_comm(MPI_Comm comm, int key, void* value, void* extra) {
  (void)key, (void)value, (void)extra;
  its_comm = comm;
  if (rank == 0) let_other_thread();
  return MPI_SUCCESS;
}
static int on_mixed(MPI_Comm comm, int key, void* value, void* extra) {
  int highest;
  (void)key, (void)value, (void)extra;
  return MPI_Allreduce(&rank, &highest, 1, MPI_INT, MPI_MAX, comm);
}

/* Rank 0 frees types of 4 integers, of which the first one's callback does the rest. */
static void free_types(int count, MPI_Type_delete_attr_function* callback) {
  static MPI_Datatype before[kMost];
  int key;
  nested = count;
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, callback, &key, NULL);
  for (int i = 0; i < count; ++i) {
    MPI_Type_contiguous(4, MPI_INT, &types[i]);
    MPI_Type_commit(&types[i]);
    MPI_Type_set_attr(types[i], key, &types[i]);
    before[i] = types[i];
  }
  if (count > 0) MPI_Type_free(&types[0]);
  MPI_Type_free_keyval(&key);
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kAfter; ++i) {
    double pair[2] = {1, 2};
    MPI_Type_contiguous(2, MPI_DOUBLE, &types[i]);
    MPI_Type_commit(&types[i]);
    for (int j = 0; j < count; ++j) came_again |= types[i] == before[j];
    if (rank == 0) MPI_Send(pair, 1, types[i], 1, 0, MPI_COMM_WORLD);
    if (rank == 1) MPI_Recv(pair, 1, types[i], 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  for (int i = 0; i < kAfter; ++i) MPI_Type_free(&types[i]);
}

static void use_comms(MPI_Comm* comms) {
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kComms; ++i) {
      int value = i, sum = 0;
      double real = i;
      if ((i + round) % 2 != 0) MPI_Bcast(&value, 1, MPI_INT, 0, comms[i]);
      if ((i + round) % 2 == 0) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comms[i]);
      if (rank == 0) MPI_Send(&real, 1, MPI_DOUBLE, 1, 3, comms[i]);
      if (rank == 1) MPI_Recv(&real, 1, MPI_DOUBLE, 0, 3, comms[i], MPI_STATUS_IGNORE);
    }
  }
  for (int i = 0; i < kComms; ++i) MPI_Comm_free(&comms[i]);
}

/* The second one's callback runs when the first one's tags are free. */
static void free_comms(MPI_Comm_delete_attr_function* callback) {
  MPI_Comm first, second, comms[kComms];
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, callback, &key, NULL);
  MPI_Comm_dup(MPI_COMM_WORLD, &first);
  MPI_Comm_dup(MPI_COMM_WORLD, &second);
  MPI_Barrier(first);
  MPI_Barrier(second);
  if (callback != on_mixed || rank == 0) MPI_Comm_set_attr(second, key, NULL);
  old = second;
  MPI_Comm_free(&first);
  if (callback == on_mixed && rank == 1) on_mixed(second, key, NULL, NULL);
  MPI_Comm_free(&second);
  MPI_Comm_free_keyval(&key);
  for (int i = 0; i < kComms; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    came_again |= comms[i] == old;
  }
  use_comms(comms);
}

/* The library calls it. */
void freed_comm(void) {
  if (is_again && rank == 0) let_other_thread();
}

static void make_in_its_place(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Barrier(comm);
  old = comm;
  is_again = 1;
  MPI_Comm_free(&comm);
  if (rank == 1) {
    sem_post(&requested);
    sem_wait(&finished);
  }
  is_again = 0;
  use_comms(made);
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  void* (*other)(void*) = NULL;
  pthread_t thread;
  int level;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (level < MPI_THREAD_MULTIPLE) {
    MPI_Finalize();
    return kSkip;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  watch_start(rank, kSeconds);
  sem_init(&requested, 0, 0);
  sem_init(&finished, 0, 0);
  if (strcmp(how, "type") == 0 && rank == 0) other = send_typed;
  if (strcmp(how, "comm") == 0 && rank == 0) other = send_in_comm;
  if (strcmp(how, "again") == 0) other = make_again;
  if (other != NULL) pthread_create(&thread, NULL, other, NULL);
  if (strcmp(how, "type") == 0) free_types(rank == 0 ? 1 : 0, on_type);
  if (strcmp(how, "nest") == 0) free_types(rank == 0 ? atoi(argv[2]) : 0, on_nested);
  if (strcmp(how, "comm") == 0) free_comms(on_comm);
  if (strcmp(how, "mixed") == 0) free_comms(on_mixed);
  if (strcmp(how, "again") == 0) make_in_its_place();
  if (other != NULL) pthread_join(thread, NULL);
  if (rank == 0) printf("%sending done\n", came_again ? "ending in its place\n" : "");
  watch_stop();
  MPI_Finalize();
  return 0;
}
#endif
