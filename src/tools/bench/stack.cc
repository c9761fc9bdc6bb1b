// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/stack.h"

#include <algorithm>
#include <array>

namespace verity::tools::bench {

const char* name_of(Level level) {
  return std::array{"uct", "ucp", "mpi"}[static_cast<std::size_t>(level)];
}

const char* name_of(Test test) {
  return std::array{
      "latency", "rate", "put", "get", "allreduce", "alltoall"}[static_cast<std::size_t>(test)];
}

std::vector<std::string> names_of_tests() {
  std::vector<std::string> names;
  for (const Test test : kTests) names.emplace_back(name_of(test));
  return names;
}

const char* name_of(Send send) {
  return std::array{"", "short", "bcopy", "zcopy"}[static_cast<std::size_t>(send)];
}

Send common_send(const std::vector<Capability>& all, std::size_t size) {
  const auto fits = [&](std::size_t Capability::*largest) {
    return std::all_of(all.begin(), all.end(),
                       [&](const Capability& one) { return size <= one.*largest; });
  };
  if (size >= 8 && fits(&Capability::max_short)) return Send::kShort;
  if (fits(&Capability::max_bcopy)) return Send::kBcopy;
  return fits(&Capability::max_zcopy) ? Send::kZcopy : Send::kAny;
}

}  // namespace verity::tools::bench
