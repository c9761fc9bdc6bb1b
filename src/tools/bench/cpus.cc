// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/cpus.h"

#include <algorithm>
#include <charconv>

namespace verity::tools::bench {

std::vector<int> cpus_of(std::string_view list) {
  constexpr int kMost = 1 << 16;
  std::vector<int> cpus;
  const char* at = list.data();
  const char* const end = at + list.size();
  const auto number = [&](int* value) {
    const auto [next, error] = std::from_chars(at, end, *value);
    at = next;
    return error == std::errc() && *value >= 0 && *value < kMost;
  };
  while (at != end && *at != '\n') {
    int first = 0;
    if (!number(&first)) return {};
    int last = first;
    if (at != end && *at == '-' && (++at, !number(&last))) return {};
    for (int cpu = first; cpu <= last; ++cpu) cpus.push_back(cpu);
    if (at != end && *at == ',') ++at;
  }
  return cpus;
}

std::vector<int> choose_pair(const std::vector<int>& allowed,
                             const std::function<std::string(int)>& siblings) {
  if (allowed.size() < 2) return {};
  const std::vector<int> same = cpus_of(siblings(allowed[0]));
  const auto other = std::find_if(allowed.begin() + 1, allowed.end(), [&](int cpu) {
    return std::find(same.begin(), same.end(), cpu) == same.end();
  });
  return {allowed[0], other != allowed.end() ? *other : allowed[1]};
}

}  // namespace verity::tools::bench
