// SPDX-License-Identifier: BSD-3-Clause
#include "tools/bench/report.h"

#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace verity::tools::bench {

namespace {

template <typename... Values>
std::string format(const char* pattern, Values... values) {
  std::array<char, 512> text;
  std::snprintf(text.data(), text.size(), pattern, values...);
  return text.data();
}

// Three significant digits or so, in at most 8 columns.
std::string figure(double value) {
  if (value >= 1000) return format("%.0f", value);
  if (value >= 100) return format("%.1f", value);
  return format("%.2f", value);
}

std::string level_text(const Result& result) {
  return result.send.empty() ? result.level : result.level + "/" + result.send;
}

std::string axes_text(const Result& result) {
  return format("%5u %7s ", result.ranks,
                result.segment == 0 ? "default" : size_text(result.segment).c_str());
}

std::string head_text(const Result& result, const char* test, bool axes) {
  return format("%-9s %-8s %-10s ", level_text(result).c_str(), result.transport.c_str(), test) +
         (axes ? axes_text(result) : "") + format("%5s ", size_text(result.size).c_str());
}

std::string test_text(const Result& result) {
  if (result.unit == "ns") return result.test + " ns";
  return result.test == "bandwidth" ? "MB/s" : "M msg/s";
}

// Where a difference is small beside the figure its decimals say nothing.
std::string signed_figure(double value, double beside) {
  return format("%+.*f", std::abs(beside) >= 1000 ? 0 : std::abs(beside) >= 100 ? 1 : 2, value);
}

std::string verdict_text(const Result& result) {
  if (!result.limit) return result.too_disturbed ? " busy" : "";
  return std::string(" ") + verdict_name(result.verdict) + " (" + limit_text(*result.limit) + ")" +
         (result.too_disturbed ? " busy" : "");
}

}  // namespace

std::string size_text(std::size_t size) {
  if (size >= 1U << 20 && size % (1U << 20) == 0) return format("%zuM", size >> 20);
  if (size >= 1024 && size % 1024 == 0) return format("%zuK", size >> 10);
  return format("%zu", size);
}

std::string table_heading(bool axes) {
  return format("%-9s %-8s %-10s ", "level", "over", "test") +
         (axes ? format("%5s %7s ", "ranks", "segment") : "") +
         format("%5s %8s %8s %8s %6s 95%% range\n", "size", "raw", "wrapped", "diff", "ratio");
}

std::string table_line(const Result& result, bool axes) {
  if (!result.problem.empty()) {
    return (result.size == 0
                ? format("%-9s %-8s ", level_text(result).c_str(), result.transport.c_str())
                : head_text(result, test_text(result).c_str(), axes)) +
           result.problem + "\n";
  }
  const Comparison& c = result.comparison;
  std::string text =
      head_text(result, test_text(result).c_str(), axes) +
      format("%8s %8s %8s %6.3f %.2f-%.2f", figure(c.raw).c_str(), figure(c.wrapped).c_str(),
             signed_figure(c.difference.value, c.raw).c_str(), c.ratio.value, c.ratio.low,
             c.ratio.high) +
      verdict_text(result) + "\n";
  if (result.unit != "ns") return text;
  const double tail_ratio = result.raw_p999 > 0 ? result.wrapped_p999 / result.raw_p999 : 0;
  return text + head_text(result, "  p99.9", axes) +
         format("%8s %8s %8s %6.3f\n", figure(result.raw_p999).c_str(),
                figure(result.wrapped_p999).c_str(),
                signed_figure(result.wrapped_p999 - result.raw_p999, result.raw_p999).c_str(),
                tail_ratio);
}

std::string csv_heading() {
  return "level,transport,test,send,ranks,segment,size,unit,raw,wrapped,difference,difference_low,"
         "difference_high,ratio,ratio_low,ratio_high,raw_spread,raw_p999_ns,wrapped_p999_ns,blocks,"
         "disturbed,"
         "messages,limit,verdict,problem\n";
}

std::string csv_line(const Result& r) {
  const Comparison& c = r.comparison;
  return format(
             "%s,%s,%s,%s,%u,%zu,%zu,%s,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.1f,%.1f,%zu,"
             "%zu,",
             r.level.c_str(), r.transport.c_str(), r.test.c_str(), r.send.c_str(), r.ranks,
             r.segment, r.size, r.unit.c_str(), c.raw, c.wrapped, c.difference.value,
             c.difference.low, c.difference.high, c.ratio.value, c.ratio.low, c.ratio.high,
             c.raw_spread, r.raw_p999, r.wrapped_p999, c.blocks, r.disturbed) +
         format("%llu,%s,%s,%s\n", static_cast<unsigned long long>(r.messages),
                r.limit ? limit_text(*r.limit).c_str() : "", verdict_name(r.verdict),
                r.problem.c_str());
}

std::string render_json(const std::vector<Result>& results, const std::string& about) {
  nlohmann::ordered_json json;
  json["schema"] = 1;
  json["method"] = about;
  auto& list = json["results"] = nlohmann::ordered_json::array();
  for (const Result& r : results) {
    const Comparison& c = r.comparison;
    list.push_back({{"level", r.level},
                    {"transport", r.transport},
                    {"test", r.test},
                    {"send", r.send},
                    {"ranks", r.ranks},
                    {"segment", r.segment},
                    {"size", r.size},
                    {"unit", r.unit},
                    {"raw", c.raw},
                    {"wrapped", c.wrapped},
                    {"difference", {c.difference.value, c.difference.low, c.difference.high}},
                    {"ratio", {c.ratio.value, c.ratio.low, c.ratio.high}},
                    {"raw_spread", c.raw_spread},
                    {"p999_ns", {r.raw_p999, r.wrapped_p999}},
                    {"blocks", c.blocks},
                    {"disturbed", r.disturbed},
                    {"messages", r.messages},
                    {"limit", r.limit ? limit_text(*r.limit) : ""},
                    {"verdict", verdict_name(r.verdict)},
                    {"problem", r.problem}});
  }
  return json.dump(2) + "\n";
}

}  // namespace verity::tools::bench
