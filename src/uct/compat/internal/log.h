// SPDX-License-Identifier: BSD-3-Clause
//
// UCX's log, and how a process is ended. The same from 1.13 to 1.23.
#ifndef VERITY_UCT_COMPAT_INTERNAL_LOG_H
#define VERITY_UCT_COMPAT_INTERNAL_LOG_H

#include "uct/compat/internal/installed.h"
#include "util/without_write_signals.h"

// UCX's log may be a pipe without a reader, and what is written here stock UCX would not
// have written: the line is lost, be it in the stream's buffer, and the process goes on.
#undef ucs_log_component
#define ucs_log_component(level, config, format, ...)                                             \
  do {                                                                                            \
    if (ucs_log_component_is_enabled(level, config)) {                                            \
      const ::verity::util::WithoutWriteSignals without_write_signals;                            \
      ucs_log_dispatch(__FILE__, __LINE__, __func__, static_cast<ucs_log_level_t>(level), config, \
                       format __VA_OPT__(, ) __VA_ARGS__);                                        \
      if ((level) <= UCS_LOG_LEVEL_DIAG) ucs_log_flush();                                         \
    }                                                                                             \
  } while (0)

extern "C" {
[[noreturn]] void ucs_fatal_error_format(const char* file, unsigned line, const char* function,
                                         const char* format, ...)
    __attribute__((format(printf, 4, 5)));
}

#define VERITY_UCX_FATAL(...) \
  ucs_fatal_error_format(__FILE__, __LINE__, __func__, "Fatal: " __VA_ARGS__)

// What UCX asserts in the same places, in a plugin for a UCX that was built with assertions.
#if VERITY_UCX_ASSERTIONS
#define VERITY_UCX_ASSERT(condition, ...)                                              \
  do {                                                                                 \
    if (!(condition)) [[unlikely]]                                                     \
      ucs_fatal_error_format(__FILE__, __LINE__, __func__, "Assertion: " __VA_ARGS__); \
  } while (0)
#else
#define VERITY_UCX_ASSERT(condition, ...) \
  do {                                    \
  } while (0)
#endif

#endif
