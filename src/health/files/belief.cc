// SPDX-License-Identifier: BSD-3-Clause
#include "health/files/belief.h"

namespace verity::health {
namespace {

std::string doubt_folder(const FileFacts& facts, std::uint32_t reader) {
  if (facts.folder_open) return "anyone may replace files in its folder (chmod +t)";
  if (facts.folder_owner == 0 || facts.folder_owner == reader || facts.folder_owner == facts.owner)
    return {};
  return "its folder belongs to user " + std::to_string(facts.folder_owner);
}

double most_per_second(std::string_view unit) {
  if (unit == "bytes") return kMostBytesPerSecond;
  return unit == "nanoseconds" ? 1e9 * kMostEventsPerSecond : kMostEventsPerSecond;
}

// The sum may be beyond 64 bits when the rows are made up.
std::string doubt_counters(const Snapshot& snapshot, const FileFacts& facts) {
  const double seconds = 1 + static_cast<double>(facts.uptime_ns) / 1e9;
  for (const CounterInfo& info : kCounterInfo) {
    double sum = 0;
    for (const SnapshotRow& row : snapshot.rows)
      sum += static_cast<double>(row.counters.*info.field);
    if (sum <= seconds * most_per_second(info.unit)) continue;
    return std::string(info.name) + " is more than this host can have done since it was booted";
  }
  return {};
}

}  // namespace

std::string doubt(const Snapshot& snapshot, const FileFacts& facts, std::uint32_t reader) {
  if (std::string problem = doubt_folder(facts, reader); !problem.empty()) return problem;
  if (facts.owner == 0 || facts.owner == reader) return {};
  if (snapshot.boot_id != facts.boot_id) return "it is of another boot, or of another host";
  if (snapshot.ended_ns != 0 && facts.born_ns != 0 &&
      snapshot.ended_ns + kClockStep < facts.born_ns) {
    return "its process ended before the file was made: a copy";
  }
  return doubt_counters(snapshot, facts);
}

}  // namespace verity::health
