/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Correct programs of unusual kinds: arguments that do not count, calls that MPI refuses, requests
 * freed while their messages wait, handles used by the callbacks of their own end, messages of one
 * collective operation during another, communicators of one rank that end, counts of both sizes,
 * predefined types with names of the program's.
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

/* Sends of one tag by turns of two types; of every third the request is freed. */
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
    if (i % 2 == 0)
      MPI_Recv(&values[i], 1, MPI_DOUBLE, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (i % 2 != 0)
      MPI_Recv(&numbers[i], 1, MPI_LONG, from, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(i % 2 == 0 ? values[i] == i : numbers[i] == i);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/* Sends itself a message of the type that is being freed. */
static int use_type(MPI_Datatype type, int keyval, void* value, void* extra) {
  char out[64] = {1}, in[64];
  (void)keyval, (void)value, (void)extra;
  return MPI_Sendrecv(out, 1, type, (rank + 1) % size, kTag, in, 1, type, (rank + size - 1) % size,
                      kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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
    MPI_Sendrecv(out, 1, type, (rank + 1) % size, kTag, in, count, basic[i % 4],
                 (rank + size - 1) % size, kTag, comm, MPI_STATUS_IGNORE);
    MPI_Barrier(comm);
    MPI_Type_free(&type);
    MPI_Comm_free(&comm);
  }
  MPI_Type_free_keyval(&of_types);
  MPI_Comm_free_keyval(&of_comms);
}

/* What a callback calls last returns to the MPI library (when optimized). */
static int free_type(MPI_Comm comm, int keyval, void* type, void* extra) {
  (void)comm, (void)keyval, (void)extra;
  return MPI_Type_free(type);
}
static int free_comm(MPI_Comm comm, int keyval, void* inner, void* extra) {
  (void)comm, (void)keyval, (void)extra;
  return MPI_Comm_free(inner);
}

/* Types and communicators that are kept with another communicator and end with it. */
static void freed_by_callbacks(void) {
  const MPI_Datatype basic[] = {MPI_INT, MPI_DOUBLE, MPI_SHORT, MPI_FLOAT};
  int types, comms;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_type, &types, NULL);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_comm, &comms, NULL);
  for (int i = 0; i < 8; ++i) {
    char out[64] = {1}, in[64];
    MPI_Datatype type;
    MPI_Comm comm, inner;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &inner);
    MPI_Type_contiguous(4, basic[i % 4], &type);
    MPI_Type_commit(&type);
    MPI_Comm_set_attr(comm, types, &type);
    MPI_Comm_set_attr(comm, comms, &inner);
    MPI_Sendrecv(out, 1, type, (rank + 1) % size, kTag, in, 4, basic[i % 4],
                 (rank + size - 1) % size, kTag, inner, MPI_STATUS_IGNORE);
    MPI_Bcast(out, 4, basic[i % 4], 0, inner);
    MPI_Comm_free(&comm);
  }
  MPI_Comm_free_keyval(&types);
  MPI_Comm_free_keyval(&comms);
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

/* The right call in place of the refused one. */
static void call_again(MPI_Comm* comm, int* error, ...) {
  int sum = 0;
  (void)error;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, *comm);
  expect(sum == size * (size - 1) / 2);
}

/* One rank makes a call that MPI refuses; its error handler makes the right one. */
static void refused_and_made_again(void) {
  MPI_Comm comm;
  MPI_Errhandler handler;
  int sum = 0;
  float half = 0.5f, out;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_create_errhandler(call_again, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  if (rank == 1) {
    expect(MPI_Allreduce(&half, &out, 1, MPI_FLOAT, MPI_BAND, comm) != MPI_SUCCESS);
  } else {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
  }
  MPI_Bcast(&sum, 1, MPI_INT, 0, comm);
  MPI_Barrier(comm);
  MPI_Errhandler_free(&handler);
  MPI_Comm_free(&comm);
}

/* One of three requests is none: MPI starts none of them. */
static void started_with_a_null(void) {
  MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int in[2], flag = 0;
  MPI_Recv_init(&in[0], 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[0]);
  MPI_Recv_init(&in[1], 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[2]);
  expect(MPI_Startall(3, requests) != MPI_SUCCESS);
  for (int i = 0; i < 3; i += 2) {
    MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
    expect(flag); /* it is not active */
    if (!flag) MPI_Cancel(&requests[i]);
    if (!flag) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[i]);
  }
}

