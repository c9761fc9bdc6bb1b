// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/checks/protocols.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "tools/doctor/checks/host.h"
#include "tools/env/transports.h"

namespace verity::tools {

namespace {

using Names = std::vector<std::string>;
using Ranges = std::vector<ProtocolRange>;

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t#");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

// "93", "256K", "inf"
std::uint64_t size_of(const std::string& text) {
  std::istringstream stream(text);
  std::uint64_t value = 0;
  char unit = 0;
  if (!(stream >> value)) return kAnySize;
  stream >> unit;
  const std::string units = "KMG";
  const std::size_t power = units.find(unit);
  return power == std::string::npos ? value : value << (10 * (power + 1));
}

// ---- one line of limits: "tag_send: 0..<egr/short>..93..<egr/bcopy>..8256..<rndv>..(inf)"
// ---------

std::string protocol_name(const std::string& name) {
  if (name == "rndv") return "rendezvous";
  if (name.starts_with("egr/")) return "eager " + name.substr(4);
  return name;
}

struct DescribedLane {
  std::string name;
  std::string uses;  // " am am_bw#0 "
};

// "lane[0]:  2:vtcp/eth0.0 md[0]   -> md[0]/verity/sysdev[255] rma_bw#0 am"
std::vector<DescribedLane> lanes_in(std::string_view description) {
  std::vector<DescribedLane> lanes;
  std::istringstream stream{std::string(description)};
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line.substr(std::min(line.find("lane["), line.size())));
    std::string word;
    std::string name;
    if (!(words >> word >> name)) continue;
    name = name.substr(name.find(':') + 1);
    DescribedLane lane{name.substr(0, name.rfind('.')), " "};
    while (words >> word) lane.uses += word + " ";
    lanes.push_back(std::move(lane));
  }
  return lanes;
}

std::string lanes_for(const std::string& use, const std::vector<DescribedLane>& lanes) {
  Names names;
  for (const DescribedLane& lane : lanes) {
    if (lane.uses.find(" " + use) != std::string::npos) names.push_back(lane.name);
  }
  return join(names, ", ");
}

// The lanes of bandwidth carry a rendezvous: by reads and writes, or in active messages.
std::string lanes_of(const std::string& protocol, const std::vector<DescribedLane>& lanes) {
  const Names uses = protocol == "rendezvous" ? Names{"rma_bw#", "am_bw#", "am "} : Names{"am "};
  for (const std::string& use : uses) {
    if (std::string names = lanes_for(use, lanes); !names.empty()) return names;
  }
  return {};
}

Ranges limits_in(std::string_view description) {
  const std::string_view mark = "tag_send: ";
  const std::size_t at = description.find(mark);
  if (at == std::string_view::npos) return {};
  const auto lanes = lanes_in(description);
  std::string_view rest = description.substr(at + mark.size());
  rest = rest.substr(0, rest.find('\n'));
  Ranges ranges;
  while (true) {  // SIZE..<NAME>..
    const std::size_t open = rest.find('<');
    const std::size_t close = rest.find(">..");
    if (open == std::string_view::npos || close == std::string_view::npos) break;
    ProtocolRange range;
    range.first = size_of(std::string(rest.substr(0, rest.find(".."))));
    range.protocol = protocol_name(std::string(rest.substr(open + 1, close - open - 1)));
    range.lanes = lanes_of(range.protocol, lanes);
    if (!ranges.empty()) ranges.back().last = range.first - 1;
    ranges.push_back(std::move(range));
    rest.remove_prefix(close + 3);
  }
  return ranges;
}

// ---- a table: "| 93..8248 | eager copy-in copy-out | posix/memory |"
// -----------------------------

bool is_title(std::string_view line) {
  const std::string_view mark = "ucp_tag_send*";
  const std::size_t at = line.find(mark);
  if (at == std::string_view::npos) return false;
  std::string_view rest = line.substr(at + mark.size());
  if (rest.starts_with("()")) rest.remove_prefix(2);
  return rest.starts_with(" from host memory");  // and not "(multi)" or "(fast-completion)"
}

