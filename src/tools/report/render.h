// SPDX-License-Identifier: BSD-3-Clause
//
// The report as text for a terminal of 80 columns, as JSON, and as one HTML page that needs nothing
// else. Pure functions.
#ifndef VERITY_TOOLS_REPORT_RENDER_H
#define VERITY_TOOLS_REPORT_RENDER_H

#include <string>

#include "blame/suspects.h"
#include "tools/report/records.h"
#include "tools/report/switches.h"

namespace verity::tools {

struct Findings {
  blame::Evidence evidence;
  LineCounts lines;
  std::uint64_t files = 0;
  std::vector<blame::Suspect> suspects;
  Topology topology{};
};

[[nodiscard]] std::string render_text(const Findings& findings);
[[nodiscard]] std::string render_json(const Findings& findings);
[[nodiscard]] std::string render_html(const Findings& findings);

// What the three have in common.

// The hosts with most faults, at most `most` of them, worst first, and how many hosts there are
// besides. Faults are counted from row to column; the last of each, if there are others, stands for
// them together.
struct Matrix {
  std::vector<std::string> hosts;
  std::size_t others = 0;
  std::vector<std::vector<std::uint64_t>> counts;  // [sender][receiver]
  std::uint64_t largest = 0;
};
[[nodiscard]] Matrix matrix_of(const blame::Evidence& evidence, std::size_t most);

// "single_bit 12, burst 3", the most frequent first.
[[nodiscard]] std::string patterns_in_words(const blame::Tally& tally);
// What such damage comes from most often. Empty: nothing to say, of weak evidence in any case.
[[nodiscard]] std::string hint(const blame::Suspect& suspect);
// Where to look, of a link or a device. Empty: nothing to say.
[[nodiscard]] std::string place_hint(const blame::Suspect& suspect);
// "port GUID 0x0002c90300a1b2c3, LID 12, firmware 16.35.2000, at switch leaf1 port 5" of each
// device that a suspect names, with its host before it where there are two.
[[nodiscard]] std::vector<std::string> ports_in_words(const blame::Suspect& suspect,
                                                      const Findings& findings);
// Faults in equal parts of time, from the first to the last one; empty where no time is known, or
// one moment.
struct Bar {
  std::string from;  // "2026-01-31 12:00"
  std::uint64_t faults = 0;
};
struct Timeline {
  std::uint64_t minutes = 0;  // of a bar
  std::uint64_t largest = 0;
  std::vector<Bar> bars;
};
[[nodiscard]] Timeline timeline_of(const blame::Evidence& evidence, std::size_t most);
// A name as it may stand in a terminal: no control characters, at most `width` bytes.
[[nodiscard]] std::string printable(const std::string& name, std::size_t width);

}  // namespace verity::tools

#endif
