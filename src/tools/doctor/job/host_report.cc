// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/job/host_report.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/hex.h"

namespace verity::tools {

namespace {

using nlohmann::json;

constexpr std::string_view kMark = "ucx-verity-doctor ";
constexpr std::size_t kPiece = 160;        // bytes of a report in a line
constexpr std::size_t kMostPieces = 4096;  // of a report; a larger number is damage

json to_json(const std::vector<Variable>& variables) {
  json object = json::object();
  for (const Variable& variable : variables) object[variable.name] = variable.value;
  return object;
}

std::vector<Variable> variables_of(const json& object) {
  std::vector<Variable> variables;
  for (const auto& [name, value] : object.items()) variables.push_back({name, value});
  return variables;
}

// ASCII: a piece may end anywhere.
std::string text_of(const HostReport& report) {
  json findings = json::array();
  for (const Finding& finding : report.findings)
    findings.push_back({static_cast<int>(finding.grade), finding.topic, finding.text,
                        finding.advice, static_cast<int>(finding.effect)});
  const json object = {{"host", report.host},
                       {"findings", findings},
                       {"settings", to_json(report.settings)},
                       {"versions", to_json(report.versions)},
                       {"active", report.active}};
  return object.dump(-1, ' ', true, json::error_handler_t::replace);
}

HostReport report_of(const json& object) {
  HostReport report;
  report.host = object.at("host");
  for (const json& finding : object.at("findings")) {
    const int grade = std::clamp<int>(finding.at(0), 0, static_cast<int>(Grade::kBroken));
    const int effect = std::clamp<int>(finding.at(4), 0, static_cast<int>(Effect::kAbort));
    report.findings.push_back({static_cast<Grade>(grade), finding.at(1), finding.at(2),
                               finding.at(3), static_cast<Effect>(effect)});
  }
  report.settings = variables_of(object.at("settings"));
  report.versions = variables_of(object.at("versions"));
  report.active = object.at("active");
  return report;
}

struct Pieces {
  std::size_t count = 0;
  std::map<std::size_t, std::string> found;
};

// MARK WHO INDEX COUNT DIGEST:PIECE;
void read_line(std::string_view line, std::map<std::string, Pieces>* reports) {
  const std::size_t mark = line.find(kMark);
  const std::size_t colon = mark == std::string_view::npos ? mark : line.find(':', mark);
  const std::size_t end = line.rfind(';');
  if (colon == std::string_view::npos || end == std::string_view::npos || end < colon) return;
  std::istringstream head(
      std::string(line.substr(mark + kMark.size(), colon - mark - kMark.size())));
  std::string who;
  std::string digest;
  std::size_t index = 0;
  std::size_t count = 0;
  if (!(head >> who >> index >> count >> digest)) return;
  const std::string piece(line.substr(colon + 1, end - colon - 1));
  if (count > kMostPieces || index >= count || short_digest(who + piece) != digest) return;
  (*reports)[who].count = count;
  (*reports)[who].found[index] = piece;
}

}  // namespace

std::vector<std::string> to_lines(const HostReport& report, long process) {
  const std::string text = text_of(report);
  std::string who = report.host + "/" + std::to_string(process);
  std::replace_if(
      who.begin(), who.end(), [](char c) { return c == ' ' || c == ':'; }, '_');
  const std::size_t count = (text.size() + kPiece - 1) / kPiece;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string piece = text.substr(i * kPiece, kPiece);
    lines.push_back(std::string(kMark) + who + " " + std::to_string(i) + " " +
                    std::to_string(count) + " " + short_digest(who + piece) + ":" + piece + ";");
  }
  return lines;
}

std::vector<HostReport> reports_in(std::string_view output, unsigned* cut) {
  std::map<std::string, Pieces> pieces;
  while (!output.empty()) {
    const std::size_t end = std::min(output.find('\n'), output.size());
    read_line(output.substr(0, end), &pieces);
    output.remove_prefix(std::min(end + 1, output.size()));
  }
  *cut = 0;
  std::map<std::string, HostReport> reports;  // by their text: a host's processes may say the same
  for (const auto& [who, parts] : pieces) {
    std::string text;
    for (const auto& [index, piece] : parts.found) text += piece;
    const json object = json::parse(text, nullptr, false);
    try {
      if (parts.found.size() != parts.count || object.is_discarded())
        ++*cut;
      else
        reports.emplace(text, report_of(object));
    } catch (const json::exception&) { ++*cut; }
  }
  std::vector<HostReport> sorted;
  for (auto& [text, report] : reports) sorted.push_back(std::move(report));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const HostReport& a, const HostReport& b) { return a.host < b.host; });
  return sorted;
}

}  // namespace verity::tools
