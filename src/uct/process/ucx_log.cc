// SPDX-License-Identifier: BSD-3-Clause
#include "uct/process/ucx_log.h"

#include <pthread.h>

#include <atomic>
#include <climits>
#include <cstdarg>
#include <cstring>
#include <memory>
#include <mutex>

#include "uct/compat/ucx.h"

namespace verity::uct {

namespace {

thread_local unsigned quiet = 0;
thread_local LogSearch* searching = nullptr;  // the innermost one

// While there are searches: the level that the user has set, above which nothing is printed.
constinit std::atomic<int> shown{INT_MAX};

ucs_log_func_rc_t drop(const char*, unsigned, const char*, ucs_log_level_t level,
                       const ucs_log_component_config_t*, const char* format, va_list) {
  if (searching != nullptr) searching->look_at(format);
  if (static_cast<int>(level) > shown.load(std::memory_order_relaxed)) return UCS_LOG_FUNC_RC_STOP;
  return quiet != 0 && level > UCS_LOG_LEVEL_FATAL ? UCS_LOG_FUNC_RC_STOP
                                                   : UCS_LOG_FUNC_RC_CONTINUE;
}

std::mutex mutex;
unsigned searches = 0;  // of all threads; under the mutex
// Place of the handler that stays, from 1 on; 0: there is none yet. Changes under the mutex.
constinit std::atomic<unsigned> lowest{0};

// Under the mutex, when no thread searches any more.
void restore_level() noexcept {
  const int before = shown.load(std::memory_order_relaxed);
  if (before == INT_MAX) return;
  ucs_global_opts.log_component.log_level = static_cast<ucs_log_level_t>(before);
  shown.store(INT_MAX, std::memory_order_relaxed);
}

// In a child made by fork(): the parent's other threads, one of which may hold the mutex, and what
// they search for, are not in it.
void forget_other_threads() noexcept {
  std::construct_at(&mutex);
  searches = 0;
  for (const LogSearch* own = searching; own != nullptr; own = own->outer()) ++searches;
  if (searches == 0) restore_level();
}

void handle_forks() noexcept {
  [[maybe_unused]] static const int handled =
      pthread_atfork(nullptr, nullptr, forget_other_threads);
}

// Whether the stack has one handler more.
bool push() noexcept {
  const unsigned before = ucs_log_num_handlers();
  ucs_log_push_handler(drop);
  return ucs_log_num_handlers() > before;  // not where it is full
}

}  // namespace

LogHandler::LogHandler() noexcept {
  if (ucs_log_num_handlers() == lowest.load(std::memory_order_relaxed)) return;
  handle_forks();
  const std::lock_guard lock(mutex);
  const unsigned count = ucs_log_num_handlers();
  const unsigned stays = lowest.load(std::memory_order_relaxed);
  if (stays != 0 && count > stays) {
    pushed_ = push();
  } else if (count != stays || stays == 0) {
    lowest.store(push() ? count + 1 : 0, std::memory_order_relaxed);
  }
}

LogHandler::~LogHandler() {
  if (!pushed_) return;
  const std::lock_guard lock(mutex);
  ucs_log_pop_handler();
}

QuietLower::QuietLower() noexcept { ++quiet; }

QuietLower::~QuietLower() { --quiet; }

LogSearch::LogSearch(const char* text) noexcept : text_(text), outer_(searching) {
  searching = this;
  handle_forks();
  const std::lock_guard lock(mutex);
  ucs_log_level_t& level = ucs_global_opts.log_component.log_level;
  if (searches++ != 0 || level >= UCS_LOG_LEVEL_DIAG) return;
  shown.store(level, std::memory_order_relaxed);
  level = UCS_LOG_LEVEL_DIAG;
}

LogSearch::~LogSearch() {
  searching = outer_;
  const std::lock_guard lock(mutex);
  if (--searches == 0) restore_level();
}

void LogSearch::look_at(const char* format) noexcept {
  found_ = found_ || std::strstr(format, text_) != nullptr;
}

}  // namespace verity::uct
