/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Linked structures over MPI: lists with shared nodes and cycles go from rank to rank, and are
 * compared with what was sent.
 *
 * Usage: autolink MODE [NODES]
 *
 *   p2p         rank 0 to all others, blocking; back without blocking, all at once
 *   collective  bcast, scatter, gather, allgather, reduce
 *   time        p2p against a serializer written by hand for this type, in turns: medians of 7
 * pairs
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucx-verity/autolink_mpi.h>

#include "autolink_list.h"

enum { kTag = 3 };

static int rank, ranks, wrong;
static struct verity_autolink_options options;
static const struct verity_autolink_type type = {&node_schema, node_number_node, &options};

static void expect(int is_right, const char* what) {
  if (is_right) return;
  ++wrong;
  printf("rank %d: WRONG: %s (%s)\n", rank, what, verity_autolink_error());
}

/* Whether what arrived is what make() makes. */
static void compare(const verity_autolink_structure* s, long count, long seed, const char* what) {
  expect(wrong_nodes(verity_autolink_root(s), count, seed) == 0, what);
}

static void p2p(long count) {
  if (rank == 0) {
    struct list l = make(count, 1);
    for (int i = 1; i < ranks; ++i)
      expect(verity_autolink_send(&type, l.nodes, 1, i, kTag, MPI_COMM_WORLD) == MPI_SUCCESS,
             "send");
    release(&l);
    verity_autolink_structure** got = calloc((size_t)ranks, sizeof(*got));
    verity_autolink_request** requests = calloc((size_t)ranks, sizeof(*requests));
    for (int i = 1; i < ranks; ++i)
      expect(verity_autolink_irecv(&type, i, kTag, MPI_COMM_WORLD, &got[i], &requests[i]) ==
                 MPI_SUCCESS,
             "irecv");
    for (int left = ranks - 1; left > 0;) {
      for (int i = 1; i < ranks; ++i) {
        int flag = 0;
        if (requests[i] == NULL) continue;
        expect(verity_autolink_test(&requests[i], &flag) == MPI_SUCCESS, "test");
        left -= flag;
      }
    }
    for (int i = 1; i < ranks; ++i) {
      compare(got[i], count, 100 * i, "what came back");
      verity_autolink_free(got[i]);
    }
    free(got);
    free(requests);
  } else {
    verity_autolink_structure* s = NULL;
    MPI_Status status;
    expect(verity_autolink_recv(&type, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status, &s) ==
               MPI_SUCCESS,
           "recv");
    expect(status.MPI_SOURCE == 0 && status.MPI_TAG == kTag, "status");
    compare(s, count, 1, "what arrived");
    verity_autolink_free(s);
    struct list l = make(count, 100 * rank);
    verity_autolink_request* request = NULL;
    expect(
        verity_autolink_isend(&type, l.nodes, 1, 0, kTag, MPI_COMM_WORLD, &request) == MPI_SUCCESS,
        "isend");
    expect(verity_autolink_wait(&request) == MPI_SUCCESS && request == NULL, "wait");
    release(&l);
  }
}

/* Adds their values to ours, node by node. */
static void* add(void* mine, const void* theirs, void* context) {
  struct node* a = mine;
  const struct node* b = theirs;
  ++*(int*)context;
  do {
    a->value += b->value;
    a = a->next;
    b = b->next;
  } while (b != theirs);
  return mine;
}

