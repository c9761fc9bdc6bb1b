// SPDX-License-Identifier: BSD-3-Clause
//
// Reads what processes wrote: records of faults, attestations, reports of datatypes. Whatever else
// is in the files is counted and left.
#ifndef VERITY_TOOLS_REPORT_RECORDS_H
#define VERITY_TOOLS_REPORT_RECORDS_H

#include <cstdint>
#include <string_view>

#include "blame/evidence.h"

namespace verity::tools {

struct LineCounts {
  std::uint64_t faults = 0;
  std::uint64_t attestations = 0;
  std::uint64_t type_mismatches = 0;
  std::uint64_t broken = 0;   // no JSON: cut off, or never any
  std::uint64_t foreign = 0;  // other JSON
  std::uint64_t newer = 0;    // of a version that is not known here
};

// What one line is; it goes into `builder`, and is counted. Empty lines are nothing. Throws
// std::bad_alloc only.
void read_line(std::string_view line, blame::EvidenceBuilder& builder, LineCounts& counts);

}  // namespace verity::tools

#endif
