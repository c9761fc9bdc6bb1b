// SPDX-License-Identifier: BSD-3-Clause
#include "blame/verdict.h"

#include <algorithm>
#include <map>
#include <set>

#include "health/text.h"

namespace verity::blame {
namespace {

// What the paths say together.
struct Evidence {
  Sums sums;
  std::uint64_t local_in = 0, local_out = 0;
  bool in_memory = false;                         // some faults touched no device, only this host's memory
  std::map<std::string, std::uint64_t> troubled;  // faults by remote host
  std::set<std::string> remote;                   // hosts with traffic
  std::map<std::string, std::uint64_t> devices;   // faults by device, of paths to others
};

// Shared memory and the loopback device: what processes of one host exchange there passes no adapter.
bool is_memory(std::string_view device) noexcept { return device.empty() || device == "lo" || device.starts_with("memory"); }

Evidence weigh(const std::vector<PathTrouble>& paths, std::string_view own) {
  Evidence all;
  for (const PathTrouble& path : paths) {
    const std::uint64_t wire = path.faults_in + path.faults_out;
    all.sums.memory += path.faults_memory;
    all.sums.bytes += path.bytes;
    all.in_memory = all.in_memory || path.faults_memory > 0;
    if (path.peer == own) {
      all.in_memory = all.in_memory || (wire > 0 && is_memory(path.device));
      all.local_in += path.faults_in;
      all.local_out += path.faults_out;
      continue;
    }
    all.sums.in += path.faults_in;
    all.sums.out += path.faults_out;
    if (wire > 0) all.devices[path.device] += wire;
    if (path.peer.empty()) continue;
    if (path.bytes > 0 || wire > 0) all.remote.insert(path.peer);
    if (wire > 0) all.troubled[path.peer] += wire;
  }
  // Each has a receiver that saw it, and mostly a sender that was asked to repair it: the same fault, in two files of this host.
  all.sums.within = std::max(all.local_in, all.local_out);
  all.sums.hosts.assign(all.remote.begin(), all.remote.end());
  for (const auto& [host, faults] : all.troubled) all.sums.troubled.push_back(host);
  return all;
}

std::string counted(std::uint64_t number, const char* noun) {
  return health::grouped(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string faults_in_words(const Sums& sums) {
  std::string text = counted(sums.faults(), "fault") + " (";
  if (sums.in + sums.out > 0) text += health::grouped(sums.in) + " in, " + health::grouped(sums.out) + " out";
  const auto add = [&](std::uint64_t number, const char* where) {
    if (number > 0) text += (text.back() == '(' ? "" : ", ") + health::grouped(number) + where;
  };
  add(sums.within, " within this host");
  add(sums.memory, " in memory");
  return text + ")";
}

// The device, where nearly all is on one.
std::string main_device(const Evidence& all) {
  std::uint64_t sum = 0;
  for (const auto& [device, faults] : all.devices) sum += faults;
  for (const auto& [device, faults] : all.devices) {
    if (!device.empty() && faults * 10 >= sum * 9) return device;
  }
  return {};
}

bool mostly_own(const Evidence& all, unsigned percent) {
  return all.troubled.size() >= 2 && all.troubled.size() * 100 >= all.remote.size() * percent;
}

// No adapter explains faults in memory, even where most faults came over one: memory damages what any device sends and receives.
std::string own_part(const Evidence& all) {
  if (all.in_memory) return "memory or processor of this host";
  const std::string device = main_device(all);
  return device.empty() ? "this host" : "device " + device;
}

Verdict blame_this_host(const Evidence& all, Level level) {
  Verdict verdict{level, faults_in_words(all.sums), own_part(all), all.sums};
  if (!all.troubled.empty()) {
    verdict.text += " with " + std::to_string(all.troubled.size()) + " of " + counted(all.remote.size(), "host");
  }
  verdict.text += ": " + verdict.suspect;
  return verdict;
}

Verdict blame_others(const Evidence& all) {
  std::vector<std::string> names;
  for (const auto& [host, faults] : all.troubled) names.push_back(host);
  Verdict verdict{Level::kWarning, faults_in_words(all.sums), {}, all.sums};
  if (names.empty()) {
    verdict.suspect = "peer unknown";
  } else if (all.remote.size() == 1) {
    verdict.suspect = "this host, " + names.front() + ", or the link between them (no other host to compare)";
  } else {
    verdict.suspect = (names.size() == 1 ? "host " : "hosts ") + health::name_list(names, 48) +
                      (names.size() == 1 ? ", or the link to it" : ", or the links to them");
  }
  verdict.text += ": " + verdict.suspect;
  return verdict;
}

}  // namespace

const char* level_name(Level level) noexcept {
  switch (level) {
    case Level::kOk:
      return "OK";
    case Level::kWarning:
      return "WARNING";
    case Level::kCritical:
      return "CRITICAL";
    case Level::kUnknown:
      break;
  }
  return "UNKNOWN";
}

Verdict judge(const std::vector<PathTrouble>& paths, std::string_view own, const Thresholds& thresholds) {
  const Evidence all = weigh(paths, own);
  const std::uint64_t faults = all.sums.faults();
  if (faults < std::max<std::uint64_t>(thresholds.warning, 1)) {
    std::string text = health::human_bytes(all.sums.bytes) + " checked, in and out, ";
    text += all.remote.empty() ? "within this host, " : "with " + counted(all.remote.size(), "other host") + ", ";
    return {Level::kOk, text + (faults == 0 ? "no faults" : counted(faults, "fault")), {}, all.sums};
  }
  const std::uint64_t at_home = all.sums.within + all.sums.memory;
  if (at_home == 0 && !mostly_own(all, thresholds.percent)) return blame_others(all);
  // What is surely one's own decides; what others may have done does not make it worse.
  const std::uint64_t own_faults = mostly_own(all, thresholds.percent) ? faults : at_home;
  return blame_this_host(all, own_faults >= thresholds.critical ? Level::kCritical : Level::kWarning);
}

}  // namespace verity::blame
