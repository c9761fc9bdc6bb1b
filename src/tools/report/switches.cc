// SPDX-License-Identifier: BSD-3-Clause
#include "tools/report/switches.h"

#include <algorithm>
#include <map>
#include <set>

#include "health/text.h"

namespace verity::tools {

using blame::Confidence;
using blame::Evidence;
using blame::Suspect;
namespace {

struct Sums {
  SwitchFaults faults;
  std::set<std::string> troubled;
};

}  // namespace

std::vector<SwitchFaults> by_switch(const Evidence& evidence, const Topology& topology) {
  std::map<std::string, Sums> sums;
  const auto name_of = [&](const std::string& host, const std::string& device) {
    const auto plug = topology.find(host, device);
    return plug ? plug->switch_name : std::string();
  };
  for (const auto& [way, tally] : evidence.ways) {
    if (way.local()) continue;
    const std::string from = name_of(way.sender, way.device);
    const std::string to = name_of(way.receiver, way.device);
    sums[from].troubled.insert(way.sender);
    sums[to].troubled.insert(way.receiver);
    if (from == to) {
      sums[from].faults.within += tally.faults;
    } else {
      sums[from].faults.from += tally.faults;
      sums[to].faults.to += tally.faults;
    }
  }
  std::vector<SwitchFaults> list;
  for (auto& [name, sum] : sums) {
    sum.faults.name = name;
    sum.faults.troubled = sum.troubled.size();
    sum.faults.hosts = topology.hosts_of(name);
    list.push_back(sum.faults);
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const SwitchFaults& a, const SwitchFaults& b) { return a.all() > b.all(); });
  return list;
}

std::string switch_hint(const std::vector<SwitchFaults>& switches, const Evidence& evidence,
                        const std::vector<Suspect>& suspects) {
  constexpr std::size_t kHosts = 3;
  if (switches.empty() || switches.front().name.empty()) return {};
  const bool explained = std::any_of(suspects.begin(), suspects.end(), [&](const Suspect& s) {
    return s.confidence != Confidence::kWeak && s.tally.faults * 2 > evidence.faults;
  });
  if (explained) return {};
  const SwitchFaults& first = switches.front();
  if (first.troubled < kHosts || first.all() * 10 < evidence.faults * 9) return {};
  return health::grouped(first.all()) + " of " + health::grouped(evidence.faults) +
         " faults pass switch " + first.name + ", at " + std::to_string(first.troubled) +
         " of its hosts, and no host or link explains most of them: it may be the switch";
}

}  // namespace verity::tools
