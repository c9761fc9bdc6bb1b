// SPDX-License-Identifier: BSD-3-Clause
#ifndef VERITY_UTIL_COMPLAIN_H
#define VERITY_UTIL_COMPLAIN_H

#include <cstdarg>
#include <cstdio>

#include "util/without_write_signals.h"

namespace verity::util {

// A line on stderr, which may be a pipe without a reader.
[[gnu::format(printf, 1, 2)]] inline void complain(const char* format, ...) noexcept {
  const WithoutWriteSignals guard;
  va_list arguments;
  va_start(arguments, format);
  (void)std::vfprintf(stderr, format, arguments);
  va_end(arguments);
}

}  // namespace verity::util

#endif
