/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One-sided operations: the rank that receives in the others is the origin here, and names both
 * types.
 */
#include <stddef.h>

#include "types.h"

static char origin[kRoom], result[kRoom];

/* `call` under a lock on the window `win`, `sent` at the origin. */
#define AT_ORIGIN(name, call)                                                                     \
  static void name(int rank, int from, int to, struct side sent, struct side received, int tag) { \
    MPI_Win win;                                                                                  \
    char* memory;                                                                                 \
    (void)tag;                                                                                    \
    MPI_Win_allocate(kRoom, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);                     \
    MPI_Win_set_name(win, "halo");                                                                \
    MPI_Win_set_errhandler(win, window_errors);                                                   \
    if (rank == to) {                                                                             \
      const int target = from;                                                                    \
      MPI_Win_lock(MPI_LOCK_SHARED, target, 0, win);                                              \
      call;                                                                                       \
      MPI_Win_unlock(target, win);                                                                \
    }                                                                                             \
    MPI_Win_free(&win);                                                                           \
  }
#define HERE origin, sent.count, sent.type
#define THERE target, 0, received.count, received.type
#define LATER(call)    \
  MPI_Request request; \
  call;                \
  MPI_Wait(&request, MPI_STATUS_IGNORE)

AT_ORIGIN(put, MPI_Put(HERE, THERE, win))
AT_ORIGIN(get, MPI_Get(HERE, THERE, win))
AT_ORIGIN(rput, LATER(MPI_Rput(HERE, THERE, win, &request)))
AT_ORIGIN(rget, LATER(MPI_Rget(HERE, THERE, win, &request)))
AT_ORIGIN(accumulate, MPI_Accumulate(HERE, THERE, MPI_REPLACE, win))
AT_ORIGIN(raccumulate, LATER(MPI_Raccumulate(HERE, THERE, MPI_REPLACE, win, &request)))
/* What comes back has the target's type: right. */
AT_ORIGIN(get_accumulate,
          MPI_Get_accumulate(HERE, result, received.count, received.type, THERE, MPI_REPLACE, win))
/* Nothing goes there, what comes back does not fit. */
AT_ORIGIN(fetch, MPI_Get_accumulate(result, 0, MPI_BYTE, HERE, THERE, MPI_NO_OP, win))

const struct operation onesided_operations[] = {
    {.name = "put", .run = put},
    {.name = "get", .run = get},
    {.name = "rput", .run = rput},
    {.name = "rget", .run = rget},
    {.name = "accumulate", .run = accumulate, .kinds = kBasicKinds},
    {.name = "raccumulate", .run = raccumulate, .kinds = kBasicKinds},
    {.name = "get_accumulate", .run = get_accumulate, .kinds = kBasicKinds},
    {.name = "fetch", .run = fetch, .kinds = kBasicKinds},
    {.name = NULL},
};
