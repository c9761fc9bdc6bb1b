// SPDX-License-Identifier: BSD-3-Clause
//
// A worker. The same from 1.13 to 1.23, but for the queue of callbacks at its begin (1.16), which
// is in UCX's installed headers.
#ifndef VERITY_UCT_COMPAT_INTERNAL_WORKER_H
#define VERITY_UCT_COMPAT_INTERNAL_WORKER_H

#include "uct/compat/internal/installed.h"

extern "C" {
// The begin of it. UCX alone makes workers, and what follows is its own.
typedef struct uct_priv_worker {
  uct_worker_t super;
  ucs_async_context_t* async;
  ucs_thread_mode_t thread_mode;
} uct_priv_worker_t;
}

#endif
