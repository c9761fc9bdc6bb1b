// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/checks/variable_names.h"

#include <algorithm>
#include <numeric>

namespace verity::tools {

namespace {

constexpr std::string_view kPrefix = "UCX_VERITY_";
constexpr std::size_t kMostSlips = 3;    // in half of the letters behind the prefix at most
constexpr std::size_t kPrefixSlips = 2;  // where the prefix is misspelt itself

// The number of letters to insert, remove, replace or swap with their neighbour (optimal string
// alignment).
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

const std::vector<std::string>& variable_names() {
  static const std::vector<std::string> names = {
#include "variable_names.inc"
  };
  return names;
}

bool is_variable_name(std::string_view name) {
  const auto& names = variable_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string nearest_variable(std::string_view name) {
  const bool prefixed = name.starts_with(kPrefix);
  const std::string_view letters = prefixed ? name.substr(kPrefix.size()) : name;
  std::size_t least =
      prefixed ? std::clamp<std::size_t>(letters.size() / 2, 1, kMostSlips) : kPrefixSlips;
  std::string nearest;
  for (const std::string& known : variable_names()) {
    const std::size_t far =
        distance(letters, prefixed ? std::string_view(known).substr(kPrefix.size())
                                   : std::string_view(known));
    if (far > least || (far == least && !nearest.empty())) continue;
    least = far;
    nearest = known;
  }
  return nearest;
}

bool is_misspelt(std::string_view name) {
  if (is_variable_name(name)) return false;
  return name.starts_with(kPrefix) || (name.starts_with("UCX") && !nearest_variable(name).empty());
}

}  // namespace verity::tools
