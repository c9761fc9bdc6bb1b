// SPDX-License-Identifier: BSD-3-Clause
//
// Results for a terminal, for a spreadsheet, for a program, for a README, for a browser.
#ifndef VERITY_TOOLS_BENCH_REPORT_H
#define VERITY_TOOLS_BENCH_REPORT_H

#include <string>
#include <vector>

#include "tools/bench/result.h"

namespace verity::tools::bench {

// Where and how the results came about.
struct About {
  std::string method;    // what was compared, medians of how many openings
  std::string machine;   // model of the CPU
  std::string versions;  // of UCX and ucx-verity
  std::string date;
  std::string command;

  [[nodiscard]] std::string text() const { return method + "\n" + machine + ", " + versions; }
};

// "8", "4K", "1M".
[[nodiscard]] std::string size_text(std::size_t size);

// A row for readers: what was measured, then figures with their units, those of raw; with `old`
// also those of the older plugin.
[[nodiscard]] std::vector<std::string> titles(bool old);
[[nodiscard]] std::vector<std::string> cells(const Result& result, bool old);

// With `axes`: columns of ranks and segment sizes.
[[nodiscard]] std::string table_heading(bool axes);
// One line; where times of single operations are known a second one with the tail; and one with the
// older plugin in the place of raw.
[[nodiscard]] std::string table_line(const Result& result, bool axes);

[[nodiscard]] std::string csv_heading();
[[nodiscard]] std::string csv_line(const Result& result);

[[nodiscard]] std::string render_json(const std::vector<Result>& results, const About& about);
// What render_json() printed, without what only its tables need. Throws std::runtime_error for
// other text.
[[nodiscard]] std::vector<Result> parse_results(const std::string& json);
// The table of a README.
[[nodiscard]] std::string render_markdown(const std::vector<Result>& results, const About& about);
// One page without scripts or anything from elsewhere: ratios drawn over the message size.
[[nodiscard]] std::string render_html(const std::vector<Result>& results, const About& about);
// Its drawings and tables, for another page, and the style that they need.
[[nodiscard]] std::string render_sections(const std::vector<Result>& results);
[[nodiscard]] std::string key_in_words(bool old);
extern const char* const kChartStyle;

}  // namespace verity::tools::bench

#endif
