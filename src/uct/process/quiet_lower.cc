// SPDX-License-Identifier: BSD-3-Clause
#include "uct/process/quiet_lower.h"

#include <cstdarg>
#include <mutex>

#include "uct/compat/ucx.h"

namespace verity::uct {

namespace {

thread_local unsigned quiet = 0;

// UCX has one stack of handlers, with ours on it while any thread is quiet.
std::mutex mutex;
unsigned quiet_threads = 0;

ucs_log_func_rc_t drop(const char*, unsigned, const char*, ucs_log_level_t level,
                       const ucs_log_component_config_t*, const char*, va_list) {
  return quiet != 0 && level > UCS_LOG_LEVEL_FATAL ? UCS_LOG_FUNC_RC_STOP
                                                   : UCS_LOG_FUNC_RC_CONTINUE;
}

}  // namespace

QuietLower::QuietLower() noexcept {
  ++quiet;
  const std::lock_guard lock(mutex);
  if (quiet_threads++ == 0) ucs_log_push_handler(drop);
}

QuietLower::~QuietLower() {
  --quiet;
  const std::lock_guard lock(mutex);
  if (--quiet_threads == 0) ucs_log_pop_handler();
}

}  // namespace verity::uct
