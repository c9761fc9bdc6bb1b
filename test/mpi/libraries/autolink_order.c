/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Several structures under way at once between two ranks: each receive takes the one that MPI's
 * order gives it, whichever request is tested first.
 *
 * Usage: autolink_order CASE [NODES [PACKET-BYTES]], a CASE of `cases` below
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucx-verity/autolink_mpi.h>

#include "autolink_list.h"

enum { kTag = 3, kOtherTag = 4, kFirst = 1000, kSecond = 2000000, kThird = 40000000 };

static int rank, wrong;
static long count = 1000;
static struct verity_autolink_options options;
static const struct verity_autolink_type type = {&node_schema, node_number_node, &options};

static void expect(int is_right, const char* what) {
  if (is_right) return;
  ++wrong;
  printf("rank %d: WRONG: %s (%s)\n", rank, what, verity_autolink_error());
}
#define SUCCEEDS(call) expect((call) == MPI_SUCCESS, #call)

typedef verity_autolink_request* request;

static void check_structure(verity_autolink_structure* s, long seed, const char* what) {
  expect(s != NULL && wrong_nodes(verity_autolink_root(s), count, seed) == 0, what);
  verity_autolink_free(s);
}

static request begin_receive(int source, int tag, verity_autolink_structure** s) {
  request made = NULL;
  SUCCEEDS(verity_autolink_irecv(&type, source, tag, MPI_COMM_WORLD, s, &made));
  return made;
}
static request begin_send(const struct list* l, int tag) {
  request made = NULL;
  SUCCEEDS(verity_autolink_isend(&type, l->nodes, 1, 1 - rank, tag, MPI_COMM_WORLD, &made));
  return made;
}
static void send_now(long seed, int tag) {
  struct list l = make(count, seed);
  SUCCEEDS(verity_autolink_send(&type, l.nodes, 1, 1 - rank, tag, MPI_COMM_WORLD));
  release(&l);
}
static verity_autolink_structure* receive_now(int source, int tag) {
  verity_autolink_structure* s = NULL;
  SUCCEEDS(verity_autolink_recv(&type, source, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE, &s));
  return s;
}

/* The second of two receives is waited for first. */
static void swapped(void) {
  if (rank == 1) return send_now(kFirst, kTag), send_now(kSecond, kTag);
  verity_autolink_structure *s1 = NULL, *s2 = NULL;
  request r1 = begin_receive(1, kTag, &s1), r2 = begin_receive(1, kTag, &s2);
  SUCCEEDS(verity_autolink_wait(&r2));
  SUCCEEDS(verity_autolink_wait(&r1));
  check_structure(s1, kFirst, "the first receive got the first structure");
  check_structure(s2, kSecond, "the second receive got the second structure");
}

/* They are tested in turns. */
static void turns(void) {
  if (rank == 1) return send_now(kFirst, kTag), send_now(kSecond, kTag);
  verity_autolink_structure *s1 = NULL, *s2 = NULL;
  request r1 = begin_receive(1, kTag, &s1), r2 = begin_receive(1, kTag, &s2);
  while (r1 != NULL || r2 != NULL) {
    int flag = 0;
    SUCCEEDS(verity_autolink_test(&r2, &flag));
    SUCCEEDS(verity_autolink_test(&r1, &flag));
  }
  check_structure(s1, kFirst, "the first receive got the first structure");
  check_structure(s2, kSecond, "the second receive got the second structure");
}

/* Sends overlap, and a blocking one begins while they are under way. */
static void sends(void) {
  if (rank == 0) {
    check_structure(receive_now(1, kTag), kFirst, "the first structure");
    check_structure(receive_now(1, kTag), kSecond, "the second structure");
    check_structure(receive_now(1, kTag), kThird, "the third structure");
    return;
  }
  struct list first = make(count, kFirst), second = make(count, kSecond);
  request a = begin_send(&first, kTag), b = begin_send(&second, kTag);
  send_now(kThird, kTag);
  SUCCEEDS(verity_autolink_wait(&b));
  SUCCEEDS(verity_autolink_wait(&a));
  release(&first);
  release(&second);
}

