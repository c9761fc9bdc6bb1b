// SPDX-License-Identifier: BSD-3-Clause
#include <time.h>

#include <algorithm>
#include <ctime>
#include <map>

#include "health/text.h"
#include "tools/report/render.h"

namespace verity::tools {

using blame::Confidence;
using blame::Evidence;
using blame::Explanation;
using blame::kMemory;
using blame::Part;
using blame::Suspect;
using blame::Tally;

namespace {

using health::grouped;
using health::Pattern;

struct Meaning {
  Pattern pattern;
  const char* text;
};

constexpr Meaning kMeanings[] = {
    {Pattern::kSingleBit,
     "single bits: memory without error correction, in an adapter, a switch or a DIMM"},
    {Pattern::kZeroed,
     "zeroed cache lines: a write of the device to memory that was lost or came late (PCIe, "
     "IOMMU)"},
    {Pattern::kRepeated,
     "repeated cache lines: a buffer in the adapter or in the PCIe path written twice"},
    {Pattern::kShifted,
     "shifted bytes: a driver, firmware or segmentation offload that cuts packets wrongly"},
    {Pattern::kWhole,
     "another frame's bytes: delivered twice or to the wrong place (firmware, driver, reused "
     "buffer)"},
    {Pattern::kStalePage,
     "stale pages: a registration that no longer fits the memory (registration cache, IOMMU, "
     "fork): try UCX_RCACHE_ENABLE=n"},
    {Pattern::kBurst, "bursts: a link or PCIe lane, or a buffer in the adapter"},
    {Pattern::kScattered,
     "scattered bits: signal quality or heat; power, cable, seat of the adapter"},
};

std::size_t commonest(const Tally& tally) {
  return static_cast<std::size_t>(std::max_element(tally.patterns.begin(), tally.patterns.end()) -
                                  tally.patterns.begin());
}

}  // namespace

std::string printable(const std::string& name, std::size_t width) {
  std::string out = name.empty() ? "(unknown)" : name.substr(0, width);
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f) c = '?';
  }
  return out;
}

Matrix matrix_of(const Evidence& evidence, std::size_t most) {
  std::map<std::string, std::uint64_t> involved;
  for (const auto& [way, tally] : evidence.ways) {
    involved[way.sender] += tally.faults;
    if (!way.local()) involved[way.receiver] += tally.faults;
  }
  std::vector<std::pair<std::uint64_t, std::string>> order;
  for (const auto& [host, faults] : involved) order.emplace_back(faults, host);
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  Matrix matrix;
  std::map<std::string, std::size_t> place;
  for (const auto& [faults, host] : order) {
    if (matrix.hosts.size() == most) break;
    place[host] = matrix.hosts.size();
    matrix.hosts.push_back(host);
  }
  matrix.others = order.size() - matrix.hosts.size();
  const std::size_t n = matrix.hosts.size() + (matrix.others != 0);
  matrix.counts.assign(n, std::vector<std::uint64_t>(n, 0));
  const auto at = [&](const std::string& host) {
    const auto found = place.find(host);
    return found != place.end() ? found->second : n - 1;
  };
  for (const auto& [way, tally] : evidence.ways) {
    std::uint64_t& cell = matrix.counts[at(way.sender)][at(way.receiver)];
    cell += tally.faults;
    matrix.largest = std::max(matrix.largest, cell);
  }
  return matrix;
}

