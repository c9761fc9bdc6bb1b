/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The structures that autolink_compare sends.
 */
#ifndef VERITY_TEST_BENCH_AUTOLINK_SHAPES_H
#define VERITY_TEST_BENCH_AUTOLINK_SHAPES_H

#include <stdint.h>

struct item {
  int64_t value;
  struct item* next; /*~ AM owned */
};

struct branch {
  double key;
  struct branch* side[2]; /*~ AM owned */
};

enum { EDGES = 4 };
struct vertex {
  int64_t number;           /* among all, from 0 */
  struct vertex* to[EDGES]; /*~ AM owned */
};

#endif
