// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/acceptance/results.h"
#include "tools/bench/report.h"
#include "tools/hex.h"
#include "tools/temporary_folder.h"

using namespace verity::tools;

namespace {

const char* const kHosts =
    "host\t0\tn17.site.example\n"
    "host\t1\tn18\n"
    "fact\t0\tname\tn17\n"
    "fact\t1\tname\tn18\n"
    "fact\t0\tkernel\tLinux 6.1\n"
    "fact\t1\tkernel\tLinux 6.2\n"
    "transport\t0\ttcp\teth0\ttrue\n"
    "transport\t0\ttcp\teth1\ttrue\n"
    "transport\t0\tvtcp\teth0\ttrue\n"
    "transport\t1\ttcp\teth0\ttrue\n"
    "transport\t1\tvtcp\teth0\ttrue\n"
    "transport\t1\tgdr_copy\tcuda\tfalse\n";

Acceptance with_steps(const std::string& steps) { return parse_acceptance(kHosts + steps); }

}  // namespace

TEST(Acceptance, ReadsFactsOfBothHosts) {
  const Acceptance a = with_steps("");
  ASSERT_EQ(a.facts.size(), 2U);
  EXPECT_EQ(a.facts[1].key, "kernel");
  EXPECT_EQ(a.facts[1].values[0], "Linux 6.1");
  EXPECT_EQ(a.facts[1].values[1], "Linux 6.2");
}

TEST(Acceptance, JoinsTransportsAndTheirWrappers) {
  const Acceptance a = with_steps("");
  ASSERT_EQ(a.transports.size(), 2U);
  EXPECT_EQ(a.transports[0].name, "tcp");
  EXPECT_EQ(a.transports[0].wrapped, "vtcp");
  EXPECT_EQ(a.transports[0].devices[0], "eth0,eth1");
  EXPECT_EQ(a.transports[0].devices[1], "eth0");
  EXPECT_EQ(a.transports[1].devices[0], "");
  EXPECT_TRUE(a.transports[1].wrapped.starts_with("not wrapped")) << a.transports[1].wrapped;
}

TEST(Acceptance, IsAsGoodAsItsWorstStep) {
  const std::string passed = "step\tDamage\tpassed\ttcp\tall right\n";
  EXPECT_EQ(with_steps(passed).outcome(), Outcome::kPassed);
  EXPECT_EQ(with_steps(passed).verdict(), "PASSED: 1 step passed");
  const Acceptance some = with_steps(passed + "step\tMPI\tskipped\tjob\tno mpirun\tload it\n" +
                                     "step\tHosts\twarning\tversions\tdiffer\n" + passed);
  EXPECT_EQ(some.outcome(), Outcome::kWarning);
  EXPECT_EQ(some.verdict(), "PASSED: 2 steps passed, 1 warning, 1 skipped");
  const Acceptance failed = with_steps(passed + "step\tDamage\tfailed\trc\twrong\tmend\n");
  EXPECT_EQ(failed.outcome(), Outcome::kFailed);
  EXPECT_EQ(failed.verdict(), "FAILED: 1 step failed, 1 step passed");
}

TEST(Acceptance, ThatHasNoStepFailed) { EXPECT_EQ(with_steps("").outcome(), Outcome::kFailed); }

TEST(Acceptance, KeepsEmptyWords) {
  const Acceptance a = with_steps("fact\t0\tSlurm\t\nstep\tMPI\tskipped\tjob\t\t\n");
  EXPECT_EQ(a.facts.back().values[0], "");
  EXPECT_EQ(a.steps.back().text + a.steps.back().remedy, "");
}

TEST(Acceptance, RefusesWhatIsNoRecord) {
  EXPECT_THROW((void)with_steps("noise\t0\ttext\n"), std::runtime_error);
  EXPECT_THROW((void)with_steps("step\tDamage\tperfect\ttcp\tx\n"), std::runtime_error);
  EXPECT_THROW((void)with_steps("step\tDamage\tpassed\n"), std::runtime_error);
  EXPECT_THROW((void)with_steps("fact\t2\tkey\tvalue\n"), std::runtime_error);
  EXPECT_THROW((void)with_steps("file\tdoctor\t/nowhere/at/all\n"), std::runtime_error);
}