/* A receive from anywhere, one of any tag, and a blocking one behind them. */
static void wildcards(void) {
  if (rank == 1)
    return send_now(kFirst, kTag), send_now(kSecond, kTag), send_now(kThird, kOtherTag);
  verity_autolink_structure *s1 = NULL, *s2 = NULL;
  request r1 = begin_receive(MPI_ANY_SOURCE, kTag, &s1), r2 = begin_receive(1, MPI_ANY_TAG, &s2);
  check_structure(receive_now(MPI_ANY_SOURCE, MPI_ANY_TAG), kThird, "the blocking receive");
  SUCCEEDS(verity_autolink_wait(&r2));
  SUCCEEDS(verity_autolink_wait(&r1));
  check_structure(s1, kFirst, "from anywhere");
  check_structure(s2, kSecond, "of any tag");
}

/* A receive does not wait for an earlier one that takes none of its messages. */
static void other_tag(void) {
  if (rank == 1) {
    send_now(kFirst, kOtherTag);
    MPI_Barrier(MPI_COMM_WORLD);
    return send_now(kSecond, kTag);
  }
  verity_autolink_structure* s = NULL;
  request r = begin_receive(1, kTag, &s);
  check_structure(receive_now(MPI_ANY_SOURCE, MPI_ANY_TAG), kFirst, "of the other tag");
  MPI_Barrier(MPI_COMM_WORLD);
  SUCCEEDS(verity_autolink_wait(&r));
  check_structure(s, kSecond, "the earlier receive");
}

/* Both ranks block in a send: what was begun before goes on meanwhile. */
static void crossing(void) {
  verity_autolink_structure* s = NULL;
  request r = begin_receive(1 - rank, kTag, &s);
  send_now(kFirst + rank, kTag);
  SUCCEEDS(verity_autolink_wait(&r));
  check_structure(s, kFirst + 1 - rank, "what crossed");
}

/* So does a send behind which another one, of another tag, is waited for. */
static void other_order(void) {
  if (rank == 0) {
    check_structure(receive_now(1, kOtherTag), kSecond, "the second structure");
    check_structure(receive_now(1, kTag), kFirst, "the first structure");
    return;
  }
  struct list first = make(count, kFirst), second = make(count, kSecond);
  request a = begin_send(&first, kTag), b = begin_send(&second, kOtherTag);
  SUCCEEDS(verity_autolink_wait(&a));
  SUCCEEDS(verity_autolink_wait(&b));
  release(&first);
  release(&second);
}

/* What is no structure ends the receive that it belongs to, whichever one is tested. */
static void foreign(void) {
  if (rank == 1) {
    MPI_Send("no structure", 13, MPI_CHAR, 0, kTag, MPI_COMM_WORLD);
    return send_now(kSecond, kTag);
  }
  verity_autolink_structure *s1 = NULL, *s2 = NULL;
  request r1 = begin_receive(1, kTag, &s1), r2 = begin_receive(1, kTag, &s2);
  SUCCEEDS(verity_autolink_wait(&r2));
  check_structure(s2, kSecond, "the second receive");
  expect(verity_autolink_wait(&r1) == MPI_ERR_TRUNCATE && s1 == NULL, "the first receive fails");
  expect(strstr(verity_autolink_error(), "shorter than a header") != NULL, "and says why");
}

/* A test returns while the sender is busy with something else. */
static void busy(void) {
  if (rank == 1) {
    struct list l = make(count, kFirst);
    request r = begin_send(&l, kTag);
    for (const double end = MPI_Wtime() + 2; MPI_Wtime() < end;) {}
    SUCCEEDS(verity_autolink_wait(&r));
    return release(&l);
  }
  verity_autolink_structure* s = NULL;
  request r = begin_receive(1, kTag, &s);
  double longest = 0;
  for (int flag = 0; flag == 0;) {
    const double begin = MPI_Wtime();
    SUCCEEDS(verity_autolink_test(&r, &flag));
    if (MPI_Wtime() - begin > longest) longest = MPI_Wtime() - begin;
  }
  expect(longest < 1, "no test takes a second");
  check_structure(s, kFirst, "what came");
}

