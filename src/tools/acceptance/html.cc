// SPDX-License-Identifier: BSD-3-Clause
#include "tools/html.h"
#include "tools/acceptance/results.h"
#include "tools/bench/report.h"

namespace verity::tools {

namespace {

constexpr const char* kStyle =
    R"(:root { --good: #17713a; --fair: #96590a; --bad: #a3200d; --none: #5a6875; }
header { border-left: .5rem solid var(--good); padding: .2rem 0 .2rem 1.1rem; margin-bottom: 1.5rem; }
header.failed { border-color: var(--bad); } header.warning { border-color: var(--fair); }
header p.verdict { font-size: 1.15rem; color: var(--text); font-weight: 600; margin: .3rem 0; }
.tag { display: inline-block; min-width: 4.2rem; text-align: center; border-radius: .6rem; padding: 0 .5rem; font-size: .82rem; color: #fff; }
.tag.passed { background: var(--good); } .tag.warning { background: var(--fair); }
.tag.failed { background: var(--bad); } .tag.skipped { background: var(--none); }
table.wide { width: 100%; }
table.wide th, table.wide td { text-align: left; white-space: normal; vertical-align: top; overflow-wrap: anywhere; }
table.wide td.tags { width: 5.2rem; text-align: center; }
table.wide td.name { width: 15rem; font-weight: 500; }
table.wide th.row { width: 15rem; }
td.differs { border-left: 3px solid var(--fair); }
.remedy { display: block; color: var(--dim); margin-top: .15rem; }
.more { margin-top: 2rem; border-top: 1px solid var(--line); padding-top: .8rem; font-size: .9rem; }
@media print { body { margin: 0; max-width: none; } .tag { print-color-adjust: exact; } section { break-inside: avoid; } }
)";

std::string cell(const std::string& text, const char* name = nullptr) {
  return "<td" + (name == nullptr ? "" : " class=\"" + std::string(name) + "\"") + ">" +
         escaped(text) + "</td>";
}

std::string head_row(const std::vector<std::string>& titles) {
  std::string html = "<tr>";
  for (const std::string& title : titles) html += "<th>" + escaped(title) + "</th>";
  return html + "</tr>\n";
}

std::string or_else(const std::string& text, const char* other) {
  return text.empty() ? other : text;
}

std::string facts_table(const Acceptance& a) {
  std::string html = "<section><h2>The hosts</h2>\n<table class=\"wide\">\n" +
                     head_row({"", a.hosts[0], a.hosts[1]});
  for (const HostFact& fact : a.facts) {
    const char* const name = fact.values[0] == fact.values[1] ? nullptr : "differs";
    html += "<tr><th class=\"row\">" + escaped(fact.key) + "</th>";
    for (const std::string& value : fact.values) html += cell(or_else(value, "-"), name);
    html += "</tr>\n";
  }
  return html + "</table></section>\n";
}

std::string transports_table(const Acceptance& a) {
  if (a.transports.empty()) return {};
  std::string html = "<section><h2>Transports of UCX</h2>\n<table class=\"wide\">\n" +
                     head_row({"transport", "verified as", "devices of " + a.hosts[0],
                               "devices of " + a.hosts[1]});
  for (const HostTransport& t : a.transports) {
    html += "<tr><th class=\"row\">" + escaped(t.name) + "</th>" + cell(t.wrapped);
    for (const std::string& devices : t.devices) {
      std::string list;
      for (const char c : devices) list += c == ',' ? std::string(", ") : std::string(1, c);
      html += cell(or_else(list, "none"));
    }
    html += "</tr>\n";
  }
  return html + "</table></section>\n";
}

std::string step_row(const AcceptanceStep& step) {
  const std::string outcome = name_of(step.outcome);
  return "<tr><td class=\"tags\"><span class=\"tag " + outcome + "\">" + outcome + "</span></td>" +
         cell(step.name, "name") + "<td>" + escaped(step.text) +
         (step.remedy.empty()
              ? ""
              : "<span class=\"remedy\">&#8594; " + escaped(step.remedy) + "</span>") +
         "</td></tr>\n";
}

const char* title_of(const std::string& section) {
  struct Title {
    const char* section;
    const char* title;
  };
  static constexpr Title kTitles[] = {
      {"Hosts", "Reaching the hosts"},
      {"Set-up", "Set-up, by ucx-verity doctor on both hosts"},
      {"Transports", "Transports between the hosts, nothing injected"},
      {"Damage", "Bits flipped on the way"},
      {"Health", "What the health tools say of the injected faults"},
      {"Death", "A process that is killed"},
      {"MPI", "MPI"},
      {"Cost", "Cost"},
  };
  for (const Title& title : kTitles) {
    if (section == title.section) return title.title;
  }
  return nullptr;
}

std::string steps_tables(const Acceptance& a) {
  std::string html;
  std::string section;
  for (const AcceptanceStep& step : a.steps) {
    if (step.section != section) {
      html += section.empty() ? "" : "</table></section>\n";
      section = step.section;
      const char* const title = title_of(section);
      html += "<section><h2>" + escaped(title == nullptr ? section.c_str() : title) +
              "</h2>\n<table class=\"wide\">\n";
    }
    html += step_row(step);
  }
  return html + (section.empty() ? "" : "</table></section>\n");
}

}  // namespace

std::string render_html(const Acceptance& a) {
  const std::string pair = a.hosts[0] + " and " + a.hosts[1];
  std::string html =
      page_head("ucx-verity acceptance: " + pair, std::string(bench::kChartStyle) + kStyle) +
      "<header class=\"" + name_of(a.outcome()) + "\">\n<h1>Acceptance of " + escaped(pair) +
      "</h1>\n<p class=\"verdict\">" + escaped(a.verdict()) + "</p>\n<p>ucx-verity " +
      escaped(a.version) + ", " + escaped(a.date) + "</p>\n<p><code>" + escaped(a.command) +
      "</code></p>\n</header>\n";
  html += facts_table(a) + transports_table(a) + steps_tables(a);
  if (!a.costs.empty()) {
    html += "<p>" + bench::key_in_words(false) + "</p>\n" + bench::render_sections(a.costs);
  }
  return html + "<p class=\"more\">" + escaped(contents_in_words(a)) + "</p>\n</body>\n</html>\n";
}

}  // namespace verity::tools