static void collective(long count) {
  verity_autolink_structure* s = NULL;
  verity_autolink_structure** all = calloc((size_t)ranks, sizeof(*all));
  struct list l = make(count, 10 * rank);
  const int root = ranks - 1;
  expect(verity_autolink_bcast(&type, rank == root ? l.nodes : NULL, 1, root, MPI_COMM_WORLD, &s) ==
             MPI_SUCCESS,
         "bcast");
  expect((s == NULL) == (rank == root), "bcast's root");
  if (s != NULL) compare(s, count, 10 * root, "after bcast");
  verity_autolink_free(s);

  struct list* each = calloc((size_t)ranks, sizeof(*each));
  const void** roots = calloc((size_t)ranks, sizeof(*roots));
  uint64_t* counts = calloc((size_t)ranks, sizeof(*counts));
  for (int i = 0; i < ranks && rank == root; ++i) {
    each[i] = make(count + i, 1000 * i);
    roots[i] = each[i].nodes;
    counts[i] = 1;
  }
  expect(verity_autolink_scatter(&type, roots, counts, root, MPI_COMM_WORLD, &s) == MPI_SUCCESS,
         "scatter");
  compare(s, count + rank, 1000 * rank, "after scatter");
  verity_autolink_free(s);
  for (int i = 0; i < ranks; ++i) release(&each[i]);
  free(each);
  free(roots);
  free(counts);

  expect(verity_autolink_gather(&type, l.nodes, 1, root, MPI_COMM_WORLD, all) == MPI_SUCCESS,
         "gather");
  for (int i = 0; i < ranks && rank == root; ++i) {
    compare(all[i], count, 10 * i, "after gather");
    verity_autolink_free(all[i]);
  }
  expect(verity_autolink_allgather(&type, l.nodes, 1, MPI_COMM_WORLD, all) == MPI_SUCCESS,
         "allgather");
  for (int i = 0; i < ranks; ++i) {
    compare(all[i], count, 10 * i, "after allgather");
    verity_autolink_free(all[i]);
  }

  int merged = 0;
  void* result = NULL;
  expect(verity_autolink_reduce(&type, l.nodes, add, &merged, root, MPI_COMM_WORLD, &result) ==
             MPI_SUCCESS,
         "reduce");
  expect((result != NULL) == (rank == root), "reduce's root");
  if (rank == root) {
    const struct node* n = result;
    long sum = 0;
    for (int i = 0; i < ranks; ++i) sum += 10 * i;
    for (long i = 0; i < count; ++i, n = n->next)
      expect(n->value == sum + ranks * i, "the sum of a node");
  }
  MPI_Allreduce(MPI_IN_PLACE, &merged, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  expect(merged == ranks - 1, "the number of merges");
  release(&l);
  free(all);
}

/* What a programmer would write for just this type: nodes with indices in the place of pointers,
 * then the data. */
static void send_by_hand(const struct list* l, long count) {
  struct node* nodes = malloc((size_t)count * sizeof(*nodes));
  memcpy(nodes, l->nodes, (size_t)count * sizeof(*nodes));
  for (long i = 0; i < count; ++i) {
    nodes[i].next = (struct node*)(intptr_t)(l->nodes[i].next - l->nodes + 1);
    nodes[i].other = (struct node*)(intptr_t)(l->nodes[i].other - l->nodes + 1);
  }
  MPI_Send(nodes, (int)((size_t)count * sizeof(*nodes)), MPI_BYTE, 1, kTag, MPI_COMM_WORLD);
  MPI_Send(l->data, (int)count * 2, MPI_DOUBLE, 1, kTag, MPI_COMM_WORLD);
  free(nodes);
}
static void receive_by_hand(struct list* l, long count) {
  MPI_Recv(l->nodes, (int)((size_t)count * sizeof(*l->nodes)), MPI_BYTE, 0, kTag, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  MPI_Recv(l->data, (int)count * 2, MPI_DOUBLE, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (long i = 0; i < count; ++i) {
    l->nodes[i].next = &l->nodes[(intptr_t)l->nodes[i].next - 1];
    l->nodes[i].other = &l->nodes[(intptr_t)l->nodes[i].other - 1];
    l->nodes[i].data = &l->data[2 * i];
    l->nodes[i].into = &l->data[2 * i + 1];
  }
}

static int by_value(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void times(long count) {
  enum { kPairs = 7 };
  double seconds[2][kPairs], ratios[kPairs];
  struct list l = make(count, 1);
  for (int pair = 0; pair < kPairs && rank < 2; ++pair) {
    for (int which = 0; which < 2; ++which) {
      char token = 0;
      verity_autolink_structure* s = NULL;
      MPI_Sendrecv_replace(&token, 1, MPI_CHAR, 1 - rank, 1, 1 - rank, 1, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE);
      const double begin = MPI_Wtime();
      if (which == 0) {
        if (rank == 0)
          expect(verity_autolink_send(&type, l.nodes, 1, 1, kTag, MPI_COMM_WORLD) == MPI_SUCCESS,
                 "send");
        if (rank == 1)
          expect(verity_autolink_recv(&type, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE, &s) ==
                     MPI_SUCCESS,
                 "recv");
      } else {
        if (rank == 0) send_by_hand(&l, count);
        if (rank == 1) receive_by_hand(&l, count);
      }
      seconds[which][pair] = MPI_Wtime() - begin;
      verity_autolink_free(s);
    }
    ratios[pair] = seconds[0][pair] / seconds[1][pair];
  }
  if (rank == 1) {
    const double bytes = (double)count * (sizeof(struct node) + 2 * sizeof(double));
    qsort(seconds[0], kPairs, sizeof(double), by_value);
    qsort(seconds[1], kPairs, sizeof(double), by_value);
    qsort(ratios, kPairs, sizeof(double), by_value);
    printf(
        "time %ld nodes: autolink %.1f ms (%.0f MB/s), by hand %.1f ms, ratio %.2f (%.2f to "
        "%.2f)\n",
        count, seconds[0][kPairs / 2] * 1e3, bytes / seconds[0][kPairs / 2] / 1e6,
        seconds[1][kPairs / 2] * 1e3, ratios[kPairs / 2], ratios[0], ratios[kPairs - 1]);
  }
  release(&l);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* mode = argc > 1 ? argv[1] : "p2p";
  const long count = argc > 2 ? atol(argv[2]) : 1000;
  if (argc > 3) options.packet_bytes = (uint64_t)atol(argv[3]);
  if (strcmp(mode, "p2p") == 0) p2p(count);
  if (strcmp(mode, "collective") == 0) collective(count);
  if (strcmp(mode, "time") == 0) times(count);
  int all = 0;
  MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%s of %ld nodes: %d wrong expectations\n", mode, count, all);
  MPI_Finalize();
  return 0;
}
