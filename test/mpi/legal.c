/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Correct programs of unusual kinds: arguments that do not count, calls that MPI refuses, requests freed while their messages wait,
 * handles used by the callbacks of their own end, messages of one collective operation during another.
 *
 *   mpirun -np 4 legal
 *
 * Last line of rank 0: legal wrong N
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

#include "watch.h"

enum { kMessages = 200, kTag = 7 };

static int rank, size, wrong;

static void expect(int is_right) { wrong += !is_right; }

/* Sends of one tag by turns of two types; of every third nobody keeps the request. */
static void freed_while_they_wait(void) {
  static double values[kMessages];
  static long numbers[kMessages];
  MPI_Request requests[kMessages];
  const int to = 1, from = 0;
  for (int i = 0; i < kMessages; ++i) {
    if (rank == from) {
      values[i] = numbers[i] = i;
      if (i % 2 == 0) MPI_Isend(&values[i], 1, MPI_DOUBLE, to, kTag, MPI_COMM_WORLD, &requests[i]);
      if (i % 2 != 0) MPI_Isend(&numbers[i], 1, MPI_LONG, to, kTag, MPI_COMM_WORLD, &requests[i]);
      if (i % 3 == 0) MPI_Request_free(&requests[i]);
    }
  }
  if (rank == from) MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE);
  for (int i = 0; rank == to && i < kMessages; ++i) {
    if (i % 2 == 0) MPI_Recv(&values[i], 1, MPI_DOUBLE, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (i % 2 != 0) MPI_Recv(&numbers[i], 1, MPI_LONG, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(i % 2 == 0 ? values[i] == i : numbers[i] == i);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Sends itself a message of the type that is being freed. */
static int use_type(MPI_Datatype type, int keyval, void* value, void* extra) {
  char out[64] = {1}, in[64];
  (void)keyval, (void)value, (void)extra;
  return MPI_Sendrecv(out, 1, type, (rank + 1) % size, kTag, in, 1, type, (rank + size - 1) % size, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The same of the communicator. */
static int use_comm(MPI_Comm comm, int keyval, void* value, void* extra) {
  int sum;
  (void)keyval, (void)value, (void)extra;
  return MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
}

static void used_by_callbacks(void) {
  const MPI_Datatype basic[] = {MPI_INT, MPI_DOUBLE, MPI_SHORT, MPI_FLOAT};
  int of_types, of_comms;
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, use_type, &of_types, NULL);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, use_comm, &of_comms, NULL);
  for (int i = 0; i < 24; ++i) {
    const int count = 2 + i % 3;
    char out[64] = {1}, in[64];
    MPI_Datatype type;
    MPI_Comm comm;
    MPI_Type_contiguous(count, basic[i % 4], &type);
    MPI_Type_commit(&type);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (i % 2 == 0) MPI_Type_set_attr(type, of_types, NULL);
    if (i % 2 == 0) MPI_Comm_set_attr(comm, of_comms, NULL);
    MPI_Sendrecv(out, 1, type, (rank + 1) % size, kTag, in, count, basic[i % 4], (rank + size - 1) % size, kTag, comm, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
    MPI_Type_free(&type);
    MPI_Comm_free(&comm);
  }
  MPI_Type_free_keyval(&of_types);
  MPI_Comm_free_keyval(&of_comms);
}

/* One rank makes two calls that MPI refuses, and goes on. */
static void refused(void) {
  MPI_Comm comm;
  int sum = 0;
  float half = 0.5f, out;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (rank == 1) {
    expect(MPI_Bcast(&sum, -1, MPI_INT, 0, comm) != MPI_SUCCESS);
    expect(MPI_Allreduce(&half, &out, 1, MPI_FLOAT, MPI_BAND, comm) != MPI_SUCCESS);
  }
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  expect(sum == size * (size - 1) / 2);
  MPI_Bcast(&sum, 1, MPI_INT, 1, comm);
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
}

/* Each rank gives its neighbour another number of elements, while an operation of all is under way. */
static void neighbours_meanwhile(void) {
  const int before = (rank + size - 1) % size, after = (rank + 1) % size, weight = 1;
  int in[64], out[64] = {rank};
  MPI_Comm ring;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, &weight, 1, &after, &weight, MPI_INFO_NULL, 0, &ring);
  for (int i = 0; i < 100; ++i) {
    MPI_Request requests[2];
    int sum = 0;
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, ring, &requests[0]);
    MPI_Ibarrier(ring, &requests[1]);
    MPI_Neighbor_allgather(out, rank + 1, MPI_INT, in, before + 1, MPI_INT, ring);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect(in[0] == before && sum == size * (size - 1) / 2);
  }
  MPI_Comm_free(&ring);
}

/* Between two groups: what does not count is no datatype at all. */
static void between_groups(void) {
  const MPI_Datatype none = (MPI_Datatype)(intptr_t)0x7ead1230;
  const int second = rank >= size / 2;
  int in[64] = {0};
  MPI_Comm group, both;
  MPI_Comm_split(MPI_COMM_WORLD, second, rank, &group);
  MPI_Intercomm_create(group, 0, MPI_COMM_WORLD, second ? 0 : size / 2, kTag, &both);
  if (second) {
    MPI_Gather(&rank, 1, MPI_INT, NULL, 0, none, 0, both);
    MPI_Scatter(NULL, 0, none, in, 1, MPI_INT, 0, both);
    expect(in[0] == rank);
  } else if (rank == 0) {
    MPI_Gather(NULL, 0, none, in, 1, MPI_INT, MPI_ROOT, both);
    expect(in[0] == size / 2);
    MPI_Scatter(in, 1, MPI_INT, NULL, 0, none, MPI_ROOT, both);
  } else {
    MPI_Gather(NULL, 0, none, NULL, 0, none, MPI_PROC_NULL, both);
    MPI_Scatter(NULL, 0, none, NULL, 0, none, MPI_PROC_NULL, both);
  }
  MPI_Comm_free(&both);
  MPI_Comm_free(&group);
}

int main(int argc, char** argv) {
  int all_wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  watch_start(rank, 60);
  freed_while_they_wait();
  used_by_callbacks();
  refused();
  neighbours_meanwhile();
  between_groups();
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("legal wrong %d\n", all_wrong);
  watch_stop();
  MPI_Finalize();
  return 0;
}
