// SPDX-License-Identifier: BSD-3-Clause
#include "types/tables/census.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "util/text.h"

namespace verity::types {

namespace {

using util::format;

Census count(const Hash& hash, const SampleSet& set, const std::vector<Sequence>& sequences) {
  Census census{.hash = hash.traits(), .samples = sequences.size(), .paper = {}};
  std::unordered_map<uint64_t, std::size_t> uses;
  for (std::size_t i = 0; i < sequences.size(); ++i) {
    const Value flat = hash_flat(hash, sequences[i]);
    ++uses[flat.hash];
    if (hash_built(hash, set.samples[i]) != flat) ++census.ambiguous;
  }
  census.distinct = uses.size();
  census.repeated = static_cast<std::size_t>(
      std::count_if(uses.begin(), uses.end(), [](const auto& use) { return use.second > 1; }));
  return census;
}

double percent(double part, double whole) { return whole == 0 ? 0 : 100 * part / whole; }

int sign(double value) { return (value > 0) - (value < 0); }

const char* relation(double difference) {
  return difference > 0 ? "more than" : difference < 0 ? "fewer than" : "as many as";
}

}  // namespace

std::optional<PaperRow> langou_table1(const std::string& hash) {
  // The figures of the paper that we know; the rest of its table we do not.
  if (hash == "xor-bs1-16") return PaperRow{"xor-bs1, 16 bits", 61.1};
  if (hash == "mmm-bs1-16") return PaperRow{"mmm-bs1, 16 bits", 52.0};
  if (hash == "crc-ccitt-16") return PaperRow{"CRC-CCITT, 16 bits", 4.8};
  if (hash.starts_with("gfd-8x2/")) return PaperRow{"gfd w=8 m=2", 3.7};
  if (hash.starts_with("gfd-8x4/")) return PaperRow{"gfd w=8 m=4", 0};
  if (hash.starts_with("gfd-16x2/")) return PaperRow{"gfd w=16 m=2", 0};
  if (hash == "crc-32") return PaperRow{"CRC-32", 0};
  return std::nullopt;
}

double Census::collisions() const {
  return percent(static_cast<double>(samples - distinct), static_cast<double>(samples));
}

double Census::duplicates() const {
  return percent(static_cast<double>(repeated), static_cast<double>(distinct));
}

double Census::ideal() const {
  const double values = std::ldexp(1.0, static_cast<int>(hash.bits));
  const auto n = static_cast<double>(samples);
  // values * (1 - (1 - 1/values)^n) of them are hit, written so that 61 bits do not round to 1.
  const double hit = -values * std::expm1(n * std::log1p(-1 / values));
  return percent(std::max(0.0, n - hit), n);
}

std::size_t count_distinct(const std::vector<Sequence>& sequences) {
  return std::set<Sequence>(sequences.begin(), sequences.end()).size();
}

std::vector<Census> take_census(const SampleSet& set, const std::vector<tables::HashPtr>& hashes) {
  std::vector<Sequence> sequences;
  for (const Sample& sample : set.samples) sequences.push_back(expand(sample));
  std::vector<Census> rows;
  for (const auto& hash : hashes) rows.push_back(count(*hash, set, sequences));
  return rows;
}

std::vector<std::string> order_differences(const std::vector<Census>& rows) {
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = i + 1; j < rows.size(); ++j) {
      const Census &a = rows[i], &b = rows[j];
      if (!a.paper || !b.paper || a.paper->name == b.paper->name) continue;
      const double here = a.collisions() - b.collisions();
      const double there = a.paper->collisions - b.paper->collisions;
      if (sign(here) == sign(there)) continue;
      lines.push_back(format("%s has %s %s here, %s in the paper", a.hash.name.c_str(),
                             relation(here), b.hash.name.c_str(), relation(there)));
    }
  }
  return lines;
}

}  // namespace verity::types
