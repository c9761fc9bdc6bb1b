// SPDX-License-Identifier: BSD-3-Clause
// What is shown: within 80 columns, with every name as harmless text, and with nothing from
// elsewhere in the page.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/report/render.h"

namespace verity::tools {
namespace {

using blame::EvidenceBuilder;

std::size_t longest_line(const std::string& text) {
  std::istringstream stream(text);
  std::size_t longest = 0;
  for (std::string line; std::getline(stream, line);) longest = std::max(longest, line.size());
  return longest;
}

Findings findings_of(const EvidenceBuilder& builder) {
  Findings f;
  f.evidence = builder.build();
  f.files = 3;
  f.suspects = rank(f.evidence);
  return f;
}

Findings large_fleet() {
  EvidenceBuilder builder;
  for (unsigned i = 0; i < 300; ++i)
    builder.add_process("compute-node-" + std::to_string(i) + ".example.org", 1u << 30, i == 7);
  for (unsigned i = 0; i < 30'000; ++i) {
    builder.add({.host = "compute-node-" + std::to_string(i % 300) + ".example.org",
                 .peer_host = "compute-node-7.example.org",
                 .transport = "vrc_mlx5",
                 .device = "mlx5_0:1",
                 .interface = "",
                 .peer = "",
                 .time = "2026-01-31T12:00:00.000000Z",
                 .kind = health::FaultKind::kPayload,
                 .has_syndrome = true,
                 .pattern = health::Pattern::kSingleBit,
                 .again = true});
  }
  return findings_of(builder);
}

TEST(ReportText, FitsATerminal) {
  const std::string text = render_text(large_fleet());
  EXPECT_LE(longest_line(text), 80u) << text;
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 100);
  EXPECT_NE(text.find("1. "), std::string::npos);
  EXPECT_NE(text.find("host compute-node-7.example.org"), std::string::npos) << text;
  EXPECT_NE(text.find("the same bit again and again"), std::string::npos);
  EXPECT_NE(text.find("292 others"), std::string::npos) << text;
}

TEST(ReportText, NothingWrong) {
  EvidenceBuilder builder;
  builder.add_process("n1", 5000, false);
  const std::string text = render_text(findings_of(builder));
  EXPECT_EQ(text,
            "ucx-verity report: 0 faults of machines, 1 host, 3 files\n"
            "  verified: 4.88 KiB in 1 process, 1 of them with no part in any fault\n");
}

TEST(ReportText, DeliveredDamageIsSaid) {
  EvidenceBuilder builder;
  builder.add_process("n1", 5000, true, 13);
  builder.add_process("n2", 5000, false);
  EXPECT_NE(render_text(findings_of(builder))
                .find("  13 faults were DELIVERED as they came, in mode observe"),
            std::string::npos);
  EXPECT_NE(render_html(findings_of(builder)).find("13 faults were DELIVERED in mode observe"),
            std::string::npos);
}

TEST(ReportText, UserErrorsAreSaidToBeThat) {
  EvidenceBuilder builder;
  builder.add_type_mismatch();
  builder.add({.host = "n1", .peer_host = "n2", .kind = health::FaultKind::kSourceChanged});
  const std::string text = render_text(findings_of(builder));
  EXPECT_NE(text.find("not counted as faults of machines"), std::string::npos);
  EXPECT_EQ(text.find("suspects"), std::string::npos);
}

const std::string kHostile = "<script>alert(1)</script>\"'&\x1b[31m\n";

Findings hostile() {
  EvidenceBuilder builder;
  for (unsigned i = 0; i < 5; ++i)
    builder.add({.host = kHostile,
                 .peer_host = kHostile + "2",
                 .transport = kHostile,
                 .device = kHostile,
                 .time = kHostile});
  return findings_of(builder);
}

TEST(ReportText, NamesCannotSpeakToTheTerminal) {
  const std::string text = render_text(hostile());
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(ReportHtml, NamesAreText) {
  const std::string html = render_html(hostile());
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find('\x1b'), std::string::npos);
  EXPECT_NE(html.find("&lt;script&gt;"), std::string::npos);
}

TEST(ReportHtml, NeedsNothingElse) {
  const std::string html = render_html(large_fleet());
  for (const char* from :
       {"http:", "https:", "//", "src=", "href=", "url(", "@import", "<script", "<img", "<link"}) {
    EXPECT_EQ(html.find(from), std::string::npos) << from;
  }
  EXPECT_EQ(html.substr(0, 15), "<!DOCTYPE html>");
  for (const char* tag : {"table", "tr", "ol", "li", "div", "span", "html", "body", "td", "th"}) {
    const auto occurrences = [&](const std::string& what) {
      std::size_t n = 0;
      for (std::size_t at = 0; (at = html.find(what, at)) != std::string::npos; ++at) ++n;
      return n;
    };
    const std::string name = tag;
    EXPECT_EQ(occurrences("<" + name + ">") + occurrences("<" + name + " "),
              occurrences("</" + name + ">"))
        << tag;
  }
}

TEST(ReportJson, HasSuspectsAndWays) {
  const auto json = nlohmann::json::parse(render_json(large_fleet()), nullptr, false);
  ASSERT_TRUE(json.is_object());
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["faults"], 30'000);
  EXPECT_EQ(json["suspects"][0]["host"], "compute-node-7.example.org");
  EXPECT_EQ(json["suspects"][0]["patterns"]["single_bit"].is_number(), true);
  EXPECT_EQ(json["hosts"].size(), 300u);
  EXPECT_FALSE(nlohmann::json::parse(render_json(hostile()), nullptr, false).is_discarded());
}

TEST(ReportMatrix, WorstHostsFirstTheRestTogether) {
  EvidenceBuilder builder;
  for (unsigned i = 0; i < 20; ++i) {
    for (unsigned n = 0; n <= i; ++n)
      builder.add({.host = "r" + std::to_string(i), .peer_host = "s", .transport = "vtcp"});
  }
  const Matrix m = matrix_of(builder.build(), 4);
  EXPECT_EQ(m.hosts, (std::vector<std::string>{"s", "r19", "r18", "r17"}));
  EXPECT_EQ(m.others, 17u);
  EXPECT_EQ(m.counts[0][1], 20u);
  EXPECT_EQ(m.counts[0][4], 17u * 18 / 2);
  EXPECT_EQ(m.counts[1][0], 0u);
}

}  // namespace
}  // namespace verity::tools
