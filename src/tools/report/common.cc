// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "tools/report/render.h"

namespace verity::tools {

namespace {

using health::Pattern;

struct Meaning {
  Pattern pattern;
  const char* text;
};

constexpr Meaning kMeanings[] = {
    {Pattern::kSingleBit, "single bits: memory without error correction on the way (a network adapter's, a switch's), or a DIMM"},
    {Pattern::kZeroed, "zeroed cache lines: a write of the device to memory that was lost or came late (PCIe, IOMMU)"},
    {Pattern::kRepeated, "repeated cache lines: a buffer in the adapter or in the PCIe path written twice"},
    {Pattern::kShifted, "shifted bytes: a driver, firmware or segmentation offload that cuts packets wrongly"},
    {Pattern::kWhole, "another frame's bytes: delivered twice or to the wrong place (firmware, driver, reused buffer)"},
    {Pattern::kStalePage, "stale pages: a registration that no longer fits the memory (registration cache, IOMMU, fork): try UCX_RCACHE_ENABLE=n"},
    {Pattern::kBurst, "bursts: a link or PCIe lane, or a buffer in the adapter"},
    {Pattern::kScattered, "scattered bits: signal quality or heat; power, cable, seat of the adapter"},
};

std::size_t commonest(const Tally& tally) {
  return static_cast<std::size_t>(std::max_element(tally.patterns.begin(), tally.patterns.end()) - tally.patterns.begin());
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
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
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
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::string text;
  for (const auto& [count, name] : list) text += (text.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(count);
  return text;
}

std::string hint(const Suspect& suspect) {
  const Tally& tally = suspect.tally;
  if (suspect.confidence == Confidence::kWeak) return {};
  if (suspect.what.device == kMemory) return "the sender's copy changed in its own memory: test the DIMMs of that host";
  const std::size_t most = commonest(tally);
  const auto pattern = static_cast<Pattern>(most);
  if (tally.patterns[most] == 0) return {};
  if (tally.again * 2 > tally.patterns[most] && pattern == Pattern::kSingleBit) {
    return "the same bit again and again: one cell or lane (a DIMM, the adapter's memory, a PCIe lane)";
  }
  for (const Meaning& meaning : kMeanings) {
    if (meaning.pattern == pattern) return meaning.text;
  }
  return {};
}

}  // namespace verity::tools
