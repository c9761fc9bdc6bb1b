/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Pairs of datatypes of one message, right and wrong, and where a program checks what it did.
 */
#ifndef VERITY_TEST_MPI_DATATYPES_TYPES_H
#define VERITY_TEST_MPI_DATATYPES_TYPES_H

#include <mpi.h>

enum { kRoom = 1 << 16, kMaxCases = 64, kBasicKinds = 3, kStarts = 3 };

/* What one side names as a message: `count` of `type`. */
struct side {
  MPI_Datatype type;
  int count;
};

/* When a mismatch is reported: always, with UCX_VERITY_TYPECHECK_LEVEL=names only, or never. */
enum reported { kAlways, kByNames, kNever };

/* A kind of mismatch, with its corrected twin, which must be silent: the sender does the same in
 * both. */
struct kind {
  const char* name;
  struct side sent, wrong, right;
  enum reported reported;
};

/* An operation that takes one message from `from` to `to`. Both ranks call it; a rank that is
 * neither does nothing. */
struct operation {
  const char* name;
  void (*run)(int rank, int from, int to, struct side sent, struct side received, int tag);
  int kinds;  /* how many of the first kinds can be had with it: kBasicKinds are as many of one
                 predefined type; 0: all */
  int times;  /* messages, if not one */
  int others; /* errors of MPI's own at the receiver, right or wrong */
};

/* types_kinds.c */
int make_kinds(struct kind* kinds);
void free_kinds(void);

/* types_p2p.c, types_ends.c, types_onesided.c: end with a NULL name. */
extern const struct operation p2p_operations[];
extern const struct operation end_operations[];
extern const struct operation onesided_operations[];

/* types.c: counts errors. */
extern MPI_Errhandler window_errors;

#endif
