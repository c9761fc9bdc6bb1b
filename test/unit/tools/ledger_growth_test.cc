// SPDX-License-Identifier: BSD-3-Clause
// What Prometheus sees of the ledger: sums that never shrink.
#include <gtest/gtest.h>

#include "tools/export/ledger.h"
#include "totals.h"

namespace verity::tools {
namespace {

std::uint64_t counted(const Ledger& ledger) {
  return ledger.counted.at({"vtcp", "eth0", {}}).faults_payload;
}

TEST(LedgerGrowth, IsThatOfTheProcesses) {
  Ledger ledger;
  grow(ledger, with(ledger, {process("b", 100, 3)}));
  EXPECT_EQ(counted(ledger), 3U) << "the first run, or the first since an older release's";
  grow(ledger, with(ledger, {process("b", 200, 5)}));
  EXPECT_EQ(counted(ledger), 5U);
  take(ledger, "/dir/1.health", process("b", 200, 5));
  grow(ledger, with(ledger, {process("c", 1, 1)}));
  EXPECT_EQ(counted(ledger), 6U);
}

// A run that cannot read all files, or after a user has removed some.
TEST(LedgerGrowth, FilesThatAreMissingShrinkNothing) {
  for (const bool complete : {false, true}) {
    Ledger ledger;
    const std::vector<health::Snapshot> both{process("b", 100, 3), process("c", 100, 50)};
    grow(ledger, with(ledger, both));
    grow(ledger, with(ledger, {both[0]}), complete);
    EXPECT_EQ(counted(ledger), 53U);
    grow(ledger, with(ledger, {process("b", 100, 4)}), complete);
    EXPECT_EQ(counted(ledger), complete ? 54U : 53U) << "not all can be seen to be new";
    if (complete) continue;
    grow(ledger, with(ledger, both));
    EXPECT_EQ(counted(ledger), 53U) << "files that are read again are not new";
  }
}

// Files that are not believed for a while, as the folder's mode is wrong.
TEST(LedgerGrowth, FilesThatAreBelievedAgainAreNotNew) {
  Ledger ledger;
  const std::vector<health::Snapshot> both{process("b", 100, 3), process("b", 100, 50)};
  Totals doubtful;
  const auto run = [&](const std::vector<health::Snapshot>& believed, std::uint64_t hour) {
    const Totals totals = with(ledger, believed);
    observe(ledger, totals, kNow + hour * kHour, true, doubtful);
    grow(ledger, totals, true, doubtful);
  };
  run(both, 0);
  add(doubtful, both[1]);
  run({both[0]}, 30);
  doubtful = {};
  run(both, 31);
  EXPECT_EQ(counted(ledger), 53U);
  EXPECT_EQ(ledger.hours.size(), 1U) << "no news";
  // What is neither believed nor there any more is forgotten.
  add(doubtful, process("b", 1, 2));
  run({both[0]}, 32);
  doubtful = {};
  run({both[0], process("b", 1, 2), process("b", 1, 1)}, 33);
  EXPECT_EQ(counted(ledger), 54U);
}

// What was live before counts as seen no more: new faults are new, be they fewer.
TEST(LedgerGrowth, GoesOnWhenTheMachineStartsAgain) {
  Ledger ledger;
  notice_boot(ledger, "boot", {});
  take(ledger, "/dir/1.health", process("b", 100, 20));
  const Totals before = with(ledger, {process("b", 50, 1)});
  observe(ledger, before, kNow);
  grow(ledger, before);
  EXPECT_EQ(counted(ledger), 21U);
  Ledger again;
  ASSERT_EQ(from_json(to_json(ledger), &again), "");
  notice_boot(again, "another boot", totals_of(again));
  const Totals some = with(again, {});
  observe(again, some, kNow + 30 * kHour, false);
  grow(again, some, false);
  EXPECT_EQ(counted(again), 21U);
  notice_boot(again, "another boot", totals_of(again));
  const auto ended_since = process("b", 9, 2);
  take(again, "/dir/2.health", ended_since);
  const Totals after = with(again, {process("b", 9, 1)});
  EXPECT_EQ(faults_of(recent(again, after, kNow + 30 * kHour, 24)), 3U);
  grow(again, after);
  EXPECT_EQ(counted(again), 24U);
}

// A folder on a disk keeps its files.
TEST(LedgerGrowth, FilesOfBeforeTheMachineStartedAgainAreNotNew) {
  Ledger ledger;
  notice_boot(ledger, "boot", {});
  take(ledger, "/dir/1.health", process("b", 100, 20));
  const auto kept = process("b", 50, 1);
  const Totals before = with(ledger, {kept, process("b", 50, 4)});
  observe(ledger, before, kNow);
  grow(ledger, before);
  EXPECT_EQ(counted(ledger), 25U);
  notice_boot(ledger, "another boot", with(ledger, {kept}));
  const Totals after = with(ledger, {kept, process("b", 9, 2)});
  EXPECT_EQ(faults_of(recent(ledger, after, kNow + 30 * kHour, 24)), 2U);
  grow(ledger, after);
  EXPECT_EQ(counted(ledger), 27U);
}

TEST(LedgerGrowth, MadeUpPathsAreBounded) {
  Ledger ledger;
  health::Snapshot many = process("b", 1, 1);
  const auto row = many.rows.front();
  for (std::size_t round = 1; round <= 3; ++round) {
    many.rows.clear();
    for (std::size_t i = 0; i < round * Ledger::kMostSums; ++i) {
      many.rows.push_back(row);
      many.rows.back().device = "made-up-" + std::to_string(i);
    }
    Totals totals;
    for (const auto& r : many.rows) totals.paths[{r.transport, r.device, {}}] += r.counters;
    grow(ledger, totals);
    EXPECT_LE(ledger.counted.size(), Ledger::kMostSums + 1);
    std::uint64_t faults = 0;
    for (const auto& [key, sums] : ledger.counted) faults += sums.faults_payload;
    EXPECT_EQ(faults, round * Ledger::kMostSums) << "none is lost";
  }
}

}  // namespace
}  // namespace verity::tools