/* Starts that MPI refuses, or which are none. */
static void started_in_vain(void) {
  MPI_Errhandler of_world, of_self;
  MPI_Request none = MPI_REQUEST_NULL;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &of_world);
  MPI_Comm_get_errhandler(MPI_COMM_SELF, &of_self);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  expect(MPI_Startall(0, &none) == MPI_SUCCESS);
  expect(MPI_Startall(-1, &none) != MPI_SUCCESS);
  expect(MPI_Startall(1, NULL) != MPI_SUCCESS);
  expect(MPI_Start(NULL) != MPI_SUCCESS);
  started_with_a_null();
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, of_world);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, of_self);
  MPI_Errhandler_free(&of_world);
  MPI_Errhandler_free(&of_self);
}

/* Pointers that MPI refuses. */
static void refused_pointers(void) {
  MPI_Errhandler of_world, of_self;
  int data = 0, ones[64], places[64] = {0};
  for (int i = 0; i < 64; ++i) ones[i] = 1;
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &of_world);
  MPI_Comm_get_errhandler(MPI_COMM_SELF, &of_self);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  expect(MPI_Request_free(NULL) != MPI_SUCCESS);
#ifdef OPEN_MPI
  expect(MPI_Type_free(NULL) != MPI_SUCCESS);
  expect(MPI_Alltoallw(&data, ones, places, NULL, &data, ones, places, NULL, MPI_COMM_WORLD) !=
         MPI_SUCCESS);
#else /* each checks others */
  MPI_Request request;
  MPI_Win window;
  (void)places;
  expect(MPI_Comm_free(NULL) != MPI_SUCCESS);
  expect(MPI_Comm_disconnect(NULL) != MPI_SUCCESS);
  expect(MPI_Mrecv(&data, 1, MPI_INT, NULL, MPI_STATUS_IGNORE) != MPI_SUCCESS);
  expect(MPI_Imrecv(&data, 1, MPI_INT, NULL, &request) != MPI_SUCCESS);
  MPI_Win_create(&data, sizeof(data), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
  MPI_Win_fence(0, window);
  expect(MPI_Rput(ones, 1, MPI_INT, rank, 0, 1, MPI_INT, window, NULL) != MPI_SUCCESS);
  MPI_Win_fence(0, window);
  MPI_Win_free(&window);
#endif
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, of_world);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, of_self);
  MPI_Errhandler_free(&of_world);
  MPI_Errhandler_free(&of_self);
}

/* Each rank gives its neighbour another number of elements, while an operation of all is under way.
 */
static void neighbours_meanwhile(void) {
  const int before = (rank + size - 1) % size, after = (rank + 1) % size, weight = 1;
  int in[64], out[64] = {rank};
  MPI_Comm ring;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, &weight, 1, &after, &weight,
                                 MPI_INFO_NULL, 0, &ring);
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

