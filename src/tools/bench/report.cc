// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tools/bench/hashing.h"
#include "util/text.h"

namespace verity::tools::bench {

namespace {

using util::format;
using Json = nlohmann::ordered_json;

// Three significant digits or so.
std::string figure(double value) {
  return format(value >= 1000 ? "%.0f" : value >= 100 ? "%.1f" : "%.2f", value);
}

// Where a difference is small beside the figure its decimals say nothing.
std::string signed_figure(double value, double beside) {
  return format("%+.*f", std::abs(beside) >= 1000 ? 0 : std::abs(beside) >= 100 ? 1 : 2, value);
}

// Of wrapped to raw: at most so many decimals, and five characters where it is large, as of batches
// that the system interrupted.
std::string ratio_text(double value, int decimals) {
  if (value >= 1000) return format("%.0f", value);
  return format("%.*f", value >= 100 ? 1 : value >= 10 ? decimals - 1 : decimals, value);
}

std::string level_text(const Result& result) {
  const std::string level = name_of(result.traffic.level);
  return result.send.empty() ? level : level + "/" + result.send;
}

std::string test_text(const Result& result) {
  if (result.is_time()) return result.test() + " ns";
  return counts_bytes(result.traffic.size) ? "MB/s" : "M msg/s";
}

std::string head_text(const Result& result, const std::string& test, bool axes) {
  std::string text = format("%-9s %-8s %-10s ", level_text(result).c_str(),
                            result.traffic.transport.c_str(), test.c_str());
  if (axes) {
    const std::string segment = result.segment == 0 ? "default" : size_text(result.segment);
    text += format("%5u %7s ", result.ranks, segment.c_str());
  }
  return text + format("%5s ", size_text(result.traffic.size).c_str());
}

std::string figures_text(double raw, double wrapped, double difference, double ratio) {
  return format("%7s %7s %7s %6s", figure(raw).c_str(), figure(wrapped).c_str(),
                signed_figure(difference, raw).c_str(), ratio_text(ratio, 3).c_str());
}

std::string comparison_text(const Comparison& c) {
  const auto percent = [](double part, double all) { return all > 0 ? 100 * part / all : 0; };
  return figures_text(c.raw, c.wrapped, c.difference.value, c.ratio.value) +
         format(" %4s-%-4s %.0f%%,%.0f%%", ratio_text(c.ratio.low, 2).c_str(),
                ratio_text(c.ratio.high, 2).c_str(), percent(c.raw_spread, c.raw),
                percent(c.wrapped_spread, c.wrapped));
}

std::string verdict_text(const Result& result) {
  const std::string busy = result.too_disturbed ? " busy" : "";
  if (!result.limit) return busy;
  return std::string(" ") + verdict_name(result.verdict) + " (" + limit_text(*result.limit) + ")" +
         busy;
}

std::string size_in_words(std::size_t size) {
  std::string text = size_text(size);
  const char unit = text.back();
  if (unit != 'K' && unit != 'M') return text + " B";
  text.back() = ' ';
  return text + unit + "iB";
}

std::string figure_in_words(const Result& result, double value, double beside) {
  if (result.unit() == "Mmsg/s") return format(beside < 10 ? "%.2f M/s" : "%.1f M/s", value);
  const bool large = beside >= 10000;
  const char* unit = result.is_time() ? (large ? "us" : "ns") : (large ? "GB/s" : "MB/s");
  return format("%.*f %s", large ? 1 : 0, large ? value / 1000 : value, unit);
}

Json estimate_json(const Estimate& estimate) {
  return {estimate.value, estimate.low, estimate.high};
}

// In the order of the columns of CSV.
Json result_json(const Result& r) {
  const Comparison& c = r.comparison;
  const Comparison old = r.against_old.value_or(Comparison{});
  return {{"level", name_of(r.traffic.level)},
          {"transport", r.traffic.transport},
          {"test", r.test()},
          {"send", r.send},
          {"ranks", r.ranks},
          {"segment", r.segment},
          {"size", r.traffic.size},
          {"unit", r.unit()},
          {"raw", c.raw},
          {"wrapped", c.wrapped},
          {"difference", estimate_json(c.difference)},
          {"ratio", estimate_json(c.ratio)},
          {"raw_spread", c.raw_spread},
          {"p999_ns", {r.raw_p999, r.wrapped_p999}},
          {"blocks", r.blocks},
          {"disturbed", r.disturbed},
          {"messages", r.messages},
          {"limit", r.limit ? limit_text(*r.limit) : ""},
          {"verdict", verdict_name(r.verdict)},
          {"problem", r.problem},
          {"openings", c.openings},
          {"wrapped_spread", c.wrapped_spread},
          {"old", old.raw},
          {"difference_from_old", estimate_json(old.difference)},
          {"ratio_to_old", estimate_json(old.ratio)},
          {"old_spread", old.raw_spread},
          {"hash_ns", r.hash_ns},
          {"raw_with_hash", with_hash(r)}};
}

template <typename Named, std::size_t N>
Named named(const std::array<Named, N>& all, const std::string& name) {
  for (const Named value : all) {
    if (name == name_of(value)) return value;
  }
  throw std::runtime_error("no results of ucx-verity bench: " + name);
}

Estimate estimate_of(const Json& json) { return {json.at(0), json.at(1), json.at(2)}; }

Result result_of(const Json& row) {
  Result r;
  r.traffic.level = named(std::array{Level::kUct, Level::kUcp, Level::kMpi}, row.at("level"));
  r.traffic.transport = row.at("transport");
  r.traffic.size = row.at("size");
  const std::string test = row.at("test");
  r.traffic.test = test == "rate" || test == "bandwidth" ? Test::kRate : named(kTests, test);
  r.send = row.at("send");
  r.ranks = row.at("ranks");
  r.segment = row.at("segment");
  r.problem = row.at("problem");
  r.comparison.raw = row.at("raw");
  r.comparison.wrapped = row.at("wrapped");
  r.comparison.difference = estimate_of(row.at("difference"));
  r.comparison.ratio = estimate_of(row.at("ratio"));
  r.comparison.openings = row.at("openings");
  return r;
}

std::string csv_field(const Json& value) {
  if (value.is_number_float()) return format("%.4f", value.get<double>());
  if (!value.is_string()) return value.dump();
  std::string text = value;
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  for (std::size_t at = 0; (at = text.find('"', at)) != std::string::npos; at += 2) {
    text.insert(at, 1, '"');
  }
  return '"' + text + '"';
}

}  // namespace

std::string size_text(std::size_t size) {
  if (size >= 1U << 20 && size % (1U << 20) == 0) return format("%zuM", size >> 20);
  if (size >= 1024 && size % 1024 == 0) return format("%zuK", size >> 10);
  return format("%zu", size);
}

std::vector<std::string> titles(bool old) {
  if (old) return {"", "raw", "old", "wrapped", "", "to old"};
  return {"", "raw", "wrapped", ""};
}

std::vector<std::string> cells(const Result& result, bool old) {
  const Comparison& c = result.comparison;
  std::string where = result.traffic.transport;
  if (result.traffic.level != Level::kUcp) where += " (" + level_text(result) + ")";
  if (!result.problem.empty()) return {where, result.problem};
  const std::string test = result.test() == "rate" ? "message rate" : result.test();
  const auto words = [&](double value) { return figure_in_words(result, value, c.raw); };
  std::vector<std::string> row = {where + ", " + test + " " + size_in_words(result.traffic.size),
                                  words(c.raw), words(c.wrapped),
                                  result.is_time() && c.raw < 1000
                                      ? format("%+.0f ns", c.difference.value)
                                      : format("x%.2f", c.ratio.value)};
  if (!old || !result.against_old) return row;
  row.insert(row.begin() + 2, words(result.against_old->raw));
  row.push_back(format("x%.2f", result.against_old->ratio.value));
  return row;
}

std::string table_heading(bool axes) {
  return format("%-9s %-8s %-10s ", "level", "over", "test") +
         (axes ? format("%5s %7s ", "ranks", "segment") : "") +
         format("%5s %7s %7s %7s %6s 95%% range spread\n", "size", "raw", "wrapped", "diff",
                "ratio");
}

std::string table_line(const Result& result, bool axes) {
  if (!result.problem.empty()) {
    return (result.traffic.size == 0
                ? format("%-9s %-8s ", level_text(result).c_str(), result.traffic.transport.c_str())
                : head_text(result, test_text(result), axes)) +
           result.problem + "\n";
  }
  std::string text = head_text(result, test_text(result), axes) +
                     comparison_text(result.comparison) + verdict_text(result) + "\n";
  if (result.is_time()) {
    const double raw = result.raw_p999, wrapped = result.wrapped_p999;
    text += head_text(result, "  p99.9", axes) +
            figures_text(raw, wrapped, wrapped - raw, raw > 0 ? wrapped / raw : 0) + "\n";
  }
  if (const double least = with_hash(result); least > 0) {
    const double raw = result.comparison.raw;
    text += head_text(result, "  raw+hash", axes) +
            figures_text(raw, least, least - raw, least / raw) + "\n";
  }
  if (!result.against_old) return text;
  return text + head_text(result, "  old, new", axes) + comparison_text(*result.against_old) + "\n";
}

std::string csv_heading() {
  std::string line;
  const Json json = result_json({});
  for (const auto& [key, value] : json.items()) {
    line += line.empty() ? key : key == "p999_ns" ? ",raw_p999_ns,wrapped_p999_ns" : "," + key;
    if (value.size() == 3) line += "," + key + "_low," + key + "_high";
  }
  return line + "\n";
}

std::string csv_line(const Result& result) {
  std::string line;
  for (const Json& value : result_json(result)) {
    for (const Json& one : value.is_array() ? value : Json::array({value})) {
      line += (line.empty() ? "" : ",") + csv_field(one);
    }
  }
  return line + "\n";
}

std::string render_json(const std::vector<Result>& results, const About& about) {
  Json json = {{"schema", 1},
               {"method", about.method},
               {"machine", about.machine},
               {"versions", about.versions},
               {"date", about.date},
               {"command", about.command},
               {"results", Json::array()}};
  for (const Result& result : results) json["results"].push_back(result_json(result));
  return json.dump(2) + "\n";
}

std::vector<Result> parse_results(const std::string& json) {
  try {
    std::vector<Result> results;
    const Json all = Json::parse(json);
    for (const Json& row : all.at("results")) results.push_back(result_of(row));
    return results;
  } catch (const Json::exception& error) {
    throw std::runtime_error(std::string("no results of ucx-verity bench: ") + error.what());
  }
}

std::string render_markdown(const std::vector<Result>& results, const About& about) {
  const bool old = !results.empty() && results.front().against_old;
  std::string text;
  const auto add = [&](const std::vector<std::string>& row) {
    for (const std::string& cell : row) text += cell.empty() ? "| " : "| " + cell + " ";
    text += "|\n";
  };
  add(titles(old));
  for (std::size_t i = 0; i < titles(old).size(); ++i) text += "|---";
  text += "|\n";
  for (const Result& result : results) add(cells(result, old));
  return "`" + about.command + "`\n(" + about.machine + ", " + about.versions + ", " + about.date +
         "; " + about.method + "):\n\n" + text;
}

}  // namespace verity::tools::bench
