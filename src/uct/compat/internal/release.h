// SPDX-License-Identifier: BSD-3-Clause
//
// The UCX that this build is for, as configure learned it from ucx_info: its release, and the
// options of its build that matter to a transport.
//
//   VERITY_UCX_ASSERTIONS     1: UCX was built with assertions
//   VERITY_UCX_STATISTICS     1: with statistics
//   VERITY_UCX_MAX_LOG_LEVEL  messages of a higher level than this are not compiled
//
// Functions that not every release has are declared weak: a plugin of another release must load all
// the same, or nobody would see why it is refused (load_check.h).
#ifndef VERITY_UCT_COMPAT_INTERNAL_RELEASE_H
#define VERITY_UCT_COMPAT_INTERNAL_RELEASE_H

#include "util/build_config.h"

#define VERITY_UCX_AT_LEAST(major, minor) \
  (VERITY_UCX_MAJOR > (major) || (VERITY_UCX_MAJOR == (major) && VERITY_UCX_MINOR >= (minor)))

#if VERITY_UCX_MAJOR != 1 || VERITY_UCX_MINOR < 13 || VERITY_UCX_MINOR > 23
#error "this UCX version is not supported: 1.13 to 1.23 are"
#endif

#endif
