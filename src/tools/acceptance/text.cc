// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/acceptance/results.h"
#include "tools/bench/report.h"

namespace verity::tools {

namespace {

using Json = nlohmann::ordered_json;

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(text.size() < width ? width - text.size() : 0, ' ');
}

// Columns as wide as their widest cell; the first one to the left, the others to the right.
std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const auto& row : rows) {
    text += "  ";
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == 0) text += padded(row[i], widths[i]);
      if (i > 0) text += "  " + std::string(widths[i] - row[i].size(), ' ') + row[i];
    }
    text += "\n";
  }
  return text;
}

std::string facts_text(const Acceptance& a) {
  std::string text;
  for (const HostFact& fact : a.facts) {
    const std::string name = "  " + padded(fact.key, 18);
    if (fact.values[0] == fact.values[1]) {
      text += name + fact.values[0] + "\n";
      continue;
    }
    for (std::size_t i = 0; i < 2; ++i) {
      text += (i == 0 ? name : "  " + padded("", 18)) + a.hosts[i] + ": " +
              (fact.values[i].empty() ? "not known" : fact.values[i]) + "\n";
    }
  }
  return text;
}

std::string transports_text(const Acceptance& a) {
  std::string text;
  for (const HostTransport& t : a.transports) {
    text += "  " + padded(t.name, 12) + padded(t.wrapped, 12);
    if (t.devices[0] == t.devices[1]) {
      text += " " + t.devices[0];
    } else {
      for (std::size_t i = 0; i < 2; ++i)
        text += " " + a.hosts[i] + ": " + (t.devices[i].empty() ? "none" : t.devices[i]) +
                (i == 0 ? ";" : "");
    }
    text += "\n";
  }
  return text;
}

Json estimate(const bench::Estimate& e) { return {e.value, e.low, e.high}; }

}  // namespace

std::string render_text(const Acceptance& a) {
  std::string text = "ucx-verity acceptance of " + a.hosts[0] + " and " + a.hosts[1] + ", " +
                     a.date + "\n" + a.verdict() + "\n\nHosts\n" + facts_text(a);
  if (!a.transports.empty()) text += "\nTransports of UCX\n" + transports_text(a);
  std::string section;
  for (const AcceptanceStep& step : a.steps) {
    if (step.section != section) text += "\n" + step.section + "\n";
    section = step.section;
    text += "  " + padded(name_of(step.outcome), 8) + " " + step.name + ": " + step.text +
            (step.remedy.empty() ? "" : " -> " + step.remedy) + "\n";
  }
  if (!a.costs.empty()) {
    std::vector<std::vector<std::string>> rows = {bench::titles(false)};
    for (const bench::Result& cost : a.costs) rows.push_back(bench::cells(cost, false));
    text += "\nWhat verification costs between the hosts\n" + table(rows);
  }
  return text + "\n" + contents_in_words(a) + "\n";
}

std::string render_json(const Acceptance& a) {
  Json json = {{"schema", 1},
               {"outcome", name_of(a.outcome())},
               {"verdict", a.verdict()},
               {"date", a.date},
               {"version", a.version},
               {"command", a.command},
               {"anonymous", a.anonymous},
               {"hosts", a.hosts}};
  json["facts"] = Json::array();
  for (const HostFact& fact : a.facts)
    json["facts"].push_back({{"key", fact.key}, {"values", fact.values}});
  json["transports"] = Json::array();
  for (const HostTransport& t : a.transports)
    json["transports"].push_back(
        {{"name", t.name}, {"wrapped", t.wrapped}, {"devices", t.devices}});
  json["steps"] = Json::array();
  for (const AcceptanceStep& step : a.steps) {
    json["steps"].push_back({{"section", step.section},
                             {"outcome", name_of(step.outcome)},
                             {"name", step.name},
                             {"text", step.text},
                             {"remedy", step.remedy}});
  }
  json["costs"] = Json::array();
  for (const bench::Result& cost : a.costs) {
    json["costs"].push_back({{"transport", cost.traffic.transport},
                             {"test", cost.test()},
                             {"size", cost.traffic.size},
                             {"unit", cost.unit()},
                             {"raw", cost.comparison.raw},
                             {"wrapped", cost.comparison.wrapped},
                             {"ratio", estimate(cost.comparison.ratio)},
                             {"problem", cost.problem}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace verity::tools
