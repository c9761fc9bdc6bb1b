// SPDX-License-Identifier: BSD-3-Clause
//
// The one door to UCX's headers. What differs between UCX releases lies in this folder alone; each
// header says in which release what changes:
//
//   md_ops.h        memory domains: their operations, attributes and packed keys
//   internal_ops.h  internal operations of interfaces
//   component.h     components and remote keys
//   callbacks.h     callbacks in a worker's progress
//   transports.h    what transports can do, and how one is registered
//   segments.h      the variables of their buffers
//   ucp_ids.h       UCP's active-message ids
//   load_check.h    whether the UCX of this process is the one of this build
#ifndef VERITY_UCT_COMPAT_UCX_H
#define VERITY_UCT_COMPAT_UCX_H

// UCX's internal headers have no C++ guard: what they include must be seen before extern "C".
#include <pthread.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "util/build_config.h"

#define VERITY_UCX_AT_LEAST(major, minor) \
  (VERITY_UCX_MAJOR > (major) || (VERITY_UCX_MAJOR == (major) && VERITY_UCX_MINOR >= (minor)))

#if VERITY_UCX_MAJOR != 1 || VERITY_UCX_MINOR < 13 || VERITY_UCX_MINOR > 23
#error "this UCX version is not supported: 1.13 to 1.23 are"
#endif

// Functions that not every release has are weak: a plugin of another release must load all the
// same, or nobody would see why it is refused (load_check.h).
#pragma weak uct_ep_connect_to_ep_v2
#pragma weak uct_ep_is_connected
#pragma weak uct_iface_base_query_v2
#pragma weak uct_iface_is_reachable_v2
#pragma weak uct_md_mem_query_v2
#pragma weak uct_md_mem_reg_v2
#pragma weak uct_md_query_v2
#pragma weak uct_rkey_unpack_v2

extern "C" {
#include <ucs/async/async.h>
#include <ucs/debug/log.h>
#include <ucs/debug/memtrack_int.h>
#include <ucs/sys/string.h>
#include <ucs/time/time.h>
#include <uct/api/uct.h>
#include <uct/api/v2/uct_v2.h>
#include <uct/base/uct_iface.h>
#include <uct/base/uct_md.h>
}

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
