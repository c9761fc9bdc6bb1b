// SPDX-License-Identifier: BSD-3-Clause
//
// One page without scripts, pictures or anything from elsewhere. All texts from the files are
// escaped.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "health/text.h"
#include "tools/html.h"
#include "tools/report/render.h"

namespace verity::tools {

using blame::Evidence;
using blame::Explanation;
using blame::Part;
using blame::Suspect;

namespace {

constexpr std::size_t kMatrixHosts = 40;

constexpr const char* kHead = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>ucx-verity report</title>
<style>
/* Bright or dark as the reader's desktop is. The colour of a cell lies over either. */
:root { color-scheme: light dark; --text: #1c2733; --dim: #51606e; --page: #fff; --head: #f2f5f7; --line: #d4dbe1; --faint: #a9b2bb; }
@media (prefers-color-scheme: dark) {
  :root { --text: #dfe5ea; --dim: #9fabb6; --page: #14191e; --head: #1f272e; --line: #37424c; --faint: #55616c; }
}
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); margin: 2rem auto; max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; }
h2 { font-size: 1.1rem; margin-top: 2rem; }
.lead { color: var(--dim); margin-top: 0; }
time { white-space: nowrap; }
ol.suspects { padding-left: 1.8rem; }
ol.suspects li { margin-bottom: 1rem; }
.what { font-weight: 600; overflow-wrap: anywhere; margin-right: .5rem; }
.tag { display: inline-block; white-space: nowrap; border-radius: .6rem; padding: 0 .6rem; font-size: .85rem; color: #fff; }
.strong { background: #a3200d; }
.fair { background: #a85f00; }
.weak { background: #5a6875; }
.more { color: var(--dim); }
.scroll { overflow-x: auto; }
table { border-collapse: separate; border-spacing: 0; font-variant-numeric: tabular-nums; border: solid var(--line); border-width: 1px 0 0 1px; }
th, td { border: solid var(--line); border-width: 0 1px 1px 0; padding: .2rem .55rem; text-align: right; }
th { background: var(--head); font-weight: 500; }
th.row { text-align: left; position: sticky; left: 0; }
.matrix th { white-space: nowrap; }
/* Names of many columns stand upright, so that more of them fit. */
.many thead th:not(.row) { writing-mode: vertical-rl; transform: rotate(180deg); padding: .55rem .2rem; text-align: left; border-width: 1px 0 0 1px; }
.many td { padding: .2rem .3rem; text-align: center; }
td.none { color: var(--faint); }
tr.none th, tr.none td { color: var(--faint); }
.time { display: flex; align-items: flex-end; height: 8rem; gap: 1px; border-bottom: 1px solid var(--line); max-width: 60rem; }
.time i { flex: 1; min-width: 2px; background: #a3200d; }
.time i.none { background: none; }
.ends { display: flex; justify-content: space-between; max-width: 60rem; color: var(--dim); margin-top: .2rem; }
</style>
</head>
<body>
)";

std::string element(const char* tag, const std::string& attributes, const std::string& text) {
  return "<" + std::string(tag) + (attributes.empty() ? "" : " " + attributes) + ">" +
         escaped(text) + "</" + tag + ">";
}

std::string suspect_item(const Suspect& s, const Findings& f) {
  const std::uint64_t all = f.evidence.faults;
  const std::string confidence(name_of(s.confidence));
  std::string html = "<li>" + element("span", "class=\"what\"", describe(s.what)) +
                     element("span", "class=\"tag " + confidence + "\"", confidence + " evidence") +
                     "<br>";
  html += escaped(health::grouped(s.tally.faults) + " of " + health::grouped(all) + " faults");
  if (s.others != 0 && (s.what.part == Part::kDevice || s.what.part == Part::kHost))
    html += escaped("; other hosts: " + health::grouped(s.others));
  for (const std::string& port : ports_in_words(s, f)) html += "<br>" + escaped(port);
  if (const std::string patterns = patterns_in_words(s.tally); !patterns.empty()) {
    html += "<br>" +
            escaped(patterns + (s.tally.again != 0 ? "; " + health::grouped(s.tally.again) +
                                                         " hit the same bits as the fault before"
                                                   : ""));
  }
  if (const std::string words = place_hint(s); !words.empty())
    html += "<br>" + element("span", "class=\"more\"", words);
  if (const std::string words = hint(s); !words.empty())
    html += "<br>" + element("span", "class=\"more\"", words);
  std::string either;
  for (const Explanation& e : s.or_else) either += (either.empty() ? "" : "; ") + describe(e);
  if (!either.empty()) html += "<br>" + element("span", "class=\"more\"", "as likely: " + either);
  return html + "</li>\n";
}

// "2026-01-31T12:00:00.000000Z" for people; whatever else a file had there, as it is.
std::string when(const std::string& time) {
  const bool known = time.size() >= 20 && time[10] == 'T' && time.back() == 'Z';
  return element("time", "", known ? time.substr(0, 10) + " " + time.substr(11, 8) + " UTC" : time);
}

// Redder with the logarithm of the count.
std::string cell(std::uint64_t n, std::uint64_t largest) {
  if (n == 0) return "<td class=\"none\">&middot;</td>";
  const double part = std::log1p(static_cast<double>(n)) / std::log1p(static_cast<double>(largest));
  std::array<char, 96> style;
  std::snprintf(style.data(), style.size(), "style=\"background: hsla(12, 85%%, 50%%, .%02d)\"",
                static_cast<int>(12 + 58 * part));
  return element("td", style.data(), health::grouped(n));
}

std::string matrix_table(const Evidence& evidence) {
  const Matrix m = matrix_of(evidence, kMatrixHosts);
  const auto name = [&](std::size_t i) {
    return i < m.hosts.size() ? printable(m.hosts[i], 64) : std::to_string(m.others) + " others";
  };
  constexpr std::size_t kUpright = 10;  // columns
  const char* const classes = m.counts.size() > kUpright ? "matrix many" : "matrix";
  std::string html = "<div class=\"scroll\"><table class=\"" + std::string(classes) +
                     "\">\n<thead><tr><th class=\"row\">from \\ to</th>";
  for (std::size_t i = 0; i < m.counts.size(); ++i) html += element("th", "", name(i));
  html += "</tr></thead>\n";
  for (std::size_t row = 0; row < m.counts.size(); ++row) {
    html += "<tr>" + element("th", "class=\"row\"", name(row));
    for (const std::uint64_t n : m.counts[row]) html += cell(n, m.largest);
    html += "</tr>\n";
  }
  return html + "</table></div>\n";
}

std::string length_text(std::uint64_t minutes) {
  if (minutes >= 1440) return minutes == 1440 ? "a day" : std::to_string(minutes / 1440) + " days";
  if (minutes >= 60) return minutes == 60 ? "an hour" : std::to_string(minutes / 60) + " hours";
  return minutes == 1 ? "a minute" : std::to_string(minutes) + " minutes";
}

// Bars that say their time and number where the pointer rests, and to who cannot see them.
std::string timeline(const Evidence& evidence) {
  constexpr std::size_t kBars = 120;
  const Timeline line = timeline_of(evidence, kBars);
  if (line.bars.empty()) return {};
  std::string html =
      "<h2>Faults over time, bars of " + length_text(line.minutes) +
      "</h2>\n<div class=\"time\" role=\"img\" aria-label=\"" +
      escaped("at most " + health::grouped(line.largest) + " in " + length_text(line.minutes)) +
      "\">";
  for (const Bar& bar : line.bars) {
    const std::uint64_t height =
        bar.faults == 0 ? 0 : std::max<std::uint64_t>(bar.faults * 100 / line.largest, 2);
    html += "<i title=\"" + escaped(bar.from + " UTC: " + health::grouped(bar.faults)) + "\"" +
            (height == 0 ? " class=\"none\"" : "") + " style=\"height: " + std::to_string(height) +
            "%\"></i>";
  }
  return html + "</div>\n<div class=\"ends\">" +
         element("span", "", line.bars.front().from + " UTC") +
         element("span", "", "most: " + health::grouped(line.largest)) +
         element("span", "", line.bars.back().from + " UTC") + "</div>\n";
}

std::string switch_table(const Findings& f) {
  if (f.topology.empty()) return {};
  const std::vector<SwitchFaults> switches = by_switch(f.evidence, f.topology);
  if (switches.empty()) return {};
  std::string html =
      "<h2>Faults by switch</h2>\n<div class=\"scroll\"><table>\n<thead><tr><th "
      "class=\"row\">switch</th>";
  for (const char* const title : {"within", "from it", "to it", "hosts with faults", "hosts"})
    html += element("th", "", title);
  html += "</tr></thead>\n";
  for (const SwitchFaults& s : switches) {
    html += "<tr>" + element("th", "class=\"row\"",
                             s.name.empty() ? "(not in the topology)" : printable(s.name, 64));
    for (const std::uint64_t n :
         {s.within, s.from, s.to, std::uint64_t{s.troubled}, std::uint64_t{s.hosts}})
      html += element("td", "", health::grouped(n));
    html += "</tr>\n";
  }
  const std::string words = switch_hint(switches, f.evidence, f.suspects);
  return html + "</table></div>\n" + (words.empty() ? "" : element("p", "", words) + "\n");
}

std::string row(const char* label, const std::string& value) {
  return "<tr" + std::string(value == "0" ? " class=\"none\"" : "") + ">" +
         element("th", "class=\"row\"", label) + element("td", "", value) + "</tr>\n";
}

std::string numbers(const Findings& f) {
  const Evidence& e = f.evidence;
  std::uint64_t processes = 0;
  std::uint64_t bytes = 0;
  for (const auto& [name, host] : e.hosts) {
    processes += host.processes;
    bytes += host.bytes;
  }
  const auto count = [](std::uint64_t n) { return health::grouped(n); };
  std::string html = "<table>\n" + row("hosts", count(e.hosts.size())) +
                     row("processes with an attestation", count(processes));
  html += row("bytes verified in them", health::human_bytes(bytes));
  html += row("program changed a buffer in use (no machine's fault)", count(e.source_changed));
  html +=
      row("datatypes unlike at sender and receiver (no machine's fault)", count(e.type_mismatches));
  html += row("reads damaged, or changed by their owner (nobody is blamed)", count(e.ambiguous));
  html += row("faults that a test transport made on purpose, left out", count(e.injected));
  html += row("faults that were not recorded", count(e.dropped));
  html += row("faults left out here", count(e.beyond));
  html += row("lines that are no JSON", count(f.lines.broken));
  html += row("lines of something else", count(f.lines.foreign));
  return html + row("lines of another version", count(f.lines.newer)) + "</table>\n";
}

std::string delivered_sentence(const Evidence& e) {
  std::uint64_t delivered = 0;
  for (const auto& host : e.hosts) delivered += host.second.delivered;
  if (delivered == 0) return {};
  return element("p", "class=\"lead\"",
                 health::grouped(delivered) + (delivered == 1 ? " fault was" : " faults were") +
                     " DELIVERED in mode observe: results of these jobs may be wrong") +
         "\n";
}

}  // namespace

std::string render_html(const Findings& f) {
  const Evidence& e = f.evidence;
  std::string html = kHead + element("h1", "", health::grouped(e.faults) + " faults of machines");
  html += "\n<p class=\"lead\">ucx-verity report" +
          (e.first.empty() ? std::string() : ", " + when(e.first) + " to " + when(e.last)) +
          "</p>\n" + delivered_sentence(e);
  if (e.faults != 0) {
    html += "<h2>Suspects</h2>\n<ol class=\"suspects\">\n";
    for (const Suspect& s : f.suspects) html += suspect_item(s, f);
    html += "</ol>\n" + timeline(e) + switch_table(f) +
            "<h2>Faults, from the host of the row to that of the column</h2>\n" + matrix_table(e);
  }
  return html + "<h2>What was read</h2>\n" + numbers(f) + "</body>\n</html>\n";
}

}  // namespace verity::tools
