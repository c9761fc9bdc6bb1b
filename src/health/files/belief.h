// SPDX-License-Identifier: BSD-3-Clause
//
// Which health files `check` and `export` believe. An ordinary user's file holds what that user
// wrote into it. A process of the plugin writes what it counted; but any program of that user can
// write the same bytes, so a file is a user's claim and no proof.
//
// Two rules follow. This one rejects what cannot be true: files in the wrong place, of another
// boot, copies of files, numbers beyond what a machine can do. The other one (blame/trust.h)
// decides what follows from the rest: files of one ordinary user can only warn.
#ifndef VERITY_HEALTH_FILES_BELIEF_H
#define VERITY_HEALTH_FILES_BELIEF_H

#include <cstdint>
#include <string>

#include "health/files/reader.h"

namespace verity::health {

// What the system says of a file, its folder and this host.
struct FileFacts {
  std::uint32_t owner = 0;
  std::uint32_t folder_owner = 0;
  bool folder_open = false;     // who does not own a file there may replace it
  std::uint64_t born_ns = 0;    // when the file was made; 0: its file system does not say
  std::uint64_t uptime_ns = 0;  // of this host
  std::string boot_id{};        // the running one; empty: not known
};

// Far beyond what any process does: 2 TB and four thousand million events in a second.
inline constexpr double kMostBytesPerSecond = 2e12;
inline constexpr double kMostEventsPerSecond = 4e9;
// Clocks are set while processes run.
inline constexpr std::uint64_t kClockStep = 600'000'000'000;  // ns

// Why that is not believed, or an empty text. `reader`: the user who reads, whose own files, as
// root's, are always believed.
[[nodiscard]] std::string doubt(const Snapshot& snapshot, const FileFacts& facts,
                                std::uint32_t reader);

}  // namespace verity::health

#endif
