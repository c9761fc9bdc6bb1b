// SPDX-License-Identifier: BSD-3-Clause
#include "health/files/view.h"

#include <algorithm>

#include "health/paths.h"

namespace verity::health {

namespace {

PathView& path_of(ProcessView& process, const SnapshotRow& row) {
  const auto same = [&](const PathView& path) {
    return path.transport == row.transport && path.device == row.device;
  };
  const auto found = std::find_if(process.paths.begin(), process.paths.end(), same);
  if (found != process.paths.end()) return *found;
  process.paths.push_back({row.transport, row.device, false, row.injected, {}, {}});
  return process.paths.back();
}

PeerView& peer_of(PathView& path, const std::string& host) {
  const auto found = std::find_if(path.peers.begin(), path.peers.end(),
                                  [&](const PeerView& peer) { return peer.host == host; });
  if (found != path.peers.end()) return *found;
  path.peers.push_back({host, {}});
  return path.peers.back();
}

}  // namespace

ProcessView view_of(const Snapshot& snapshot) {
  ProcessView process;
  for (const SnapshotRow& row : snapshot.rows) {
    process.counters += row.counters;
    if (row.transport.empty()) continue;
    PathView& path = path_of(process, row);
    path.open = path.open || row.open;
    path.counters += row.counters;
    if (row.kind == UCX_VERITY_HEALTH_PEER || row.kind == UCX_VERITY_HEALTH_OTHERS)
      peer_of(path, row.peer).counters += row.counters;
  }
  return process;
}

Summary summary_of(const Counters& c) noexcept {
  const FaultBalance balance = balance_of(c);  // as the job's own report
  return {.verified = c.bytes_verified + c.read_bytes_verified,
          .unverified = c.bytes_unverified,
          .resent = c.segment_bytes_resent + c.frame_bytes_resent + c.read_bytes_again,
          .faults = balance.found,
          .repaired = balance.repaired,
          .delivered = balance.delivered,
          .failed = c.links_failed};
}

}  // namespace verity::health
