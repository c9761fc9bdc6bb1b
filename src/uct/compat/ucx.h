// SPDX-License-Identifier: BSD-3-Clause
//
// The one door to UCX: its installed headers and, since a transport needs more than these declare,
// our own declarations in internal/. What differs between UCX releases lies in this folder alone;
// each header says in which release what changes:
//
//   internal/       what UCX does not install: structures, constants, functions
//   md_ops.h        memory domains: their operations, attributes and packed keys
//   internal_ops.h  internal operations of interfaces
//   component.h     components and remote keys
//   callbacks.h     callbacks in a worker's progress
//   transports.h    what transports can do, and how one is registered
//   segments.h      the variables of their buffers
//   ucp_ids.h       UCP's active-message ids
//   ucp_errors.h    whether UCP's program handles the failure of an endpoint
//   load_check.h    whether the UCX of this process is the one of this build
#ifndef VERITY_UCT_COMPAT_UCX_H
#define VERITY_UCT_COMPAT_UCX_H

#include <new>

#include "uct/compat/internal/async.h"
#include "uct/compat/internal/iface.h"
#include "uct/compat/internal/installed.h"
#include "uct/compat/internal/log.h"
#include "uct/compat/internal/md.h"
#include "uct/compat/internal/memory.h"
#include "uct/compat/internal/time.h"
#include "uct/compat/internal/transport.h"

namespace verity::uct {

// Runs `body` (returning ucs_status_t) on a control path that UCX's C code called: no exception
// may cross that edge. Memory shortage, the only expected one, becomes UCS_ERR_NO_MEMORY.
template <typename Body>
[[nodiscard]] ucs_status_t guarded(Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) { return UCS_ERR_NO_MEMORY; } catch (...) {
    return UCS_ERR_IO_ERROR;
  }
}

}  // namespace verity::uct

#endif
