// SPDX-License-Identifier: BSD-3-Clause
// Who reports where ranks of a job fail.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>

#include "health/report/job_log.h"
#include "unit/health/file.h"
#include "unit/health/job.h"

namespace verity::health {
namespace {

// Two ranks, of which the second one ends when the first one has appended its account.
struct Two {
  std::atomic<unsigned> begun, reported[2];

  void end(const Folder& folder, unsigned i, Exit exit, rlim_t limit = RLIM_INFINITY) {
    JobLog log;
    Assembled all;
    ASSERT_TRUE(log.join(folder.path, "launch 1", std::to_string(i), 3));
    meet(begun, 2);
    const auto size = std::filesystem::file_size(log.path());
    meet(begun, 4);
    while (i == 1 && std::filesystem::file_size(log.path()) == size) sched_yield();
    const FileLimit files(limit);
    if (log.leave(rank(std::to_string(i)), exit, &all) == JobLog::Outcome::kReports)
      reported[i] = static_cast<unsigned>(all.reports.size());
  }
};

// A launcher kills the one that stays when the other is seen to fail: so that one reports.
TEST(HealthJobFailures, WhoFailsAtOnceReportsForThoseThatStay) {
  const Folder folder;
  JobLog other;  // works on
  ASSERT_TRUE(other.join(folder.path, "launch 1", "2", 3));
  const Shared<Two> two;
  const unsigned good = run_ranks(
      2, [&](unsigned i) { two->end(folder, i, i == 0 ? Exit::kErrorAtEnd : Exit::kError); });
  EXPECT_EQ(good, 2U);
  EXPECT_EQ(two->reported[0], 0U);
  EXPECT_EQ(two->reported[1], 2U);
}

// All ranks of a program end with an error after MPI_Finalize: one report, of all of them.
TEST(HealthJobFailures, ThoseThatFailTogetherHaveOneReport) {
  const Folder folder;
  constexpr unsigned kRanks = 4;
  struct Reports {
    std::atomic<unsigned> begun, count, ranks;
  };
  const Shared<Reports> reports;
  const unsigned good = run_ranks(kRanks, [&](unsigned i) {
    JobLog log;
    Assembled all;
    ASSERT_TRUE(log.join(folder.path, "launch 1", std::to_string(i), kRanks));
    meet(reports->begun, kRanks);
    usleep(i * 20000);
    if (log.leave(rank(std::to_string(i)), Exit::kErrorAtEnd, &all) == JobLog::Outcome::kReports) {
      ++reports->count;
      reports->ranks += static_cast<unsigned>(all.reports.size());
    }
  });
  EXPECT_EQ(good, kRanks);
  EXPECT_EQ(reports->count, 1U);
  EXPECT_EQ(reports->ranks, kRanks);
}

// One that fails waits for no rank that has work to do still.
TEST(HealthJobFailures, WhoFailsReportsSoon) {
  const Folder folder;
  TwoRanks ranks(folder);
  auto& [first, second] = ranks;
  Assembled all;
  EXPECT_EQ(first.leave(rank("0"), Exit::kErrorAtEnd, &all), JobLog::Outcome::kReports);
  EXPECT_EQ(all.reports.size(), 1U);
}

// One stays for the others, one is dead, and the last one cannot write, or can: it has found all,
// and who stayed need not report them again.
TEST(HealthJobFailures, WhoStaysLeavesTheReportToTheLastOne) {
  for (const bool dies : {false, true}) {
    for (const bool writes : {false, true}) {
      const Folder folder;
      const Shared<Two> two;
      if (dies) {
        run_ranks(1, [&](unsigned) {
          JobLog dead;
          EXPECT_TRUE(dead.join(folder.path, "launch 1", "2", 3));
        });
      }
      const unsigned good = run_ranks(2, [&](unsigned i) {
        two->end(folder, i, i == 0 ? Exit::kErrorAtEnd : Exit::kSuccess,
                 i == 1 && !writes ? 1000 : RLIM_INFINITY);
      });
      EXPECT_EQ(good, 2U);
      EXPECT_EQ(two->reported[0], 0U) << dies << writes;
      EXPECT_EQ(two->reported[1], 2U) << dies << writes;
      EXPECT_TRUE(std::filesystem::is_empty(folder.path));
    }
  }
}

}  // namespace
}  // namespace verity::health
