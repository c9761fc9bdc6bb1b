/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Decision trees: what `verity-types automap` reads for forest.c.
 */
#ifndef VERITY_TEST_EXAMPLES_FOREST_H
#define VERITY_TEST_EXAMPLES_FOREST_H

#include <stdint.h>

struct split {
  int32_t feature;        /* that is compared; -1 in a leaf */
  int32_t label;          /* of a leaf */
  double threshold;       /* samples below it go to the first child */
  struct split* child[2]; /*~ AM owned */
};

/* A forest is a list of trees. */
struct tree {
  struct split* root; /*~ AM owned */
  int32_t weight;     /* votes: of how many ranks it is the tree */
  int32_t splits;
  struct tree* next; /*~ AM owned */
};

#endif
