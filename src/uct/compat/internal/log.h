// SPDX-License-Identifier: BSD-3-Clause
//
// UCX's log, and how a process is ended. The same from 1.13 to 1.23.
#ifndef VERITY_UCT_COMPAT_INTERNAL_LOG_H
#define VERITY_UCT_COMPAT_INTERNAL_LOG_H

#include "uct/compat/internal/installed.h"

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
