// SPDX-License-Identifier: BSD-3-Clause
#include "blame/verdict.h"

#include <algorithm>
#include <map>
#include <set>

#include "health/text.h"

namespace verity::blame {
namespace {

Sums sums_of(const Evidence& evidence) {
  Sums sums;
  std::set<std::string> troubled;
  for (const auto& [way, tally] : evidence.ways) {
    const bool received = way.receiver == health::kThisHost;
    (way.device == kMemory ? sums.memory
     : way.local()         ? sums.within
     : received            ? sums.in
                           : sums.out) += tally.faults;
    if (const std::string& other = way.other_than(health::kThisHost);
        !way.local() && !other.empty())
      troubled.insert(other);
  }
  sums.troubled.assign(troubled.begin(), troubled.end());
  for (const auto& [host, data] : evidence.hosts) {
    sums.bytes += data.bytes;
    if (host == health::kThisHost) continue;
    sums.hosts.push_back(host);
    sums.compared += data.compared != 0;
  }
  return sums;
}

std::string counted(std::uint64_t number, const char* noun) {
  return health::grouped(number) + " " + noun + (number == 1 ? "" : "s");
}

std::string faults_in_words(const Sums& sums) {
  std::string text = counted(sums.faults(), "fault") + " (";
  if (sums.in + sums.out > 0)
    text += health::grouped(sums.in) + " in, " + health::grouped(sums.out) + " out";
  const auto add = [&](std::uint64_t number, const char* where) {
    if (number > 0) text += (text.back() == '(' ? "" : ", ") + health::grouped(number) + where;
  };
  add(sums.within, " within this host");
  add(sums.memory, " in memory");
  return text + ")";
}

// The part of this host that explains faults with others: the device where nearly all are, if none
// was in memory.
std::string own_part(const Evidence& evidence, const Sums& sums) {
  std::map<std::string_view, std::uint64_t> adapters;
  for (const auto& [way, tally] : evidence.ways) {
    if (way.in_memory()) return "memory or processor of this host";
    if (!way.local()) adapters[way.adapter()] += tally.faults;
  }
  for (const auto& [name, faults] : adapters) {
    if (!name.empty() && faults * 10 >= (sums.in + sums.out) * 9)
      return "device " + std::string(name);
  }
  return "this host";
}

bool has_part(const Sums& sums, std::size_t hosts, unsigned percent) {
  return sums.troubled.size() * 100 >= hosts * percent;
}

bool mostly_own(const Sums& sums, unsigned percent) {
  return sums.troubled.size() >= 2 && has_part(sums, sums.hosts.size(), percent);
}

// Half of the peers of one hour may lie behind one switch: nearly all must have faults.
bool own_lately(const Sums& sums, unsigned percent) {
  constexpr std::size_t kFewest = 4;
  constexpr unsigned kNearlyAll = 90;
  return sums.troubled.size() >= kFewest && sums.compared >= sums.troubled.size() &&
         has_part(sums, sums.compared, std::max(percent, kNearlyAll));
}

std::string others(const Sums& sums) {
  const std::vector<std::string>& names = sums.troubled;
  if (names.empty()) return "peer unknown";
  if (sums.hosts.size() == 1)
    return "this host, " + names.front() + ", or the link between them (no other host to compare)";
  return (names.size() == 1 ? "host " : "hosts ") + health::name_list(names, 48) +
         (names.size() == 1 ? ", or the link to it" : ", or the links to them");
}

}  // namespace

const char* level_name(Level level) noexcept {
  switch (level) {
    case Level::kOk: return "OK";
    case Level::kWarning: return "WARNING";
    case Level::kCritical: return "CRITICAL";
    case Level::kUnknown: break;
  }
  return "UNKNOWN";
}

Verdict verdict_of(const Evidence& evidence, const Thresholds& thresholds) {
  const Sums sums = sums_of(evidence);
  const std::uint64_t faults = sums.faults();
  if (faults < std::max<std::uint64_t>(thresholds.warning, 1)) {
    std::string text = health::human_bytes(sums.bytes) + " checked, in and out, ";
    text += sums.hosts.empty() ? "within this host, "
                               : "with " + counted(sums.hosts.size(), "other host") + ", ";
    return {Level::kOk, text + (faults == 0 ? "no faults" : counted(faults, "fault")), {}, sums};
  }
  const bool mostly = mostly_own(sums, thresholds.percent);
  const bool own = mostly || own_lately(sums, thresholds.percent);
  // Faults that others may have made do not make this host's own ones worse.
  const std::uint64_t own_faults = own ? faults : sums.within + sums.memory;
  Verdict verdict{Level::kWarning, faults_in_words(sums),
                  own_faults == 0 ? others(sums) : own_part(evidence, sums), sums};
  if (own_faults >= std::max<std::uint64_t>(thresholds.critical, 1))
    verdict.level = Level::kCritical;
  if (own_faults != 0 && !sums.troubled.empty()) {
    verdict.text += " with " + std::to_string(sums.troubled.size()) + " of " +
                    counted(own && !mostly ? sums.compared : sums.hosts.size(), "host") +
                    (own && !mostly ? " of that time" : "");
  }
  verdict.text += ": " + verdict.suspect;
  return verdict;
}

}  // namespace verity::blame
