// SPDX-License-Identifier: BSD-3-Clause
//
// The headers that UCX installs, those of them that the plugin needs.
#ifndef VERITY_UCT_COMPAT_INTERNAL_INSTALLED_H
#define VERITY_UCT_COMPAT_INTERNAL_INSTALLED_H

// Some have no C++ guard: what they include must be seen before extern "C".
#include <pthread.h>
#include <sys/socket.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "uct/compat/internal/release.h"

#define UCS_MAX_LOG_LEVEL VERITY_UCX_MAX_LOG_LEVEL

extern "C" {
#include <ucs/async/async_fwd.h>
#include <ucs/config/parser.h>
#include <ucs/config/types.h>
#include <ucs/datastruct/list.h>
#include <ucs/debug/log_def.h>
#include <ucs/stats/stats_fwd.h>
#include <ucs/sys/string.h>
#include <ucs/time/time_def.h>
#include <ucs/type/class.h>
#include <ucs/type/spinlock.h>
#include <uct/api/uct.h>
}

#endif
