// SPDX-License-Identifier: BSD-3-Clause
//
// The lines that one process's attestation and a job's summary have in common.
#pragma once

#include <cstdint>
#include <string>

#include "health/attestation.h"

namespace verity::health {

// Each fault is found by the one who receives it, and is counted once among these.
struct FaultBalance {
  std::uint64_t found = 0;      // damaged frames, and damaged parts of remote reads
  std::uint64_t repaired = 0;   // their data arrived right in the end
  std::uint64_t delivered = 0;  // as they were, in mode observe

  [[nodiscard]] std::uint64_t rest() const noexcept { return found - (repaired + delivered < found ? repaired + delivered : found); }
};
[[nodiscard]] FaultBalance balance_of(const Counters& counters) noexcept;

// What was counted, indented, for a terminal of 80 columns; long lists of names are cut.
[[nodiscard]] std::string account_lines(const Report& report);

// The one line of a process or job that loaded the plugin and sent nothing through it. `why` may be empty.
[[nodiscard]] std::string unused_line(const std::string& why);

}  // namespace verity::health
