// SPDX-License-Identifier: BSD-3-Clause
#include "health/file_pattern.h"

#include <algorithm>
#include <optional>

namespace verity::health {

namespace {

std::string value_or(const std::string& value, const std::string& otherwise) {
  return value.empty() ? otherwise : value;
}

std::optional<std::string> value_of(char sign, const Identity& who) {
  switch (sign) {
    case 'h': return who.host;
    case 'j': return value_or(who.job, std::to_string(who.pid));
    case 's': return value_or(who.step, "0");
    case 'r': return value_or(who.rank, std::to_string(who.pid));
    case 'p': return std::to_string(who.pid);
    case 'x': return who.program;
    case '%': return "%";
    default: return std::nullopt;
  }
}

}  // namespace

std::string unknown_pattern(std::string_view pattern) {
  for (std::size_t i = pattern.find('%'); i != std::string_view::npos;
       i = pattern.find('%', i + 2)) {
    if (i + 1 == pattern.size() || !value_of(pattern[i + 1], {}))
      return std::string(pattern.substr(i, 2));
  }
  return {};
}

std::string expand_path(std::string_view pattern, const Identity& who) {
  std::string path;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    std::optional<std::string> value;
    if (pattern[i] == '%' && i + 1 < pattern.size()) value = value_of(pattern[i + 1], who);
    if (!value) {
      path += pattern[i];
      continue;
    }
    std::replace(value->begin(), value->end(), '/', '_');
    path += *value;
    ++i;
  }
  return path;
}

}  // namespace verity::health
