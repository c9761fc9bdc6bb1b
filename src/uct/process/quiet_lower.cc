// SPDX-License-Identifier: BSD-3-Clause
#include "uct/process/quiet_lower.h"

#include <atomic>
#include <cstdarg>
#include <mutex>

#include "uct/compat/ucx.h"

namespace verity::uct {

namespace {

thread_local unsigned quiet = 0;

ucs_log_func_rc_t drop(const char*, unsigned, const char*, ucs_log_level_t level,
                       const ucs_log_component_config_t*, const char*, va_list) {
  return quiet != 0 && level > UCS_LOG_LEVEL_FATAL ? UCS_LOG_FUNC_RC_STOP
                                                   : UCS_LOG_FUNC_RC_CONTINUE;
}

std::mutex mutex;
// Place of the handler that stays, from 1 on; 0: there is none yet. Changes under the mutex.
constinit std::atomic<unsigned> lowest{0};

// Whether the stack has one handler more.
bool push() noexcept {
  const unsigned before = ucs_log_num_handlers();
  ucs_log_push_handler(drop);
  return ucs_log_num_handlers() > before;  // not where it is full
}

}  // namespace

QuietLower::QuietLower() noexcept {
  ++quiet;
  if (ucs_log_num_handlers() == lowest.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(mutex);
  const unsigned count = ucs_log_num_handlers();
  const unsigned stays = lowest.load(std::memory_order_relaxed);
  if (stays != 0 && count > stays) {
    pushed_ = push();
  } else if (count != stays || stays == 0) {
    lowest.store(push() ? count + 1 : 0, std::memory_order_relaxed);
  }
}

QuietLower::~QuietLower() {
  --quiet;
  if (!pushed_) return;
  const std::lock_guard lock(mutex);
  ucs_log_pop_handler();
}

}  // namespace verity::uct
