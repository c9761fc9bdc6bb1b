/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Rings of nodes with shared parts, for the tests of autolink over MPI and UCX.
 */
#ifndef VERITY_TEST_MPI_LIBRARIES_AUTOLINK_LIST_H
#define VERITY_TEST_MPI_LIBRARIES_AUTOLINK_LIST_H

#include <stdlib.h>
#include <string.h>

#include "autolink_node_automap.h"

struct list {
  struct node* nodes;
  double* data;
  struct node** many;
};

static inline long other_of(long i, long count) { return i * 7919 % count; }

/* A ring of `count` nodes with references across it, data, names and arrays of pointers here and
 * there. */
static inline struct list make(long count, long seed) {
  static char name[] = "every tenth";
  struct list l;
  l.nodes = (struct node*)calloc((size_t)count, sizeof(struct node));
  l.data = (double*)calloc((size_t)count * 2, sizeof(double));
  l.many = (struct node**)calloc((size_t)count, sizeof(struct node*));
  for (long i = 0; i < count; ++i) {
    struct node* n = &l.nodes[i];
    n->value = seed + i;
    n->next = &l.nodes[(i + 1) % count];
    n->other = &l.nodes[other_of(i, count)];
    n->data = &l.data[2 * i];
    n->n = 2;
    l.data[2 * i] = (double)(seed + i);
    l.data[2 * i + 1] = 0.5;
    n->into = &l.data[2 * i + 1];
    l.many[i] = n->other;
    if (i % 4 == 0 && i + 2 <= count) n->many = &l.many[i], n->n_many = 2;
    if (i % 10 == 0) n->name = name;
  }
  return l;
}
static inline void release(struct list* l) {
  free(l->nodes);
  free(l->data);
  free(l->many);
}

/* Counts the nodes behind `root` that are not as make() makes them. */
static inline long wrong_nodes(const void* root, long count, long seed) {
  const struct node** all = (const struct node**)malloc((size_t)count * sizeof(*all));
  const struct node* n = (const struct node*)root;
  long bad = n == NULL;
  for (long i = 0; i < count && n != NULL; ++i, n = n->next) all[i] = n;
  bad += n != (count != 0 && !bad ? all[0] : NULL); /* the ring is closed */
  for (long i = 0; i < count && bad == 0; ++i) {
    n = all[i];
    bad += n->value != seed + i || n->other != all[other_of(i, count)] || n->n != 2 ||
           n->data[0] != (double)(seed + i) || n->into != n->data + 1;
    bad += (n->name != NULL) != (i % 10 == 0) ||
           (n->name != NULL && strcmp(n->name, "every tenth") != 0);
    bad += (n->many != NULL) != (i % 4 == 0 && i + 2 <= count) ||
           (n->many != NULL && n->many[1] != all[other_of(i + 1, count)]);
  }
  free(all);
  return bad;
}

#endif
