// SPDX-License-Identifier: BSD-3-Clause
//
// The results as drawings: for each transport and kind of test the ratio of wrapped to raw over the
// message size. The page is well-formed XML as well.
#include <algorithm>
#include <cmath>
#include <map>

#include "tools/bench/report.h"
#include "tools/env/transports.h"
#include "tools/html.h"
#include "util/text.h"

namespace verity::tools::bench {

const char* const kChartStyle = R"(.charts { display: flex; flex-wrap: wrap; gap: 1rem; }
figure { margin: 0; flex: 1 1 26rem; max-width: 33rem; }
figcaption { font-weight: 600; }
svg { width: 100%; height: auto; }
svg text { font-size: 11px; fill: var(--dim); }
svg text.value { fill: var(--new); }
line { stroke: var(--line); }
line.raw { stroke: var(--text); stroke-dasharray: 5 4; }
polyline { fill: none; stroke-width: 2; }
.new { stroke: var(--new); } circle.new { fill: var(--new); } .key.new { color: var(--new); }
.old { stroke: var(--old); } circle.old { fill: var(--old); } .key.old { color: var(--old); }
.key { font-weight: 600; }
.scroll { overflow-x: auto; margin-top: .5rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { border: 1px solid var(--line); padding: .15rem .6rem; text-align: right; white-space: nowrap; }
th { background: var(--head); font-weight: 500; }
td:first-child { text-align: left; }
)";

namespace {

using util::format;

constexpr double kWidth = 480, kHeight = 260, kLeft = 44, kRight = 20, kTop = 18, kBottom = 28;

struct Point {
  double size;
  double ratio;  // wrapped to raw, with its range
  double low;
  double high;
  double old;  // the older plugin to raw; 0: none
  std::string title;
};

Point point_of(const Result& r) {
  const Comparison& c = r.comparison;
  const bool old = r.against_old && c.raw > 0;
  return {.size = std::log2(static_cast<double>(std::max<std::size_t>(r.traffic.size, 1))),
          .ratio = c.ratio.value,
          .low = c.ratio.low,
          .high = c.ratio.high,
          .old = old ? r.against_old->raw / c.raw : 0,
          .title = join(cells(r, old), " | ")};
}

class Chart {
 public:
  explicit Chart(const std::vector<const Result*>& results) {
    for (const Result* result : results) points_.push_back(point_of(*result));
    std::sort(points_.begin(), points_.end(),
              [](const Point& a, const Point& b) { return a.size < b.size; });
    for (const Point& p : points_) top_ = std::max({top_, 1.15 * p.ratio, 1.15 * p.old});
    for (const double step : {.2, .5, 1., 2., 5.}) {
      if (top_ / step_ > 6) step_ = step;
    }
    while (top_ / step_ > 6) step_ *= 2;
  }

  [[nodiscard]] std::string svg(const std::string& label) const {
    std::string text =
        format("<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", kWidth, kHeight) +
        escaped(label) + "\">\n";
    for (double at = 0; at <= top_; at += step_) {
      text += line("", kLeft, y(at), kWidth - kRight, y(at)) +
              words("", "end", kLeft - 6, y(at) + 4, format("x%g", at));
    }
    text += line("raw", kLeft, y(1), kWidth - kRight, y(1));
    for (const Point& p : points_) {
      text += words("", "middle", x(p), kHeight - 8,
                    size_text(static_cast<std::size_t>(std::exp2(p.size) + .5)));
      text += line("new", x(p), y(p.low), x(p), y(p.high));
    }
    text += curve("old", &Point::old) + curve("new", &Point::ratio);
    for (const Point& p : points_) {
      text += words("value", "middle", x(p), y(std::max(p.ratio, p.high)) - 6,
                    format("x%.2f", p.ratio));
    }
    return text + "</svg>\n";
  }

