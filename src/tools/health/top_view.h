// SPDX-License-Identifier: BSD-3-Clause
//
// What `ucx-verity top` shows: sums and rates of processes, paths, devices or peer hosts, from one
// look to the next.
#ifndef VERITY_TOOLS_HEALTH_TOP_VIEW_H
#define VERITY_TOOLS_HEALTH_TOP_VIEW_H

#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/health/collected.h"

namespace verity::tools {

enum class GroupBy : unsigned { kProcess, kPath, kDevice, kPeer };
inline constexpr const char* kGroupNames[] = {"process", "path", "device", "peer"};

enum class SortBy : unsigned { kRate, kFrames, kVerified, kRepaired, kFaults, kUnverified, kName };
inline constexpr const char* kSortNames[] = {"rate",   "frames",     "verified", "repaired",
                                             "faults", "unverified", "name"};

// Nothing for a name that is none of `names`.
template <typename Enum, std::size_t N>
[[nodiscard]] std::optional<Enum> parse_choice(const char* const (&names)[N],
                                               std::string_view name) noexcept {
  for (std::size_t i = 0; i < N; ++i) {
    if (name == names[i]) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

struct TopRow {
  std::string name;
  health::Summary sum;
  std::uint64_t frames = 0;     // received and right
  double bytes_per_second = 0;  // verified since the last look; 0 at the first
  double frames_per_second = 0;
};

class TopView {
 public:
  // Takes what was read. `now_ns` only grows.
  void update(const Found& found, std::uint64_t now_ns);
  // Of the last update. Largest first; by name where that is equal.
  [[nodiscard]] std::vector<TopRow> rows(GroupBy group, SortBy by) const;

 private:
  struct Entry {
    std::string name;
    health::Counters counters;
    double bytes = 0;  // verified since the update before, by processes that it had as well
    double frames = 0;
  };
  using Entries = std::map<std::string, Entry>;  // by file or by name
  static constexpr std::size_t kGroups = std::size(kGroupNames);
  // What one process has in the entries of all groups.
  struct Share {
    std::uint64_t bytes = 0;
    std::uint64_t frames = 0;
  };
  using Shares = std::map<std::pair<std::size_t, std::string>, Share>;

  void add_growth(const Shares& before, const Shares& now);

  // All groups at each update, so that each has rates whenever it is shown. They are differences
  // within each process: a sum of several also changes with the processes that it is of.
  std::array<Entries, kGroups> now_;
  std::map<std::string, Shares> shares_;  // by file
  std::uint64_t now_ns_ = 0;
  std::uint64_t before_ns_ = 0;
};

struct TopText {
  GroupBy group = GroupBy::kProcess;
  SortBy sort = SortBy::kRate;
  std::string clock;      // hh:mm:ss
  std::size_t lines = 0;  // 0: all rows
};

// Lines of at most 80 columns.
[[nodiscard]] std::vector<std::string> render_top(const Found& found,
                                                  const std::vector<TopRow>& rows,
                                                  const TopText& options);

// What each key does, in lines as those.
[[nodiscard]] std::vector<std::string> render_keys();

// "12345", "1.23M": at most seven columns.
[[nodiscard]] std::string short_number(double number);

}  // namespace verity::tools

#endif
