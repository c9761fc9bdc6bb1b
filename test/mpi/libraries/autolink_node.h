/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A node with every kind of pointer. In this folder,
 *
 *   verity-types automap autolink_node.h --prefix node
 *
 * writes autolink_node_automap.h, which is kept for builds without libclang;
 * test/integration/libraries/autolink.sh compares it with what the tool writes today.
 */
#ifndef VERITY_TEST_MPI_LIBRARIES_AUTOLINK_NODE_H
#define VERITY_TEST_MPI_LIBRARIES_AUTOLINK_NODE_H

#include <stddef.h>
#include <stdint.h>

struct point {
  double x, y;
};

struct node {
  int64_t value;
  struct node* next;  /*~ AM owned */
  struct node* other; /*~ AM reference */
  double* data;       /*~ AM owned, count = n */
  int32_t n;
  int32_t n_many;
  struct node** many;   /*~ AM owned, count = n_many */
  char* name;           /*~ AM string */
  double* into;         /*~ AM reference */
  struct node* ignored; /*~ AM ignore */
  struct point point;
  struct node* pair[2]; /*~ AM owned */
};

#endif
