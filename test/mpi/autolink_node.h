/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A node with every kind of pointer, and its schema written by hand as `verity-types automap`
 * would.
 */
#ifndef VERITY_TEST_MPI_AUTOLINK_NODE_H
#define VERITY_TEST_MPI_AUTOLINK_NODE_H

#include <stddef.h>
#include <stdint.h>
#include <ucx-verity/automap.h>

struct point {
  double x, y;
};

struct node {
  int64_t value;
  struct node* next;  /* owned */
  struct node* other; /* reference */
  double* data;       /* owned, count = n */
  int32_t n;
  int32_t n_many;
  struct node** many;   /* owned, count = n_many: pointers to nodes */
  char* name;           /* string */
  double* into;         /* reference: into data, or to a member of point */
  struct node* ignored; /* no directive */
  struct point point;
  struct node* pair[2]; /* owned */
};

enum { kNode = 0, kDouble = 1, kChar = 2, kPoint = 3, kTypes = 4 };

static inline int node_links(const void* element, uint64_t first, size_t offset,
                             verity_automap_visitor visit, void* context) {
  const struct node* self = (const struct node*)element;
  int stop = verity_automap_visit_link(visit, context, VERITY_AUTOMAP_OWNED, kNode, 1, 1, first,
                                       offset + offsetof(struct node, next), self->next);
  if (stop == 0)
    stop = verity_automap_visit_link(visit, context, VERITY_AUTOMAP_REFERENCE, kNode, 1, 1,
                                     first + 1, offset + offsetof(struct node, other), self->other);
  if (stop == 0)
    stop = verity_automap_visit_link(visit, context, VERITY_AUTOMAP_OWNED, kDouble, 1,
                                     verity_automap_count(self->n), first + 2,
                                     offset + offsetof(struct node, data), self->data);
  if (stop == 0)
    stop = verity_automap_visit_link(visit, context, VERITY_AUTOMAP_OWNED, kNode, 2,
                                     verity_automap_count(self->n_many), first + 3,
                                     offset + offsetof(struct node, many), (const void*)self->many);
  if (stop == 0)
    stop = verity_automap_visit_link(visit, context, VERITY_AUTOMAP_STRING, kChar, 1, 0, first + 4,
                                     offset + offsetof(struct node, name), self->name);
  if (stop == 0)
    stop = verity_automap_visit_link(visit, context, VERITY_AUTOMAP_REFERENCE, kDouble, 1, 1,
                                     first + 5, offset + offsetof(struct node, into), self->into);
  for (uint64_t i = 0; i < 2 && stop == 0; ++i) {
    stop = verity_automap_visit_link(
        visit, context, VERITY_AUTOMAP_OWNED, kNode, 1, 1, first + 6 + i,
        offset + offsetof(struct node, pair) + i * sizeof(void*), self->pair[i]);
  }
  return stop;
}

static inline int node_set_link(void* element, uint64_t link, void* target) {
  struct node* self = (struct node*)element;
  switch (link) {
    case 0: self->next = (struct node*)target; return 0;
    case 1: self->other = (struct node*)target; return 0;
    case 2: self->data = (double*)target; return 0;
    case 3: self->many = (struct node**)target; return 0;
    case 4: self->name = (char*)target; return 0;
    case 5: self->into = (double*)target; return 0;
    case 6:
    case 7: self->pair[link - 6] = (struct node*)target; return 0;
    default: return -1;
  }
}

#define AUTOLINK_FIELD(type, member, words, number, copies)  \
  {                                                          \
#member, words, number, offsetof(struct type, member),   \
        sizeof(((struct type*)0)->member) / (copies), copies \
  }
static const verity_automap_field node_fields[] = {
    AUTOLINK_FIELD(node, value, "MPI_INT64_T", -1, 1),
    AUTOLINK_FIELD(node, next, "link", -1, 1),
    AUTOLINK_FIELD(node, other, "link", -1, 1),
    AUTOLINK_FIELD(node, data, "link", -1, 1),
    AUTOLINK_FIELD(node, n, "MPI_INT32_T", -1, 1),
    AUTOLINK_FIELD(node, n_many, "MPI_INT32_T", -1, 1),
    AUTOLINK_FIELD(node, many, "link", -1, 1),
    AUTOLINK_FIELD(node, name, "link", -1, 1),
    AUTOLINK_FIELD(node, into, "link", -1, 1),
    AUTOLINK_FIELD(node, ignored, "link", -1, 1),
    AUTOLINK_FIELD(node, point, "struct point", kPoint, 1),
    AUTOLINK_FIELD(node, pair, "link", -1, 2)};
static const verity_automap_field point_fields[] = {AUTOLINK_FIELD(point, x, "MPI_DOUBLE", -1, 1),
                                                    AUTOLINK_FIELD(point, y, "MPI_DOUBLE", -1, 1)};
static const verity_automap_type node_types[kTypes] = {
    {"struct node",
     sizeof(struct node),
     8,
     {0, 0, 0},
     {0, 0, 0},
     node_fields,
     12,
     8,
     node_links,
     node_set_link},
    {"MPI_DOUBLE", sizeof(double), 8, {0, 0, 0}, {0, 0, 0}, NULL, 0, 0, NULL, NULL},
    {"MPI_CHAR", 1, 1, {0, 0, 0}, {0, 0, 0}, NULL, 0, 0, NULL, NULL},
    {"struct point", sizeof(struct point), 8, {0, 0, 0}, {0, 0, 0}, point_fields, 2, 0, NULL, NULL},
};
static const verity_automap_schema node_schema = {0x6e6f6465u, kTypes, node_types};

#endif