 private:
  [[nodiscard]] double x(const Point& p) const {
    const double first = points_.front().size, last = points_.back().size;
    const double part = last > first ? (p.size - first) / (last - first) : 0.5;
    return kLeft + 24 + part * (kWidth - kLeft - kRight - 48);
  }
  [[nodiscard]] double y(double ratio) const {
    return kHeight - kBottom - std::min(ratio, top_) / top_ * (kHeight - kTop - kBottom);
  }
  static std::string line(const char* name, double x1, double y1, double x2, double y2) {
    return format("<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" />\n", name,
                  x1, y1, x2, y2);
  }
  static std::string words(const char* name, const char* anchor, double x, double y,
                           const std::string& text) {
    return format("<text class=\"%s\" text-anchor=\"%s\" x=\"%.1f\" y=\"%.1f\">", name, anchor, x,
                  y) +
           escaped(text) + "</text>\n";
  }
  [[nodiscard]] std::string curve(const char* name, double Point::*value) const {
    std::string corners, dots;
    for (const Point& p : points_) {
      if (p.*value <= 0) continue;
      corners += format("%.1f,%.1f ", x(p), y(p.*value));
      dots += format("<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"><title>", name, x(p),
                     y(p.*value)) +
              escaped(p.title) + "</title></circle>\n";
    }
    if (corners.empty()) return {};
    return format("<polyline class=\"%s\" points=\"", name) + corners + "\" />\n" + dots;
  }

  std::vector<Point> points_;
  double top_ = 1.2;
  double step_ = 0.2;
};

std::string kind_of(const Result& result) {
  return result.is_time() ? "Ratio of " + result.test() : "Ratio of message rate and bandwidth";
}

std::string row(const std::vector<std::string>& cells, const std::string& tag) {
  std::string html = "<tr>";
  for (const std::string& cell : cells) {
    html += "<" + tag + ">" + escaped(cell) + "</" + tag + ">";
  }
  return html + "</tr>\n";
}

// Charts of one transport, and its figures.
std::string section(const std::vector<const Result*>& results) {
  const bool old = results.front()->against_old.has_value();
  std::map<std::string, std::vector<const Result*>> kinds;
  std::string rows = row(titles(old), "th");
  for (const Result* result : results) {
    rows += row(cells(*result, old), "td");
    if (result->problem.empty()) kinds[kind_of(*result)].push_back(result);
  }
  std::string html = "<div class=\"charts\">\n";
  for (const auto& [kind, of_kind] : kinds) {
    html += "<figure><figcaption>" + kind + "</figcaption>\n" + Chart(of_kind).svg(kind) +
            "</figure>\n";
  }
  return html + "</div>\n<div class=\"scroll\"><table>\n" + rows + "</table></div>\n";
}

std::string heading(const Result& r) {
  const std::string text = r.traffic.transport + " (" + name_of(r.traffic.level) + ")";
  if (r.traffic.level != Level::kMpi) return text;
  return text + ", " + std::to_string(r.ranks) +
         " ranks, segments: " + (r.segment == 0 ? "default" : size_text(r.segment));
}

}  // namespace

std::string key_in_words(bool old) {
  return "Each curve shows a ratio to raw, the dashed line: <span class=\"key "
         "new\">wrapped</span>, "
         "with its 95 % range" +
         std::string(old ? ", and <span class=\"key old\">old</span>" : "") +
         ". Latencies are better below the line, rates above it.";
}

std::string render_sections(const std::vector<Result>& results) {
  std::vector<std::pair<std::string, std::vector<const Result*>>> sections;
  for (const Result& result : results) {
    const std::string title = heading(result);
    auto at = std::find_if(sections.begin(), sections.end(),
                           [&](const auto& section) { return section.first == title; });
    if (at == sections.end()) at = sections.insert(at, {title, {}});
    at->second.push_back(&result);
  }
  std::string html;
  for (const auto& [title, of_title] : sections)
    html += "<h2>" + escaped(title) + "</h2>\n" + section(of_title);
  return html;
}

std::string render_html(const std::vector<Result>& results, const About& about) {
  const bool old = !results.empty() && results.front().against_old;
  return page_head("ucx-verity bench", kChartStyle) + "<h1>What verification costs</h1>\n<p>" +
         escaped(about.machine + ", " + about.versions + ", " + about.date) + "</p>\n<p>" +
         escaped(about.method) + "</p>\n<p><code>" + escaped(about.command) + "</code></p>\n<p>" +
         key_in_words(old) + "</p>\n" + render_sections(results) + "</body>\n</html>\n";
}

}  // namespace verity::tools::bench
