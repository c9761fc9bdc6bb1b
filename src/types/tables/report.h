// SPDX-License-Identifier: BSD-3-Clause
//
// The tables of `verity-types sig`, as text and as JSON. Each says how large its samples are and
// where its figures come from.
#ifndef VERITY_TYPES_TABLES_REPORT_H
#define VERITY_TYPES_TABLES_REPORT_H

#include <string>
#include <vector>

#include "types/tables/census.h"
#include "types/tables/timing.h"

namespace verity::types {

// A sample and what the hashes made of it.
struct CensusReport {
  std::string command;  // that makes it, for the reader to repeat
  SampleSet set;
  std::size_t different = 0;  // sequences among the samples
  std::vector<Census> rows;
};

[[nodiscard]] std::string render_census(const CensusReport& report);
[[nodiscard]] std::string render_census_json(const CensusReport& report);
// The order by collisions, the paper's, and each difference.
[[nodiscard]] std::string render_order(const std::vector<Census>& rows);

[[nodiscard]] std::string render_timing(const std::vector<Series>& all);
[[nodiscard]] std::string render_timing_json(const std::vector<Series>& all);

}  // namespace verity::types

#endif