Ranges table_in(std::string_view description) {
  Ranges ranges;
  bool inside = false;
  std::istringstream stream{std::string(description)};
  for (std::string line; std::getline(stream, line);) {
    if (line.find("ucp_tag_send*") != std::string::npos) {
      inside = is_title(line);
      continue;
    }
    Names cells;
    std::istringstream columns(line);
    for (std::string cell; std::getline(columns, cell, '|');) cells.push_back(trimmed(cell));
    if (!inside || cells.size() < 4) continue;
    const std::size_t dots = cells[1].find("..");
    if (dots == std::string::npos) continue;
    const bool unknown = cells[2].starts_with("(?) ");  // whether the peer agrees
    ranges.push_back({size_of(cells[1].substr(0, dots)), size_of(cells[1].substr(dots + 2)),
                      unknown ? cells[2].substr(4) : cells[2], cells[3]});
  }
  return ranges;
}

// ---- the two side by side
// --------------------------------------------------------------------------

ProtocolRange range_at(const Ranges& ranges, std::uint64_t size) {
  const auto found = std::find_if(ranges.begin(), ranges.end(), [&](const ProtocolRange& range) {
    return range.first <= size && size <= range.last;
  });
  return found == ranges.end() ? ProtocolRange{0, 0, "", ""} : *found;
}

std::string choice(const ProtocolRange& range) {
  if (range.protocol.empty()) return "unknown";
  return range.protocol + (range.lanes.empty() ? "" : ", " + range.lanes);
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text + "  ";
}

std::string render_table(const ProtocolTable& table) {
  std::string text = "messages " + table.where + "\n";
  if (!table.error.empty()) return text + "  unknown: " + table.error + "\n";
  std::vector<Names> lines = {{"bytes", "without the plugin", "with the plugin"}};
  for (const ProtocolRow& row : rows_of(table))
    lines.push_back({size_text(row.first) + " to " + size_text(row.last), choice(row.raw),
                     choice(row.wrapped)});
  std::size_t widths[2] = {0, 0};
  for (const Names& line : lines) {
    for (std::size_t i = 0; i < 2; ++i) widths[i] = std::max(widths[i], line[i].size());
  }
  for (const Names& line : lines)
    text += "  " + padded(line[0], widths[0]) + padded(line[1], widths[1]) + line[2] + "\n";
  return text;
}

}  // namespace

std::vector<ProtocolRange> protocols_in(std::string_view description) {
  Ranges ranges = table_in(description);
  return ranges.empty() ? limits_in(description) : ranges;
}

std::vector<ProtocolRow> rows_of(const ProtocolTable& table) {
  std::set<std::uint64_t> starts = {kLeastMessage};
  for (const Ranges* ranges : {&table.raw, &table.wrapped}) {
    for (const ProtocolRange& range : *ranges) {
      if (range.first > kLeastMessage && range.first <= kLargestMessage) starts.insert(range.first);
    }
  }
  std::vector<ProtocolRow> rows;
  for (const std::uint64_t start : starts) {
    const ProtocolRow row = {start, kLargestMessage, range_at(table.raw, start),
                             range_at(table.wrapped, start)};
    // UCX may list two ranges with the same words, which differ in what it does not say.
    if (!rows.empty() && choice(rows.back().raw) == choice(row.raw) &&
        choice(rows.back().wrapped) == choice(row.wrapped))
      continue;
    if (!rows.empty()) rows.back().last = start - 1;
    rows.push_back(row);
  }
  return rows;
}

std::string render_protocols(const std::vector<ProtocolTable>& tables) {
  std::string text;
  for (const ProtocolTable& table : tables) text += render_table(table) + "\n";
  return text;
}

}  // namespace verity::tools
