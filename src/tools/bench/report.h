// SPDX-License-Identifier: BSD-3-Clause
//
// Results for a terminal, for a spreadsheet, for a program.
#ifndef VERITY_TOOLS_BENCH_REPORT_H
#define VERITY_TOOLS_BENCH_REPORT_H

#include <string>
#include <vector>

#include "tools/bench/measure.h"

namespace verity::tools::bench {

// "8", "4K", "1M".
[[nodiscard]] std::string size_text(std::size_t size);

// With `axes`: columns of ranks and segment sizes.
[[nodiscard]] std::string table_heading(bool axes);
// One line, and where times of single operations are known a second one with the tail.
[[nodiscard]] std::string table_line(const Result& result, bool axes);

[[nodiscard]] std::string csv_heading();
[[nodiscard]] std::string csv_line(const Result& result);

// `about`: how it was measured, one text each.
[[nodiscard]] std::string render_json(const std::vector<Result>& results, const std::string& about);

}  // namespace verity::tools::bench

#endif
