/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What libverity_count.so, given to LD_PRELOAD, offers to a test program: counts of allocations and
 * locks between two marks, all of them and those called from the plugin itself.
 */
#ifndef VERITY_TEST_UCX_COUNT_H
#define VERITY_TEST_UCX_COUNT_H

#include <stddef.h>

typedef struct {
  unsigned long allocations, own_allocations; /* malloc and its kin, free included */
  unsigned long locks, own_locks;             /* mutexes, spin and read-write locks */
} verity_counts;

/* Starts counting; locks inside [exempt, exempt + size) are not counted as the plugin's own. */
typedef void verity_count_start_fn(const void* exempt, size_t size);
typedef verity_counts verity_count_stop_fn(void);

#endif
