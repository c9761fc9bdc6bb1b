// SPDX-License-Identifier: BSD-3-Clause
// What a job's ranks on one host say together, and their records.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "health/report/job_log.h"
#include "health/report/summary.h"
#include "unit/health/file.h"

namespace verity::health {
namespace {

Report rank(const std::string& number, std::uint64_t bytes = 1 << 20) {
  Report report;
  report.mode = "verify";
  report.who = {
      .host = "node3", .program = "ocean", .pid = 100, .rank = number, .job = "", .step = ""};
  report.counters.links_opened = 1;
  report.counters.frames_verified = 10;
  report.counters.bytes_verified = bytes;
  report.counters.frames_sent = 10;
  report.counters.bytes_sent = bytes;
  return report;
}

std::string first_line(const JobSummary& summary) {
  const std::string text = render_text(summary);
  return text.substr(0, text.find('\n'));
}

TEST(HealthSummary, HealthyJob) {
  const JobSummary summary = sum_up({rank("0"), rank("1")}, 2, 2, 2);
  EXPECT_EQ(render_text(summary),
            "ucx-verity: 2 ranks on node3: 2.00 MiB verified, no damage found\n"
            "  verified      20 frames, 2.00 MiB received; sent 20 frames, 2.00 MiB\n"
            "  faults        none\n"
            "  not verified: none known\n");
  EXPECT_FALSE(should_print(summary, AttestPolicy::kAuto));
  EXPECT_TRUE(should_print(summary, AttestPolicy::kAlways));
}

TEST(HealthSummary, RepairedJobSaysThatItsDataAreRight) {
  std::vector<Report> reports{rank("0"), rank("1")};
  reports[0].counters.faults_payload = 38;
  reports[0].counters.faults_repaired = 38;
  reports[0].links = {{"node3", "node3", "vposix/memory", 30}, {"node5", "node3", "vtcp/eth0", 8}};
  reports[1].counters.faults_header = 2;
  reports[1].counters.faults_repaired = 2;
  reports[1].links = {{"node5", "node3", "vtcp/eth0", 32}};
  for (Report& report : reports) report.who.job = "77", report.who.step = "0";
  const JobSummary summary = sum_up(reports, 2, 2, 64);
  EXPECT_EQ(first_line(summary),
            "ucx-verity: job 77.0, 2 of 64 ranks on node3: 2.00 MiB verified, 40 faults found and "
            "repaired: all data arrived right");
  EXPECT_NE(render_text(summary).find("  faults        payload 38, header 2, repaired 40\n"),
            std::string::npos);
  EXPECT_NE(render_text(summary).find("  by link       node5 -> node3 (vtcp/eth0) 40\n"
                                      "                within node3 (vposix/memory) 30\n"),
            std::string::npos);
  EXPECT_TRUE(should_print(summary, AttestPolicy::kAuto));
  EXPECT_FALSE(should_print(summary, AttestPolicy::kNever));
}

TEST(HealthSummary, RanksThatDidNotReportAreCounted) {
  std::vector<Report> reports{rank("0")};
  reports[0].counters.faults_payload = 1;
  reports[0].counters.faults_repaired = 1;
  EXPECT_EQ(first_line(sum_up(reports, 2, 3, 3)),
            "ucx-verity: 3 ranks on node3: 1.00 MiB verified, 1 fault found, 1 repaired; 1 of 3 "
            "ranks did not report; 1 of 3 ranks is not in this report");
  EXPECT_EQ(first_line(sum_up({rank("0")}, 2, 0, 0)),
            "ucx-verity: 2 ranks on node3: 1.00 MiB verified, no damage found; 1 of 2 ranks did "
            "not report");
}

// They have printed reports of their own.
TEST(HealthSummary, RanksThatCouldNotWriteAreNamedWithTheReason) {
  EXPECT_EQ(first_line(sum_up({rank("0")}, 4, 4, 4, {.ranks = 2, .error = ENOSPC})),
            "ucx-verity: 4 ranks on node3: 1.00 MiB verified, no damage found; 1 of 4 ranks did "
            "not report; 2 of 4 ranks could not write to this report (No space left on device)");
}

// They may report by themselves, or have no part in it.
TEST(HealthSummary, RanksThatNeverRegisteredAreNotAccused) {
  EXPECT_EQ(first_line(sum_up({rank("0"), rank("2")}, 2, 4, 4)),
            "ucx-verity: 4 ranks on node3: 2.00 MiB verified, no damage found; 2 of 4 ranks are "
            "not in this report");
  // Nor is anything said of what they received.
  Report repaired = rank("0");
  repaired.counters.faults_payload = repaired.counters.faults_repaired = 1;
  EXPECT_EQ(first_line(sum_up({repaired, rank("2")}, 2, 3, 3)),
            "ucx-verity: 3 ranks on node3: 2.00 MiB verified, 1 fault found, 1 repaired; 1 of 3 "
            "ranks is not in this report");
}

TEST(HealthSummary, WhoOnlySentHasVerifiedNothing) {
  Report report = rank("0", 0);
  report.counters.frames_verified = 0;
  report.counters.bytes_sent = 408;
  EXPECT_EQ(first_line(sum_up({report}, 1, 1, 1)),
            "ucx-verity: 1 rank on node3: nothing received, 408 B sent");
}

TEST(HealthSummary, DeliveredDamageIsSaidFirst) {
  Report report = rank("0");
  report.mode = "observe";
  report.counters.faults_payload = report.counters.faults_observed = 3;
  EXPECT_EQ(first_line(sum_up({report}, 1, 1, 1)),
            "ucx-verity: 1 rank on node3: 1.00 MiB checked, 3 faults found, 3 DELIVERED as damaged "
            "(mode observe repairs nothing)");
}

// Not "1 repaired, 1 delivered": nothing of a read is looked at again in that mode.
TEST(HealthSummary, DeliveredReadsAreFaultsToo) {
  Report report = rank("0");
  report.mode = "observe";
  report.counters.read_chunks_damaged = report.counters.faults_observed = 1;
  EXPECT_EQ(first_line(sum_up({report}, 1, 1, 1)),
            "ucx-verity: 1 rank on node3: 1.00 MiB checked, 1 fault found, 1 DELIVERED as damaged "
            "(mode observe repairs nothing)");
}

// The sender's host has a report because it retransmitted.
TEST(HealthSummary, WhoRetransmittedSaysWhy) {
  Report report = rank("0");
  report.counters.segments_resent = 18;
  EXPECT_EQ(first_line(sum_up({report}, 1, 1, 4)),
            "ucx-verity: 1 of 4 ranks on node3: 1.00 MiB verified, no damage received; 18 segments "
            "retransmitted, which others received damaged");
}

TEST(HealthSummary, WhatTheProgramDidIsNoDamage) {
  Report report = rank("0");
  report.counters.reads_source_changed = 191;
  report.counters.source_changed = 1;
  EXPECT_EQ(first_line(sum_up({report}, 1, 1, 1)),
            "ucx-verity: 1 rank on node3: 1.00 MiB verified, no damage found; 192 times THE "
            "PROGRAM changed data that were being sent or read, see below");
}

TEST(HealthSummary, WhatWentPastIsNotCalledRight) {
  Report report = rank("0");
  report.raw_lanes = {"posix"};
  EXPECT_EQ(first_line(sum_up({report}, 1, 1, 1)),
            "ucx-verity: 1 rank on node3: 1.00 MiB verified, no damage found; more may have passed "
            "UNVERIFIED, see below");
  report = rank("0", 0);
  report.counters.frames_verified = 0;
  report.mode = "off";
  report.counters.frames_unverified = 1;
  report.counters.bytes_unverified = 100;
  EXPECT_EQ(first_line(sum_up({report}, 1, 1, 1)),
            "ucx-verity: 1 rank on node3: 0 B verified, no damage found; 100 B passed UNVERIFIED "
            "(mode off)");
  report = rank("0");
  report.counters.faults_payload = 1;
  report.counters.links_failed = 1;
  EXPECT_EQ(first_line(sum_up({report}, 1, 1, 1)),
            "ucx-verity: 1 rank on node3: 1.00 MiB verified, 1 fault found, 0 repaired; 1 link "
            "failed");
}

TEST(HealthSummary, UnusedJobs) {
  Report report = rank("0");
  report.counters = {};
  EXPECT_EQ(render_text(sum_up({report, report}, 2, 2, 2)),
            "ucx-verity: active, but the program sent no messages: 2 ranks on node3\n");
  EXPECT_FALSE(should_print(sum_up({report, report}, 2, 2, 2), AttestPolicy::kAuto));
  report.raw_lanes = {"posix", "self"};
  EXPECT_EQ(render_text(sum_up({report}, 1, 1, 2)),
            "ucx-verity: NOTHING VERIFIED: no message used the plugin (UCX_TLS also "
            "enables posix, self)\n");
  report.unused = "pml/ob1";  // which explains more, where an interface was opened all the same
  EXPECT_EQ(render_text(sum_up({report}, 1, 1, 2)),
            "ucx-verity: NOTHING VERIFIED: no message used the plugin (pml/ob1)\n");
  report.active = false;
  EXPECT_EQ(render_text(sum_up({report}, 1, 1, 2)),
            "ucx-verity: NOTHING VERIFIED: no message used the plugin (pml/ob1)\n");
  EXPECT_TRUE(should_print(sum_up({report}, 1, 1, 2), AttestPolicy::kAuto));
  report.who.rank = "5";  // another host says it
  EXPECT_FALSE(should_print(sum_up({report}, 1, 1, 2), AttestPolicy::kAlways));
}

// ---- the order of records -----------------------------------------------------------------------

Member member(std::uint64_t pid, const std::string& rank) {
  return {.pid = pid, .start_ticks = pid * 10, .nonce = pid * 100, .rank = rank};
}

// Begins and ends of processes, in their order; "+1:0" begins process 1 as rank 0, "-1:0" ends it,
// "!1:0" with an error.
std::vector<JobRecord> records(std::initializer_list<const char*> events) {
  std::string bytes;
  for (const std::string event : events) {
    const std::string rank_number = event.substr(3);
    const Member who = member(static_cast<std::uint64_t>(event[1] - '0'), rank_number);
    bytes += event[0] == '+' ? begin_record(who)
                             : end_record(who, rank(rank_number, who.pid),
                                          event[0] == '!' ? Exit::kError : Exit::kSuccess);
  }
  return read_records(std::as_bytes(std::span(bytes)));
}

// How many reports process `self` finds when it ends, of how many, and how many of them are of
// processes that failed before; nothing: others live. `dead`: who does not live.
enum class Wanted { kComplete, kAny };
std::string assembled(const std::vector<JobRecord>& log, std::uint64_t self,
                      const std::string& rank_number, const std::string& dead = "",
                      Wanted wanted = Wanted::kComplete) {
  const auto all = assemble(log, member(self, rank_number), [&](const JobRecord& record) {
    return dead.find(static_cast<char>('0' + record.member.pid)) == std::string::npos;
  });
  EXPECT_TRUE(all);
  if (!all || (!all->complete && wanted == Wanted::kComplete)) return "";
  return std::to_string(all->reports.size()) + "/" + std::to_string(all->registered) +
         (all->failed != 0 ? " " + std::to_string(all->failed) + " failed" : "");
}

TEST(HealthJobLog, TheLastOneFindsAll) {
  const auto log = records({"+1:0", "+2:1", "+3:2", "-2:1", "-1:0", "-3:2"});
  EXPECT_EQ(assembled(log, 1, "0"), "");
  EXPECT_EQ(assembled(log, 2, "1"), "");
  EXPECT_EQ(assembled(log, 3, "2"), "3/3");
}

TEST(HealthJobLog, WhoDiedIsNotWaitedFor) {
  const auto log = records({"+1:0", "+2:1", "+3:2", "-1:0", "-3:2"});
  EXPECT_EQ(assembled(log, 3, "2"), "");
  EXPECT_EQ(assembled(log, 3, "2", "2"), "2/3");
  EXPECT_EQ(assembled(log, 1, "0", "2"), "");   // 3 lived then, and it is the one to report
  EXPECT_EQ(assembled(log, 1, "0", "23"), "");  // nor has it died without a report
}

// A process whose beginning is not there any more would belong to no program.
TEST(HealthJobLog, WhoseFileWasCutReportsAlone) {
  for (const auto& log : {records({"-1:0"}), records({"+2:1", "-2:1", "-1:0"})})
    EXPECT_FALSE(assemble(log, member(1, "0"), [](const auto&) { return false; }));
}

// A launcher kills the others then: what has ended so far is known, and who was the first to fail.
TEST(HealthJobLog, WhoFailsFindsWhatThereIs) {
  const auto log = records({"+1:0", "+2:1", "+3:2", "-1:0", "!2:1", "!3:2"});
  EXPECT_EQ(assembled(log, 2, "1"), "");
  EXPECT_EQ(assembled(log, 2, "1", "", Wanted::kAny), "2/3");
  EXPECT_EQ(assembled(log, 3, "2"), "3/3 1 failed");
}

// srun starts two programs one after the other in one step: a fast rank is at the second one
// already.
TEST(HealthJobLog, ProgramsOneAfterTheOtherAreToldApart) {
  const auto log = records({"+1:0", "+2:1", "-1:0", "+3:0", "-2:1", "+4:1", "-3:0", "-4:1"});
  EXPECT_EQ(assembled(log, 1, "0"), "");
  EXPECT_EQ(assembled(log, 2, "1"), "2/2");
  EXPECT_EQ(assembled(log, 3, "0"), "");
  EXPECT_EQ(assembled(log, 4, "1"), "2/2");
}

// Else the other ranks would begin the second program in a file of their own.
TEST(HealthJobLog, TheFileStaysForTheNextProgram) {
  const auto is_deserted = [](const std::vector<JobRecord>& log, std::uint64_t self,
                              const std::string& dead) {
    const auto all = assemble(log, member(self, "1"), [&](const JobRecord& record) {
      return dead.find(static_cast<char>('0' + record.member.pid)) == std::string::npos;
    });
    return all && all->complete && all->deserted;
  };
  EXPECT_FALSE(is_deserted(records({"+1:0", "+2:1", "-1:0", "+3:0", "-2:1"}), 2, ""));
  EXPECT_TRUE(is_deserted(records({"+1:0", "+2:1", "-1:0", "+3:0", "-2:1"}), 2, "3"));
  // One that has begun since the end of that process.
  EXPECT_FALSE(is_deserted(records({"+1:0", "+2:1", "-1:0", "-2:1", "+3:0"}), 2, ""));
  EXPECT_TRUE(is_deserted(records({"+1:0", "+2:1", "-1:0", "+3:0", "-3:0", "-2:1"}), 2, ""));
}

TEST(HealthJobLog, RecordsComeBackAsTheyWere) {
  Report report = rank("3");
  report.links = {{"a", "b", "vtcp/eth0", 7}};
  report.raw_lanes = {"posix", "self"};
  report.failed_links = {"x"};
  report.unused = "pml/ob1";
  report.active = false;
  report.shared_windows = true;
  report.counters.links_failed = 5;
  const std::string bytes =
      begin_record(member(1, "3")) + end_record(member(1, "3"), report, Exit::kError);
  const auto read = read_records(std::as_bytes(std::span(bytes)));
  ASSERT_EQ(read.size(), 2U);
  EXPECT_EQ(read[1].member, member(1, "3"));
  const Report& back = *read[1].report;
  EXPECT_EQ(back.links, report.links);
  EXPECT_EQ(back.raw_lanes, report.raw_lanes);
  EXPECT_EQ(back.unused, "pml/ob1");
  EXPECT_EQ(back.counters.links_failed, 5U);
  EXPECT_TRUE(back.shared_windows && !back.active);
  EXPECT_EQ(read[1].exit, Exit::kError);
}

// Another process may be appending while this one reads: a reader sees a part of that record.
TEST(HealthJobLog, RecordBeingAppendedIsNotThereYet) {
  const std::string begin = begin_record(member(1, "0"));
  const std::string bytes = begin + end_record(member(1, "0"), rank("0"), Exit::kSuccess);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto read = read_records(std::as_bytes(std::span(bytes.data(), size)));
    EXPECT_EQ(read.size(), size < begin.size() ? 0U : 1U) << size;
  }
}

// One that was cut off, by a process killed or a full disk, hides none of those around it.
TEST(HealthJobLog, RecordCutOffIsLeftOut) {
  const std::string cut = end_record(member(2, "1"), rank("1"), Exit::kSuccess);
  const std::string begins = begin_record(member(1, "0")) + begin_record(member(2, "1"));
  const std::string end = end_record(member(1, "0"), rank("0"), Exit::kSuccess);
  const auto is_dead = [](const auto&) { return false; };
  for (std::size_t size = 0; size < cut.size(); ++size) {
    const std::string bytes = begins + cut.substr(0, size) + end;
    const auto read = read_records(std::as_bytes(std::span(bytes)));
    ASSERT_EQ(read.size(), 3U) << size;
    EXPECT_EQ(read[2].offset, begins.size() + size);
    const auto all = assemble(read, member(1, "0"), is_dead);
    ASSERT_TRUE(all) << size;
    EXPECT_EQ(all->reports.size(), 1U) << size;
    EXPECT_EQ(all->registered, 2U) << size;
  }
  for (const std::string other : {"x", "another version's record"}) {
    const std::string bytes = other + begins + other + end + other;
    EXPECT_EQ(read_records(std::as_bytes(std::span(bytes))).size(), 3U) << other;
    EXPECT_TRUE(read_records(std::as_bytes(std::span(other))).empty()) << other;
  }
}

// No crash, whatever is damaged.
TEST(HealthJobLog, DamagedRecordsAreRead) {
  const std::string bytes =
      begin_record(member(1, "0")) + end_record(member(1, "0"), rank("0"), Exit::kSuccess);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(~damaged[at]);
    (void)read_records(std::as_bytes(std::span(damaged)));
  }
}

}  // namespace
}  // namespace verity::health