TEST(Acceptance, TakesDoctorsFindingsAsSteps) {
  const TemporaryFolder folder("unit");
  std::ofstream(folder / "doctor") << R"({"hosts": ["n17", "n18"], "findings": [
    {"grade": "ok", "topic": "UCX", "text": "1.13.1", "advice": "", "hosts": ["n17", "n18"]},
    {"grade": "broken", "topic": "plugin", "text": "missing", "advice": "install", "hosts": ["n18"]}]})";
  const Acceptance a = with_steps("file\tdoctor\t" + folder / "doctor" + "\n");
  ASSERT_EQ(a.steps.size(), 2U);
  EXPECT_EQ(a.steps[0].name, "UCX");
  EXPECT_EQ(a.steps[0].outcome, Outcome::kPassed);
  EXPECT_EQ(a.steps[1].name, "plugin, n18");
  EXPECT_EQ(a.steps[1].outcome, Outcome::kFailed);
  EXPECT_EQ(a.steps[1].remedy, "install");
}

TEST(Acceptance, AnonymousHasNoNames) {
  Acceptance a = with_steps(
      "step\tHosts\tfailed\tn18\t'ssh n18.site.example' from n17.site.example and n170: no\ttry: "
      "ssh n18, /home/jane/x\n");
  a.command = "ucx-verity acceptance n17.site.example n18";
  anonymise(&a, {"/home/jane", "jane"});
  EXPECT_EQ(a.hosts[0], "node1");
  EXPECT_EQ(a.steps[0].name, "node2");
  EXPECT_EQ(a.steps[0].text, "'ssh node2' from node1 and n170: no");
  EXPECT_EQ(a.steps[0].remedy, "try: ssh node2, .../x");
  EXPECT_EQ(a.command, "ucx-verity acceptance node1 node2");
  EXPECT_NE(contents_in_words(a).find("no names of hosts"), std::string::npos);
}

TEST(Acceptance, PageHoldsNoMarkupOfOthers) {
  const Acceptance a = with_steps("step\tMPI\tfailed\tjob\t<script>alert(1)</script>\t<b>\n");
  const std::string page = render_html(a);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_NE(page.find("&lt;script&gt;"), std::string::npos);
  EXPECT_NE(page.find("<header class=\"failed\">"), std::string::npos);
}

TEST(Acceptance, JsonHasAllSteps) {
  const auto json = nlohmann::json::parse(
      render_json(with_steps("step\tDamage\tfailed\ttcp\twrong \xff\tmend\n")));
  EXPECT_EQ(json["outcome"], "failed");
  EXPECT_EQ(json["steps"][0]["remedy"], "mend");
  EXPECT_EQ(json["hosts"][1], "n18");
}

TEST(Acceptance, ShowsCostsThatBenchPrinted) {
  bench::Result result;
  result.traffic = {bench::Level::kUcp, "tcp", bench::Test::kRate, 1U << 20};
  result.comparison.raw = 1000;
  result.comparison.wrapped = 900;
  result.comparison.ratio = {0.9, 0.85, 0.95};
  const auto parsed = bench::parse_results(bench::render_json({result}, {}));
  ASSERT_EQ(parsed.size(), 1U);
  EXPECT_EQ(parsed[0].test(), "bandwidth");
  EXPECT_EQ(bench::cells(parsed[0], false), bench::cells(result, false));
  EXPECT_EQ(parsed[0].comparison.ratio.low, 0.85);
  Acceptance a = with_steps("");
  a.costs = parsed;
  EXPECT_NE(render_text(a).find("tcp, bandwidth 1 MiB"), std::string::npos);
  EXPECT_NE(render_html(a).find("<polyline class=\"new\""), std::string::npos);
  EXPECT_THROW((void)bench::parse_results("{}"), std::runtime_error);
  EXPECT_THROW((void)bench::parse_results("no JSON"), std::runtime_error);
}

TEST(Hex, ReturnsTheBytes) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) bytes += static_cast<char>(i);
  EXPECT_EQ(from_hex(to_hex(bytes)), bytes);
  EXPECT_EQ(to_hex("\x0f\xa0"), "0fa0");
  EXPECT_EQ(from_hex(""), "");
  EXPECT_THROW((void)from_hex("0"), std::runtime_error);
  EXPECT_THROW((void)from_hex("0g"), std::runtime_error);
}