/* What one rank does with a communicator of its own does not concern the others. */
static void alone(void) {
  for (int i = 0; i < 3; ++i) {
    int sum = 0;
    MPI_Comm own;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect(sum == size * (size - 1) / 2);
    if (i == rank) {
      MPI_Comm_dup(MPI_COMM_SELF, &own);
      MPI_Bcast(&sum, 1, MPI_INT, 0, own);
      MPI_Comm_free(&own);
    }
    MPI_Bcast(&sum, 1, MPI_INT, i, MPI_COMM_WORLD);
    MPI_Gather(&rank, 1, MPI_INT, rank == 0 ? (int[64]){0} : NULL, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
}

#if MPI_VERSION >= 4
/* The same, between partitioned messages. */
static void alone_in_parts(void) {
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR, MPI_SHORT};
  double data[8] = {0};
  MPI_Request requests[4];
  for (int i = 0; rank < 2 && i < 4; ++i) {
    MPI_Comm own;
    if (rank == 0)
      MPI_Psend_init(data, 2, 2, types[i], 1, kTag, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
    if (rank == 1)
      MPI_Precv_init(data, 2, 2, types[i], 0, kTag, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
    if (rank == 1 && i == 0) {
      MPI_Comm_dup(MPI_COMM_SELF, &own);
      MPI_Comm_free(&own);
    }
    MPI_Start(&requests[i]);
    for (int part = 0; rank == 0 && part < 2; ++part) MPI_Pready(part, requests[i]);
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  }
  for (int i = 0; rank < 2 && i < 4; ++i) MPI_Request_free(&requests[i]);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* One rank calls the functions with large counts, the others those with usual ones. */
static void large_counts(void) {
  const int is_large = rank == 1;
  int data[64] = {rank}, all[64] = {0}, places[64], counts[64];
  MPI_Count large[64];
  MPI_Aint large_places[64];
  for (int i = 0; i < 64; ++i) {
    large[i] = counts[i] = 1;
    large_places[i] = places[i] = i;
  }
  for (int i = 0; i < 3; ++i) {
    MPI_Request request;
    if (is_large) {
      MPI_Bcast_c(all, 4, MPI_INT, 0, MPI_COMM_WORLD);
      MPI_Iallreduce_c(data, all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    } else {
      MPI_Bcast(all, 4, MPI_INT, 0, MPI_COMM_WORLD);
      MPI_Iallreduce(data, all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(all[0] == size * (size - 1) / 2);
    if (is_large) {
      MPI_Allgatherv_c(data, 1, MPI_INT, all, large, large_places, MPI_INT, MPI_COMM_WORLD);
      MPI_Alltoallv_c(all, large, large_places, MPI_INT, data + 32, large, large_places, MPI_INT,
                      MPI_COMM_WORLD);
    } else {
      MPI_Allgatherv(data, 1, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
      MPI_Alltoallv(all, counts, places, MPI_INT, data + 32, counts, places, MPI_INT,
                    MPI_COMM_WORLD);
    }
    expect(all[size - 1] == size - 1 && data[32] == rank);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}
#endif

/* A name is for people. Not used before. */
static void renamed(void) {
  unsigned long long value = (unsigned long long)rank;
  MPI_Datatype copy;
  if (rank == 0) MPI_Type_set_name(MPI_UNSIGNED_LONG_LONG, "MPI_DOUBLE");
  MPI_Type_dup(MPI_UNSIGNED_LONG_LONG, &copy);
  MPI_Sendrecv_replace(&value, 1, rank == 0 ? copy : MPI_UNSIGNED_LONG_LONG, (rank + 1) % size,
                       kTag, (rank + size - 1) % size, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  expect(value == (unsigned long long)((rank + size - 1) % size));
  MPI_Type_free(&copy);
}

int main(int argc, char** argv) {
  int all_wrong = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  watch_start(rank, 60);
  freed_while_they_wait();
  refused(); /* before callbacks use communicators that are ending: numbers like theirs are not
                compared any more */
  refused_and_made_again();
  freed_by_callbacks();
  used_by_callbacks();
  started_in_vain();
  refused_pointers();
  neighbours_meanwhile();
  between_groups();
  alone();
#if MPI_VERSION >= 4
  alone_in_parts();
  large_counts();
#endif
  renamed();
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("legal wrong %d\n", all_wrong);
  watch_stop();
  MPI_Finalize();
  return 0;
}
