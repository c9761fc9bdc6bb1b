// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/job/job.h"

#include <gtest/gtest.h>

#include <map>

#include "healthy_facts.h"

namespace verity::tools {
namespace {

const Finding kFine = {Grade::kOk, "UCX", "1.13.1", ""};
const Finding kBad = {Grade::kBroken, "shell", "no plugin", "export IT", Effect::kAbort};

HostReport report_of(const std::string& host, const Findings& findings = {kFine}) {
  HostReport report;
  report.host = host;
  report.findings = findings;
  report.settings = {{"LD_PRELOAD", "/opt/v/libverity_preload.so"}, {"UCX_TLS", "vtcp"}};
  report.versions = {{"ucx-verity", "0.1.0"}, {"UCX", "1.13.1"}, {"plugin file", "aa"}};
  report.active = true;
  return report;
}

std::string text_of(const std::vector<HostReport>& reports) {
  std::string text;
  for (const HostReport& report : reports) {
    for (const std::string& line : to_lines(report, 7)) text += line + "\n";
  }
  return text;
}

TEST(ToolsDoctorJob, LinesCarryReports) {
  HostReport sent = report_of("node 1", {kFine, kBad});
  sent.findings[0].text = std::string(500, 'x') + "\n; \"\xc3\xa9";
  const std::string text = text_of({sent});
  unsigned cut = 9;
  const auto got = reports_in(text + text, &cut);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(cut, 0U);
  EXPECT_EQ(got[0].host, "node 1");
  ASSERT_EQ(got[0].findings.size(), 2U);
  EXPECT_EQ(got[0].findings[0].text, sent.findings[0].text);
  EXPECT_EQ(got[0].findings[1].grade, Grade::kBroken);
  EXPECT_EQ(got[0].findings[1].effect, Effect::kAbort);
  EXPECT_EQ(got[0].findings[1].advice, "export IT");
  EXPECT_EQ(*find_value(got[0].settings, "UCX_TLS"), "vtcp");
  EXPECT_EQ(*find_value(got[0].versions, "UCX"), "1.13.1");
  EXPECT_TRUE(got[0].active);
}

TEST(ToolsDoctorJob, LinesAmongALaunchersOwn) {
  std::string text = "Warning: Permanently added 'node1'\n";
  for (const std::string& line : to_lines(report_of("node1"), 1))
    text += "[1,0]<stdout>: " + line + "\r\n";
  unsigned cut = 0;
  EXPECT_EQ(reports_in(text, &cut).size(), 1U);
  EXPECT_EQ(cut, 0U);
}

TEST(ToolsDoctorJob, CutAndDamagedLines) {
  const auto lines = to_lines(report_of("node1"), 1);
  ASSERT_GT(lines.size(), 1U);
  std::string first;
  for (const std::string& line : lines) first += line + "\n";
  std::string damaged = first;
  damaged[damaged.find(':') + 5] ^= 1;
  unsigned cut = 0;
  EXPECT_TRUE(reports_in(damaged, &cut).empty());
  EXPECT_EQ(cut, 1U);
  EXPECT_EQ(reports_in(damaged + first, &cut).size(), 1U);  // the second copy
  EXPECT_EQ(cut, 0U);
  EXPECT_TRUE(
      reports_in("ucx-verity-doctor x 0 99999999 0:;\nucx-verity-doctor\n:;\n", &cut).empty());
  EXPECT_EQ(cut, 0U);
}

TEST(ToolsDoctorJob, EqualFindingsAreOne) {
  const auto job = merge_reports({report_of("a"), report_of("b", {kFine, kBad}),
                                  report_of("b", {kFine, kBad}), report_of("c")},
                                 {}, nullptr);
  EXPECT_EQ(job.hosts, (std::vector<std::string>{"a", "b", "c"}));
  ASSERT_EQ(job.findings.size(), 2U);
  EXPECT_EQ(job.findings[0].hosts.size(), 3U);
  EXPECT_EQ(job.findings[1].hosts, std::vector<std::string>{"b"});
  EXPECT_EQ(render_job(job, {.kind = "", .name = "srun", .command = {}, .hosts = 3, .error = ""}),
            "3 hosts, by srun: a, b, c\n"
            "  ok      UCX         1.13.1\n"
            "  BROKEN  shell       on 1 of 3 hosts (b): no plugin -> export IT\n"
            "BROKEN: jobs started from this shell abort\n");
}

TEST(ToolsDoctorJob, ManyHostsAreCounted) {
  std::vector<HostReport> reports;
  for (int i = 10; i < 30; ++i) reports.push_back(report_of("n" + std::to_string(i), {kBad}));
  reports.push_back(report_of("z"));
  const std::string text = render_job(merge_reports(reports, {}, nullptr), {});
  EXPECT_NE(text.find("on 20 of 21 hosts (n10, n11, n12, n13, n14, n15, n16, n17 and 12 more): "),
            std::string::npos)
      << text;
}

TEST(ToolsDoctorJob, MixedHosts) {
  const auto says = [](const char* name, const char* value, Grade grade, const std::string& words) {
    HostReport other = report_of("b");
    for (Variable& version : other.versions) {
      if (version.name == name) version.value = value;
    }
    const auto findings = with_hosts(merge_reports({report_of("a"), other}, {}, nullptr));
    EXPECT_EQ(worst(findings), grade) << name;
    EXPECT_EQ(findings[0].text, words);
  };
  says("ucx-verity", "0.2.0", Grade::kBroken, "ucx-verity differs: 0.1.0 on a; 0.2.0 on b");
  says("UCX", "1.18.1", Grade::kBroken, "UCX differs: 1.13.1 on a; 1.18.1 on b");
  says("plugin file", "bb", Grade::kWarning, "plugin file differs: aa on a; bb on b");
}

TEST(ToolsDoctorJob, LauncherThatDropsVariables) {
  const HostReport here = report_of("front");
  HostReport stripped = report_of("b", {{Grade::kInactive, "shell", "not active", ""}});
  stripped.settings.clear();
  stripped.active = false;
  HostReport longer = report_of("c");
  longer.settings[0].value = "libpmi.so:/opt/v/libverity_preload.so";
  const Launch open_mpi = {
      .kind = "Open MPI", .name = "mpirun", .command = {"mpirun"}, .hosts = 0, .error = ""};
  const auto findings =
      with_hosts(merge_reports({report_of("a"), stripped, longer}, open_mpi, &here));
  EXPECT_EQ(findings[0].text,
            "on 1 of 3 hosts (b): LD_PRELOAD, UCX_TLS of this shell do not reach the processes "
            "there unchanged");
  EXPECT_TRUE(findings[0].advice.starts_with("mpirun -x LD_PRELOAD -x UCX_TLS, or correct"));
  EXPECT_EQ(worst(findings), Grade::kBroken);  // and no choice of that host's
  EXPECT_EQ(worst(with_hosts(merge_reports({stripped}, {}, nullptr))), Grade::kInactive);
}

TEST(ToolsDoctorJob, HostsWithoutAnAnswer) {
  const Launch launch = {
      .kind = "Slurm", .name = "srun", .command = {"srun", "-N3"}, .hosts = 3, .error = ""};
  const auto findings = with_hosts(merge_reports({report_of("a")}, launch, nullptr));
  EXPECT_EQ(findings[0].text, "1 of 3 hosts answered");
  EXPECT_EQ(worst(findings), Grade::kBroken);
}

TEST(ToolsDoctorJob, AnswersThatWereCut) {
  JobDiagnosis job = merge_reports({report_of("a")}, {}, nullptr);
  add_cut_answers(0, &job);
  EXPECT_EQ(worst(with_hosts(job)), Grade::kOk);
  add_cut_answers(2, &job);
  EXPECT_EQ(with_hosts(job).back().text, "2 further answers arrived incomplete");
  EXPECT_EQ(worst(with_hosts(job)), Grade::kBroken);
}

TEST(ToolsDoctorJob, Launchers) {
  std::map<std::string, std::string> set;
  std::map<std::string, std::string> programs = {{"mpirun", "mpirun (Open MPI) 4.1.4"}};
  const auto choose = [&] {
    return choose_launch(
        [&](const char* name) { return set[name]; },
        [&](const std::string& name) { return programs.count(name) != 0 ? name : ""; },
        [&](const std::string& name) { return programs[name]; });
  };
  using Words = std::vector<std::string>;
  EXPECT_EQ(choose().command, (Words{"mpirun", "--map-by", "ppr:1:node"}));
  programs["srun"] = "slurm 24";
  EXPECT_EQ(choose().kind, "Open MPI");  // outside of Slurm
  set["SLURM_JOB_ID"] = "17";
  set["SLURM_JOB_NUM_NODES"] = "16";
  EXPECT_EQ(choose().command, (Words{"srun", "--nodes=16", "--ntasks=16", "--ntasks-per-node=1"}));
  EXPECT_EQ(choose().hosts, 16U);
  programs.erase("srun");
  programs["mpirun"] = "HYDRA build details:\n    Version: 4.0.2";
  EXPECT_EQ(choose().command, (Words{"mpirun", "-ppn", "1", "-n", "16"}));
  EXPECT_EQ(choose().kind, "MPICH");
  programs["mpirun"] = "prterun (PRRTE) 3.0.0";
  EXPECT_EQ(choose().kind, "Open MPI");
  programs.clear();
  EXPECT_NE(choose().error.find("--launcher"), std::string::npos);
  const Launch named = named_launch("/opt/bin/srun -N 2 \"./my wrapper\"",
                                    [](const std::string&) { return std::string(); });
  EXPECT_EQ(named.kind, "Slurm");
  EXPECT_EQ(named.command[2], "exec /opt/bin/srun -N 2 \"./my wrapper\" \"$@\"");
}

TEST(ToolsDoctorJob, ReportOfFacts) {
  Facts facts = healthy();
  facts.host.name = "n1";
  set(&facts, "UCX_VERITY_MODE", "observe");
  set(&facts, "UCX_VERITY_HOST", "n1");
  set(&facts, "UCX_LOG_LEVEL", "warn");  // not of 'env'
  const HostReport report = make_report(facts, {});
  EXPECT_EQ(report.host, "n1");
  EXPECT_TRUE(report.active);
  EXPECT_NE(find_value(report.settings, "LD_PRELOAD"), nullptr);
  EXPECT_NE(find_value(report.settings, "UCX_VERITY_MODE"), nullptr);
  EXPECT_EQ(find_value(report.settings, "UCX_VERITY_HOST"), nullptr);
  EXPECT_EQ(find_value(report.settings, "UCX_LOG_LEVEL"), nullptr);
  EXPECT_EQ(*find_value(report.versions, "Open MPI"), "4.1.4");
}

}  // namespace
}  // namespace verity::tools
