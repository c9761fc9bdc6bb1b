// SPDX-License-Identifier: BSD-3-Clause
#include "fault/settings.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace verity::fault {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool parse_number(std::string_view text, uint64_t* value_p) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value_p);
  return error == std::errc() && end == text.data() + text.size();
}

bool parse_hex(std::string_view text, std::vector<uint8_t>* bytes_p) {
  if (text.empty() || text.size() % 2 != 0) { return false; }
  for (size_t i = 0; i < text.size(); i += 2) {
    uint8_t byte = 0;
    const char* end = text.data() + i + 2;
    if (std::from_chars(text.data() + i, end, byte, 16).ptr != end) { return false; }
    bytes_p->push_back(byte);
  }
  return true;
}

bool parse_pattern(std::string_view text, Pattern* pattern_p) {
  const auto parts = split(text, ':');
  uint64_t offset = 0;
  if (parts.size() != 3 || !parse_number(parts[0], &offset) ||
      !parse_hex(parts[1], &pattern_p->mask) || !parse_hex(parts[2], &pattern_p->value) ||
      pattern_p->mask.size() != pattern_p->value.size()) {
    return false;
  }
  pattern_p->offset = offset;
  return true;
}

}  // namespace

bool contains(const Ranges& ranges, uint64_t value) noexcept {
  return ranges.empty() || std::any_of(ranges.begin(), ranges.end(), [&](const Range& range) {
           return range.first <= value && value <= range.last;
         });
}

bool parse_ranges(const std::string& text, Ranges* ranges_p, std::string* error_p) {
  for (const std::string_view part : split(text, ',')) {
    const size_t dash = part.find('-');
    Range range{};
    const bool good = dash == part.npos ? parse_number(part, &range.first)
                                        : parse_number(part.substr(0, dash), &range.first) &&
                                              parse_number(part.substr(dash + 1), &range.last);
    if (dash == part.npos) { range.last = range.first; }
    if (!good || range.first > range.last) {
      *error_p = "'" + std::string(part) + "' is no number or range; write for example 1,5,10-20";
      return false;
    }
    ranges_p->push_back(range);
  }
  return true;
}

bool parse_match(const std::string& text, std::vector<Pattern>* match_p, std::string* error_p) {
  for (const std::string_view part : split(text, ',')) {
    Pattern pattern{};
    if (!parse_pattern(part, &pattern)) {
      *error_p = "'" + std::string(part) +
                 "' is not offset:mask:value with mask and value in hexadecimal digits of the same "
                 "number of bytes; write for example 2:ff:03 or 0:ffff:5659";
      return false;
    }
    match_p->push_back(std::move(pattern));
  }
  return true;
}

bool check(const Settings& settings, std::string* error_p) {
  const int selectors = (settings.rate > 0) + (settings.every > 0) + (settings.by_number ? 1 : 0);
  if (!(settings.rate >= 0 && settings.rate <= 1)) {
    *error_p = "UCX_FAULT_RATE: a probability from 0 to 1 is needed, such as 0.001";
  } else if (selectors > 1) {
    *error_p = "UCX_FAULT_RATE, UCX_FAULT_EVERY, UCX_FAULT_FRAMES: set only one of them";
  } else if (settings.kinds == 0) {
    *error_p = "UCX_FAULT_KINDS: name at least one kind, such as flip";
  } else if (settings.sides == 1U << static_cast<unsigned>(Side::kTx) &&
             settings.kinds == mask_of(Kind::kSwap)) {
    *error_p = "UCX_FAULT_KINDS: swap happens at the receiver, set UCX_FAULT_SIDE=rx";
  } else if (!settings.peers.empty() && settings.sides != 1U << static_cast<unsigned>(Side::kTx)) {
    *error_p = "UCX_FAULT_PEERS: only a sender knows its peer, leave UCX_FAULT_SIDE=tx";
  } else if (settings.offset != kUnset && settings.bit != kUnset) {
    *error_p = "UCX_FAULT_OFFSET, UCX_FAULT_BIT: set only one of them";
  } else if (settings.bits == 0 || settings.burst == 0) {
    *error_p = "UCX_FAULT_BITS, UCX_FAULT_BURST: at least 1 is needed";
  } else if (settings.min_len > settings.max_len) {
    *error_p = "UCX_FAULT_MIN_LEN is more than UCX_FAULT_MAX_LEN: no frame would ever pass";
  } else {
    return true;
  }
  return false;
}

uint64_t rank_from_environment() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    const char* text = std::getenv(name);
    uint64_t rank = 0;
    if (text != nullptr && parse_number(text, &rank)) { return rank; }
  }
  return kUnset;
}

}  // namespace verity::fault
