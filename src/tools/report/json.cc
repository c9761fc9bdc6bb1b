// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include "tools/report/render.h"

namespace verity::tools {

using blame::Evidence;
using blame::Explanation;
using blame::Part;
using blame::Suspect;

namespace {

using Json = nlohmann::ordered_json;

Json explanation_json(const Explanation& e) {
  constexpr const char* kParts[] = {"link", "device", "pair", "host"};
  constexpr const char* kRoles[] = {"sends", "receives", "both"};
  Json json{{"part", kParts[static_cast<std::size_t>(e.part)]}, {"host", e.host}};
  if (!e.peer.empty()) json["peer"] = e.peer;
  if (!e.device.empty()) json["device"] = e.device;
  if (e.part == Part::kDevice || e.part == Part::kHost)
    json["role"] = kRoles[static_cast<std::size_t>(e.role)];
  json["text"] = describe(e);
  return json;
}

template <typename Names>
Json counts_json(const Names& names, const auto& counts) {
  Json json = Json::object();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != 0) json[std::string(names(i))] = counts[i];
  }
  return json;
}

Json suspect_json(const Suspect& s, const Findings& f) {
  Json json = explanation_json(s.what);
  json["ports"] = ports_in_words(s, f);
  json["confidence"] = name_of(s.confidence);
  json["score"] = s.score;
  json["faults"] = s.tally.faults;
  json["again"] = s.tally.again;
  json["kinds"] =
      counts_json([](std::size_t i) { return health::kFaultKinds[i].name; }, s.tally.kinds);
  json["patterns"] =
      counts_json([](std::size_t i) { return health::kPatternNames[i]; }, s.tally.patterns);
  json["hint"] = hint(s);
  json["place"] = place_hint(s);
  json["or_else"] = Json::array();
  for (const Explanation& e : s.or_else) json["or_else"].push_back(explanation_json(e));
  return json;
}

}  // namespace

std::string render_json(const Findings& f) {
  const Evidence& e = f.evidence;
  Json json{{"schema", 1},
            {"files", f.files},
            {"faults", e.faults},
            {"ambiguous", e.ambiguous},
            {"source_changed", e.source_changed},
            {"type_mismatches", e.type_mismatches},
            {"injected", e.injected},
            {"dropped", e.dropped},
            {"left_out", e.beyond},
            {"lines_broken", f.lines.broken},
            {"lines_foreign", f.lines.foreign},
            {"lines_of_other_versions", f.lines.newer},
            {"first", e.first},
            {"last", e.last}};
  json["suspects"] = Json::array();
  for (const Suspect& s : f.suspects) json["suspects"].push_back(suspect_json(s, f));
  json["hosts"] = Json::array();
  for (const auto& [name, host] : e.hosts) {
    json["hosts"].push_back({{"host", name},
                             {"processes", host.processes},
                             {"clean", host.clean},
                             {"bytes_verified", host.bytes},
                             {"delivered", host.delivered},
                             {"source_changed", host.source_changed}});
  }
  json["jobs"] = Json::array();
  for (const auto& [name, faults] : e.jobs)
    json["jobs"].push_back({{"job", name}, {"faults", faults}});
  json["ways"] = Json::array();
  for (const auto& [way, tally] : e.ways) {
    json["ways"].push_back({{"sender", way.sender},
                            {"receiver", way.receiver},
                            {"device", way.device},
                            {"faults", tally.faults}});
  }
  json["switches"] = Json::array();
  for (const SwitchFaults& s :
       f.topology.empty() ? std::vector<SwitchFaults>() : by_switch(e, f.topology)) {
    json["switches"].push_back({{"switch", s.name.empty() ? Json() : Json(s.name)},
                                {"within", s.within},
                                {"from", s.from},
                                {"to", s.to},
                                {"hosts_with_faults", s.troubled},
                                {"hosts", s.hosts}});
  }
  json["ports"] = Json::array();
  for (const auto& [key, port] : e.ports) {
    json["ports"].push_back({{"host", key.first},
                             {"device", key.second},
                             {"port_guid", port.guid},
                             {"lid", port.lid},
                             {"firmware", port.firmware}});
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace verity::tools
