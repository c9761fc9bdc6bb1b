// SPDX-License-Identifier: BSD-3-Clause
//
// The one door to UCX's headers. Everything that differs between UCX versions is named here or
// guarded by VERITY_UCX_AT_LEAST in md.cc (memory domain operations) and iface.cc (internal
// operations), the only two places that fill tables whose layout changes:
//
//   1.14  memory domain: attr_v2 and registration parameters, mem_attach; internal
//         operations: ep_connect_to_ep_v2; is_sockaddr_accessible gone
//   1.15  internal operations: iface_is_reachable_v2
//   1.16  component: rkey_compare; mkey_pack with address and length; ep_is_connected
//   1.22  iface_query_v2 comes first; rkey_unpack with parameters
#ifndef VERITY_UCT_WRAP_COMPAT_H
#define VERITY_UCT_WRAP_COMPAT_H

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

#if VERITY_UCX_MAJOR != 1 || VERITY_UCX_MINOR != 13
#error "this UCX version is not supported yet: only 1.13 is"
#endif

extern "C" {
#include <ucs/async/async.h>
#include <ucs/debug/log.h>
#include <ucs/debug/memtrack_int.h>
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
  } catch (const std::bad_alloc&) {
    return UCS_ERR_NO_MEMORY;
  } catch (...) {
    return UCS_ERR_IO_ERROR;
  }
}

}  // namespace verity::uct

#endif
