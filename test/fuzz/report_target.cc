// SPDX-License-Identifier: BSD-3-Clause
#include <string_view>

#include "fuzz/targets.h"
#include "tools/report/render.h"

namespace verity::fuzz {

// Files of any bytes: whatever is in them, the report is made, and its texts can do no harm.
void report_target(const uint8_t* data, size_t size) {
  blame::EvidenceBuilder builder;
  tools::Findings f;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    tools::read_line(rest.substr(0, end), builder, f.lines);
    rest.remove_prefix(end == rest.npos ? rest.size() : end + 1);
  }
  f.evidence = builder.build();
  f.suspects = blame::rank(f.evidence);
  uint64_t suspected = 0;
  for (const blame::Suspect& s : f.suspects) suspected += s.tally.faults;
  require(suspected <= f.evidence.faults, "more faults are explained than there were");
  require(
      f.evidence.faults == 0 || suspected != 0 || f.evidence.ways.begin()->first.receiver.empty(),
      "faults without a suspect");
  for (const char c : tools::render_text(f))
    require(c == '\n' || (c >= ' ' && c <= '~'), "a control character for the terminal");
  const std::string html = tools::render_html(f);
  require(html.find("<script") == std::string::npos, "a script in the page");
  require(!tools::render_json(f).empty(), "no JSON");
}

}  // namespace verity::fuzz
