// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/stack.h"

#include <algorithm>

namespace verity::tools::bench {

Send common_send(const Capability& a, const Capability& b, std::size_t size) {
  if (size >= 8 && size <= std::min(a.max_short, b.max_short)) return Send::kShort;
  if (size <= std::min(a.max_bcopy, b.max_bcopy)) return Send::kBcopy;
  if (size <= std::min(a.max_zcopy, b.max_zcopy)) return Send::kZcopy;
  return Send::kAny;
}

const char* send_name(Send send) {
  switch (send) {
    case Send::kAny: return "";
    case Send::kShort: return "short";
    case Send::kBcopy: return "bcopy";
    case Send::kZcopy: return "zcopy";
  }
  return "";
}

}  // namespace verity::tools::bench
