// SPDX-License-Identifier: BSD-3-Clause
#include "types/tables/report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "util/text.h"

namespace verity::types {

namespace {

using util::format;
using Json = nlohmann::ordered_json;

// Words separated by blanks, in lines of a terminal's width.
std::string wrap(const std::string& text, const std::string& indent) {
  constexpr std::size_t kWidth = 78;
  std::string result = indent;
  std::size_t column = indent.size();
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (column + end - at > kWidth && column > indent.size()) {
      result.back() = '\n';
      result += indent;
      column = indent.size();
    }
    result += text.substr(at, end - at) + " ";
    column += end - at + 1;
    at = end + 1;
  }
  result.back() = '\n';
  return result;
}

std::string census_line(const Census& row) {
  const std::string paper = row.paper ? format("%6.1f", row.paper->collisions) : "     -";
  const std::string off =
      row.paper ? format("%+6.1f", row.collisions() - row.paper->collisions) : "     -";
  return format("%-14s %4u %8zu %6.1f %s %s %6.1f %6.1f %6.1f\n", row.hash.name.c_str(),
                row.hash.bits, row.distinct, row.collisions(), paper.c_str(), off.c_str(),
                row.ideal(), row.duplicates(),
                100 * static_cast<double>(row.ambiguous) / static_cast<double>(row.samples));
}

// The rows with a figure of the paper's, by `key`, most collisions first.
template <typename Key>
std::string order_by(const std::vector<Census>& rows, Key key) {
  std::vector<Census> known;
  std::copy_if(rows.begin(), rows.end(), std::back_inserter(known),
               [](const Census& row) { return row.paper.has_value(); });
  std::stable_sort(known.begin(), known.end(),
                   [&](const Census& a, const Census& b) { return key(a) > key(b); });
  std::string text;
  for (std::size_t i = 0; i < known.size(); ++i) {
    if (i > 0) text += key(known[i - 1]) > key(known[i]) ? " > " : " = ";
    text += known[i].hash.name;
  }
  return text;
}

std::string order_here(const std::vector<Census>& rows) {
  return order_by(rows, [](const Census& row) { return row.collisions(); });
}

std::string order_there(const std::vector<Census>& rows) {
  return order_by(rows, [](const Census& row) { return row.paper ? row.paper->collisions : 0; });
}

const char* verdict_name(const Series& series) {
  return series.verdict ? growth_name(*series.verdict) : "undecided";
}

Json census_json(const Census& row) {
  Json json = {{"hash", row.hash.name},
               {"source", row.hash.source},
               {"bits", row.hash.bits},
               {"distinct", row.distinct},
               {"collisions_percent", row.collisions()},
               {"paper_row", nullptr},
               {"paper_collisions_percent", nullptr},
               {"ideal_collisions_percent", row.ideal()},
               {"duplicates_percent", row.duplicates()},
               {"ambiguous", row.ambiguous}};
  if (row.paper) {
    json["paper_row"] = row.paper->name;
    json["paper_collisions_percent"] = row.paper->collisions;
  }
  return json;
}

}  // namespace

std::string render_census(const CensusReport& report) {
  std::string text = format("Sample for %s: %zu signatures, %zu of them different\n",
                            report.set.source.c_str(), report.set.samples.size(), report.different);
  text += wrap(report.set.about, "  ");
  text += format("\n%-14s %4s %8s %6s %6s %6s %6s %6s %6s\n", "hash", "bits", "distinct", "coll%",
                 "paper%", "diff", "ideal%", "dupl%", "ambig%");
  for (const Census& row : report.rows) text += census_line(row);
  text += "\n" + wrap(
                     "coll: (N - distinct) / N. paper: as printed there, where known to us (-: "
                     "not known). ideal: a random function of as many bits. dupl: values that "
                     "more than one signature has / distinct. ambig: signatures with another "
                     "value when built from their parts, each a mismatch that is none. "
                     "All but paper: counted just now by " +
                         report.command + ".",
                     "");
  return text;
}

std::string render_order(const std::vector<Census>& rows) {
  std::string text = "\nMost collisions first, here:\n" + wrap(order_here(rows), "  ") +
                     "and in the paper:\n" + wrap(order_there(rows), "  ");
  const std::vector<std::string> differences = order_differences(rows);
  if (differences.empty()) text += "The order is the paper's.\n";
  for (const std::string& line : differences) text += wrap("Not the paper's order: " + line, "");
  return text +
         wrap(
             "The figures differ by diff, in percent points. The paper gives the number of its "
             "signatures, but not their counts, their codes, nor its fields' polynomials (the part "
             "of "
             "our names behind the slash). Of the samples of that number with structs of two "
             "fields that were tried this one comes nearest to it; with others mmm-bs1 may come "
             "before xor-bs1.",
             "");
}

std::string render_census_json(const CensusReport& report) {
  Json json;
  json["schema"] = 1;
  json["command"] = report.command;
  json["sample"] = {{"source", report.set.source},
                    {"about", report.set.about},
                    {"signatures", report.set.samples.size()},
                    {"different", report.different}};
  for (const Census& row : report.rows) json["rows"].push_back(census_json(row));
  json["order"] = order_here(report.rows);
  json["paper_order"] = order_there(report.rows);
  json["order_differences"] = order_differences(report.rows);
  return json.dump(2) + "\n";
}

std::string render_timing(const std::vector<Series>& all) {
  std::string text =
      format("ns a call on this machine, medians of %u batches; columns: n\n\n%-14s %-6s", kBatches,
             "hash", "");
  for (const unsigned n : timing_sizes()) text += format(" %6u", n);
  text += "  exponent\n";
  for (const Series& series : all) {
    text += format("%-14s %-6s", series.hash.name.c_str(), series.operation.c_str());
    for (const double ns : series.ns) text += format(ns < 1000 ? " %6.1f" : " %6.0f", ns);
    text += format("  %+5.2f %s", series.exponent, verdict_name(series));
    const bool expected = series.verdict == series.claimed;
    text += expected ? "\n" : format(" (expected: %s)\n", growth_name(series.claimed));
  }
  return text + "\n" +
         wrap(format("concat: of two parts of n elements; repeat: n copies of one element. "
                     "exponent: e of the best fit of time = c n^e; constant: at most %.2f, "
                     "linear: at least %.2f. Langou 2005, Table 2, has no figures here: its "
                     "point is that the CRCs grow with n and its own hashes do not.",
                     kConstantExponent, kLinearExponent),
              "");
}

std::string render_timing_json(const std::vector<Series>& all) {
  Json json;
  json["schema"] = 1;
  json["command"] = "verity-types sig table2";
  json["sizes"] = timing_sizes();
  json["batches"] = kBatches;
  json["constant_at_most"] = kConstantExponent;
  json["linear_at_least"] = kLinearExponent;
  for (const Series& series : all) {
    json["rows"].push_back({{"hash", series.hash.name},
                            {"operation", series.operation},
                            {"ns", series.ns},
                            {"exponent", series.exponent},
                            {"verdict", verdict_name(series)},
                            {"expected", growth_name(series.claimed)}});
  }
  return json.dump(2) + "\n";
}

}  // namespace verity::types
