// SPDX-License-Identifier: BSD-3-Clause
//
// The rows of a process as people think of them: paths (a transport on a device), and on each the
// peers' hosts. Interfaces of one name, of several threads perhaps, are one path.
#ifndef VERITY_HEALTH_FILES_VIEW_H
#define VERITY_HEALTH_FILES_VIEW_H

#include <string>
#include <vector>

#include "health/files/reader.h"
#include "health/paths.h"

namespace verity::health {

struct PeerView {
  std::string host;  // empty: hosts that found no row of their own
  Counters counters;
};

struct PathView {
  std::string transport;
  std::string device;
  bool open = false;      // some interface still is
  bool injected = false;  // its faults are made by a test transport
  Counters counters;      // all of it: the peers' too
  std::vector<PeerView> peers;

  [[nodiscard]] std::string name() const { return path_name(transport, device); }
};

struct ProcessView {
  Counters counters;  // all of it: the paths' too
  std::vector<PathView> paths;
};

[[nodiscard]] ProcessView view_of(const Snapshot& snapshot);

// What a line for people has room for.
struct Summary {
  std::uint64_t verified = 0;    // bytes, of messages and remote reads
  std::uint64_t unverified = 0;  // bytes
  std::uint64_t resent = 0;      // bytes sent or read again
  std::uint64_t faults =
      0;  // frames and parts of reads that were damaged, but not by their own program
  std::uint64_t repaired = 0;   // of these faults, whose data arrived right in the end
  std::uint64_t delivered = 0;  // of these faults, those handed on as they were, in mode observe
  std::uint64_t failed = 0;     // links that failed

  bool operator==(const Summary&) const = default;
};

[[nodiscard]] Summary summary_of(const Counters& counters) noexcept;

}  // namespace verity::health

#endif