/* Requests end with their communicator, and leave others alone. */
static void freed(void) {
  MPI_Comm own;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  verity_autolink_structure *lost = NULL, *s = NULL;
  request r = NULL;
  if (rank == 0) SUCCEEDS(verity_autolink_irecv(&type, 1, kTag, own, &lost, &r));
  MPI_Comm_free(&own);
  MPI_Comm_dup(MPI_COMM_WORLD, &own); /* which may have the same handle */
  struct list l = make(count, kFirst);
  if (rank == 1) SUCCEEDS(verity_autolink_send(&type, l.nodes, 1, 0, kTag, own));
  release(&l);
  if (rank == 0) {
    SUCCEEDS(verity_autolink_recv(&type, 1, kTag, own, MPI_STATUS_IGNORE, &s));
    check_structure(s, kFirst, "over another communicator");
    expect(verity_autolink_wait(&r) == MPI_ERR_COMM && lost == NULL, "the lost receive");
  }
  MPI_Comm_free(&own);
}

/* MPI_PROC_NULL: sends and receives end at once, with no structure and a count of 0. */
static void proc_null(void) {
  verity_autolink_structure *s = NULL, *none = NULL;
  request anything = begin_receive(MPI_ANY_SOURCE, kTag, &s);
  int length = -1;
  MPI_Status status = {0};
  status.MPI_TAG = kTag;
  SUCCEEDS(verity_autolink_recv(&type, MPI_PROC_NULL, kTag, MPI_COMM_WORLD, &status, &none));
  MPI_Get_count(&status, MPI_BYTE, &length);
  expect(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG && length == 0,
         "the status that MPI_Recv has");
  expect(
      none == NULL && verity_autolink_root(none) == NULL && verity_autolink_root_count(none) == 0,
      "no structure");
  struct list l = make(count, kFirst);
  SUCCEEDS(verity_autolink_send(&type, l.nodes, 1, MPI_PROC_NULL, kTag, MPI_COMM_WORLD));
  request r = NULL;
  SUCCEEDS(verity_autolink_isend(&type, l.nodes, 1, MPI_PROC_NULL, kTag, MPI_COMM_WORLD, &r));
  int flag = 0;
  SUCCEEDS(verity_autolink_test(&r, &flag));
  expect(flag != 0 && r == NULL, "a send ends with its first test");
  r = begin_receive(MPI_PROC_NULL, MPI_ANY_TAG, &none);
  SUCCEEDS(verity_autolink_test(&r, &flag));
  expect(flag != 0 && r == NULL && none == NULL, "a receive ends with its first test");
  release(&l);
  send_now(kFirst + rank, kTag);
  SUCCEEDS(verity_autolink_wait(&anything));
  check_structure(s, kFirst + 1 - rank, "the receive from anywhere");
}

static const struct {
  const char* name;
  void (*run)(void);
} cases[] = {{"swapped", swapped},
             {"turns", turns},
             {"sends", sends},
             {"wildcards", wildcards},
             {"other-tag", other_tag},
             {"crossing", crossing},
             {"other-order", other_order},
             {"foreign", foreign},
             {"freed", freed},
             {"proc-null", proc_null},
             {"busy", busy}};

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* name = argc > 1 ? argv[1] : "";
  if (argc > 2) count = atol(argv[2]);
  if (argc > 3) options.packet_bytes = (uint64_t)atol(argv[3]);
  int found = 0, all = 0;
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    if (strcmp(name, cases[i].name) == 0) cases[i].run(), found = 1;
  }
  expect(found, "there is no such case");
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%s of %ld nodes: %d wrong expectations\n", name, count, all);
  MPI_Finalize();
  return 0;
}
