// SPDX-License-Identifier: BSD-3-Clause
//
// Reads a copy of a health file, of this version or another one, whatever it holds: nothing in it
// is believed before it is checked.
#ifndef VERITY_HEALTH_FILES_READER_H
#define VERITY_HEALTH_FILES_READER_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "health/files/layout.h"

namespace verity::health {

// A file longer than this is none of ours.
inline constexpr std::size_t kMostFileBytes = std::size_t{8} << 20;

// Texts hold printable ASCII only: anything else was replaced by '?', so that they can go to a
// terminal.
struct SnapshotRow {
  std::uint32_t kind = 0;  // UCX_VERITY_HEALTH_PROCESS, ...
  bool open = false;
  std::uint64_t opened_ns = 0;
  std::string transport;
  std::string device;
  std::string peer;
  bool injected = false;               // faults made on purpose, by a test transport
  Counters counters;                   // those known to this version; the others of ours are 0
  std::vector<std::uint64_t> foreign;  // the rest, as in Snapshot::foreign_names
};

struct Snapshot : Origin {
  std::uint64_t ended_ns = 0;
  std::uint32_t state = 0;
  std::vector<SnapshotRow> rows;
  std::vector<std::string> foreign_names;  // counters that this version does not know
  std::vector<std::string> missing_names;  // counters of ours that the file does not have

  [[nodiscard]] Counters sum() const noexcept;
};

// Returns an empty text and fills *out_p, or returns what is wrong with the file and leaves *out_p
// as it was. Throws std::bad_alloc.
[[nodiscard]] std::string parse_health_file(std::span<const std::byte> file, Snapshot* out_p);

}  // namespace verity::health

#endif
