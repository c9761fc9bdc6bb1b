// SPDX-License-Identifier: BSD-3-Clause
// Totals of made-up processes, for the tests of the exporter.
#ifndef VERITY_TEST_UNIT_TOOLS_TOTALS_H
#define VERITY_TEST_UNIT_TOOLS_TOTALS_H

#include "tools/export/ledger.h"

namespace verity::tools {

inline constexpr std::uint64_t kHour = 3600;
inline constexpr std::uint64_t kNow = 1000 * kHour;

inline std::uint64_t faults_of(const health::FaultsByPath& paths) {
  std::uint64_t sum = 0;
  for (const auto& [path, faults] : paths) sum += faults.in;
  return sum;
}

inline health::Snapshot process(const std::string& peer, std::uint64_t bytes,
                                std::uint64_t faults) {
  health::Snapshot snapshot;
  snapshot.peer_name = "me";
  health::SnapshotRow row;
  row.kind = UCX_VERITY_HEALTH_PEER;
  row.transport = "vtcp";
  row.device = "eth0";
  row.peer = peer;
  row.counters.bytes_verified = bytes;
  row.counters.faults_payload = faults;
  snapshot.rows.push_back(row);
  return snapshot;
}

inline Totals with(const Ledger& ledger, const std::vector<health::Snapshot>& live) {
  Totals totals = totals_of(ledger);
  for (const health::Snapshot& snapshot : live) add(totals, snapshot);
  return totals;
}

}  // namespace verity::tools

#endif