std::string patterns_in_words(const Tally& tally) {
  std::vector<std::pair<std::uint64_t, std::string_view>> list;
  for (std::size_t i = 0; i < tally.patterns.size(); ++i) {
    if (tally.patterns[i] != 0) list.emplace_back(tally.patterns[i], health::kPatternNames[i]);
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [count, name] : list)
    text += (text.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(count);
  return text;
}

std::string hint(const Suspect& suspect) {
  const Tally& tally = suspect.tally;
  if (suspect.confidence == Confidence::kWeak) return {};
  if (suspect.what.device == kMemory)
    return "the sender's copy changed in its own memory: test the DIMMs of that host";
  if (suspect.in_memory != 0) {
    return grouped(suspect.in_memory) +
           " within the host, over no adapter: its memory (test the DIMMs) or processor" +
           (tally.again * 2 > tally.faults ? "; the same bit again and again: one cell or lane"
                                           : "");
  }
  const std::size_t most = commonest(tally);
  const auto pattern = static_cast<Pattern>(most);
  if (tally.patterns[most] == 0) return {};
  if (tally.again * 2 > tally.patterns[most] && pattern == Pattern::kSingleBit) {
    return "the same bit again and again: one cell or lane (a DIMM, the adapter's memory, a PCIe "
           "lane)";
  }
  for (const Meaning& meaning : kMeanings) {
    if (meaning.pattern == pattern) return meaning.text;
  }
  return {};
}

std::string place_hint(const Suspect& suspect) {
  if (suspect.in_memory != 0 || suspect.what.device == kMemory) return {};
  switch (suspect.what.part) {
    case Part::kLink:
    case Part::kPair:
      // Where its ends are as likely there is nothing that only it uses.
      if (suspect.confidence == Confidence::kWeak || !suspect.or_else.empty()) return {};
      return "look at what only this way uses: a cable, switch ports, a route of the fabric";
    case Part::kDevice:
      return "look at the adapter, its slot, its cable and the switch port at its end";
    case Part::kHost: return {};
  }
  return {};
}

namespace {

std::string port_words(const std::string& host, const std::string& device, const Findings& f) {
  const auto known = f.evidence.ports.find({host, device});
  health::Port port = known != f.evidence.ports.end() ? known->second : health::Port();
  const auto plug = f.topology.find(host, device);
  if (plug && port.guid.empty()) port.guid = plug->guid;
  if (plug && port.lid == 0) port.lid = plug->lid;
  std::string text;
  const auto add = [&](const std::string& words) { text += (text.empty() ? "" : ", ") + words; };
  if (!port.guid.empty()) add("port GUID " + printable(port.guid, 32));
  if (port.lid != 0) add("LID " + std::to_string(port.lid));
  if (!port.firmware.empty()) add("firmware " + printable(port.firmware, 32));
  if (plug)
    add("at switch " + printable(plug->switch_name, 64) +
        (plug->switch_port.empty() ? "" : " port " + printable(plug->switch_port, 8)));
  return text;
}

}  // namespace

std::vector<std::string> ports_in_words(const Suspect& suspect, const Findings& f) {
  const Explanation& what = suspect.what;
  std::vector<std::string> lines;
  if (what.device == kMemory) return lines;
  const std::string one = port_words(what.host, what.device, f);
  if (what.peer.empty()) {
    if (!one.empty()) lines.push_back(one);
    return lines;
  }
  const std::string other = port_words(what.peer, what.device, f);
  if (!one.empty()) lines.push_back(printable(what.host, 64) + ": " + one);
  if (!other.empty()) lines.push_back(printable(what.peer, 64) + ": " + other);
  return lines;
}

namespace {

// Minutes since 1970 of "2026-01-31T12:00"; false: it is none.
bool minutes_of(const std::string& text, std::uint64_t* minutes) {
  std::tm parts{};
  char* end = strptime(text.c_str(), "%Y-%m-%dT%H:%M", &parts);
  if (end == nullptr || *end != '\0' || parts.tm_year < 70) return false;
  *minutes = static_cast<std::uint64_t>(timegm(&parts)) / 60;
  return true;
}

std::string minute_text(std::uint64_t minutes) {
  const auto seconds = static_cast<std::time_t>(minutes * 60);
  std::tm parts{};
  char text[32];
  if (gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text, sizeof(text), "%Y-%m-%d %H:%M", &parts) == 0)
    return {};
  return text;
}

}  // namespace

Timeline timeline_of(const Evidence& evidence, std::size_t most) {
  std::map<std::uint64_t, std::uint64_t> faults;
  for (const auto& [text, count] : evidence.minutes) {
    std::uint64_t minute = 0;
    if (minutes_of(text, &minute)) faults[minute] += count;
  }
  if (faults.empty()) return {};
  const std::uint64_t last = faults.rbegin()->first;
  Timeline line;
  for (const std::uint64_t minutes : {1, 5, 15, 60, 360, 1440, 10080, 43200, 525600}) {
    line.minutes = minutes;
    if (last / minutes - faults.begin()->first / minutes < most) break;
  }
  const std::uint64_t first = faults.begin()->first / line.minutes;
  line.bars.resize(std::min<std::uint64_t>(last / line.minutes - first + 1, most));
  for (std::size_t i = 0; i < line.bars.size(); ++i)
    line.bars[i].from = minute_text((first + i) * line.minutes);
  for (const auto& [minute, count] : faults) {
    Bar& bar =
        line.bars[std::min<std::uint64_t>(minute / line.minutes - first, line.bars.size() - 1)];
    bar.faults += count;
    line.largest = std::max(line.largest, bar.faults);
  }
  return line;
}

}  // namespace verity::tools
