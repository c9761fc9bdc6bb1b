// SPDX-License-Identifier: BSD-3-Clause
//
// What UCP makes of an endpoint's failure when the program has no error handler. Up to 1.21 its
// handler for interfaces returns an error then. From 1.22 on it returns UCS_OK in any case, and
// only a message that it logs, at the level diag, shows the difference.
#ifndef VERITY_UCT_COMPAT_UCP_ERRORS_H
#define VERITY_UCT_COMPAT_UCP_ERRORS_H

#include "uct/compat/ucx.h"

namespace verity::uct {

// Part of that message; nullptr: the status shows it.
inline constexpr const char* kUnhandledMessage =
    VERITY_UCX_AT_LEAST(1, 22) ? "will not be handled since no error callback" : nullptr;

}  // namespace verity::uct

#endif
