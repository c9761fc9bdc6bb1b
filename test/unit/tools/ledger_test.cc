// SPDX-License-Identifier: BSD-3-Clause
#include "tools/export/ledger.h"

#include <gtest/gtest.h>

#include "totals.h"

namespace verity::tools {
namespace {

std::uint64_t bytes_of(const Totals& totals) {
  return totals.paths.at({"vtcp", "eth0", {}}).bytes_verified;
}

TEST(Ledger, CountersOnlyGrowWhenProcessesGo) {
  Ledger ledger;
  const auto first = process("b", 100, 1);
  const auto second = process("c", 50, 0);
  EXPECT_EQ(bytes_of(with(ledger, {first, second})), 150U);
  take(ledger, "/dir/1.health", first);
  EXPECT_EQ(bytes_of(with(ledger, {second})), 150U);
  take(ledger, "/dir/2.health", second);
  EXPECT_EQ(bytes_of(with(ledger, {})), 150U);
}

TEST(Ledger, FaultsBelongToTheHourInWhichTheyWereSeen) {
  Ledger ledger;
  observe(ledger, with(ledger, {process("b", 100, 2)}), kNow);
  const auto later = kNow + 5 * kHour;
  const Totals totals = with(ledger, {process("b", 200, 5)});
  EXPECT_EQ(faults_of(recent(ledger, totals, later, 1)), 3U) << "what is new since the last run";
  observe(ledger, totals, later);
  EXPECT_EQ(faults_of(recent(ledger, totals, later, 1)), 3U);
  EXPECT_EQ(faults_of(recent(ledger, totals, later, 6)), 5U);
  EXPECT_EQ(faults_of(recent(ledger, totals, later + 30 * kHour, 24)), 0U) << "long ago";
  EXPECT_EQ(faults_of(recent(ledger, totals, later + 30 * kHour, 0)), 5U) << "ever";
}

TEST(Ledger, AnHourAgoIsNoMatterOfTheClock) {
  Ledger ledger;
  const Totals totals = with(ledger, {process("b", 100, 3)});
  observe(ledger, totals, kNow + kHour - 60);
  EXPECT_EQ(faults_of(recent(ledger, totals, kNow + kHour + 60, 1)), 3U) << "two minutes ago";
  EXPECT_EQ(faults_of(recent(ledger, totals, kNow + 24 * kHour + 60, 24)), 3U) << "23 h ago";
  EXPECT_EQ(faults_of(recent(ledger, totals, kNow + 2 * kHour, 1)), 0U) << "more than an hour ago";
}

TEST(Ledger, ProcessThatGoesIsNoNews) {
  Ledger ledger;
  const auto gone = process("b", 100, 7);
  observe(ledger, with(ledger, {gone}), kNow);
  take(ledger, "/dir/1.health", gone);
  observe(ledger, with(ledger, {}), kNow + kHour);
  EXPECT_EQ(faults_of(recent(ledger, with(ledger, {}), kNow + kHour, 24)), 7U);
  EXPECT_EQ(ledger.hours.size(), 1U);
}

TEST(Ledger, OldHoursAreForgotten) {
  Ledger ledger;
  observe(ledger, with(ledger, {process("b", 1, 1)}), kNow);
  observe(ledger, with(ledger, {process("b", 2, 2)}), kNow + (Ledger::kHours + 1) * kHour);
  EXPECT_EQ(ledger.hours.size(), 1U);
}

// A user has removed the files of a job that ended, while another job runs on.
TEST(Ledger, FilesThatAreLeftAreNoNews) {
  Ledger ledger;
  const auto runs = process("b", 100, 50);
  observe(ledger, with(ledger, {runs, process("b", 100, 9)}), kNow);
  const Totals left = with(ledger, {runs});
  EXPECT_EQ(faults_of(recent(ledger, left, kNow + 30 * kHour, 24)), 0U);
  observe(ledger, left, kNow + 30 * kHour);
  EXPECT_EQ(faults_of(recent(ledger, with(ledger, {process("b", 100, 52)}), kNow + 30 * kHour, 24)),
            2U);
}

// A check that had no time for all files sees smaller sums: that is no news.
TEST(Ledger, FilesThatWereNotReadAreNoNews) {
  Ledger ledger;
  observe(ledger, with(ledger, {process("b", 100, 9), process("b", 100, 9)}), kNow);
  const Totals some = with(ledger, {process("b", 100, 9)});
  EXPECT_EQ(faults_of(recent(ledger, some, kNow + 30 * kHour, 24)), 0U);
}

// Nor is what a run that could not read all files leaves to the next one.
TEST(Ledger, FilesThatAreReadAgainAreNoNews) {
  Ledger ledger;
  const auto both = {process("b", 100, 9), process("b", 100, 9)};
  observe(ledger, with(ledger, both), kNow);
  observe(ledger, with(ledger, {process("b", 100, 10)}), kNow + 30 * kHour, false);
  observe(ledger, with(ledger, {}), kNow + 31 * kHour, false);
  EXPECT_EQ(faults_of(recent(ledger, with(ledger, both), kNow + 32 * kHour, 24)), 0U);
}

// Files that vanish, as when the machine starts again, make no news of what is in the ledger.
TEST(Ledger, FilesThatVanishMakeNoNewsOfOthers) {
  Ledger ledger;
  notice_boot(ledger, "boot", {});
  take(ledger, "/dir/1.health", process("b", 100, 20));
  observe(ledger, with(ledger, {process("b", 50, 10)}), kNow);
  EXPECT_EQ(faults_of(recent(ledger, with(ledger, {}), kNow + 30 * kHour, 24)), 0U);
  notice_boot(ledger, "another boot", totals_of(ledger));
  EXPECT_EQ(faults_of(recent(ledger, with(ledger, {process("b", 1, 3)}), kNow + 30 * kHour, 24)),
            3U);
}

std::size_t paths_of_hours(const Ledger& ledger) {
  std::size_t paths = 0;
  for (const auto& hour : ledger.hours) paths += hour.second.size();
  return paths;
}

// A week of jobs with thousands of hosts, or one user who makes names up.
TEST(Ledger, HoursAreBounded) {
  for (const std::uint64_t faults : {0U, 1U}) {
    Ledger ledger;
    Totals totals;
    constexpr std::size_t kHosts = 11000;
    health::PathFaults& bad = totals.trouble.place({"vtcp", "eth0", "bad", false, 1001});
    for (std::size_t hour = 0; hour < 12; ++hour) {
      for (std::size_t i = 0; i < kHosts; ++i) {
        totals.trouble.place({"vtcp", "eth0", "host" + std::to_string(i), false, 1001}) +=
            {10, faults, 0, 0};
      }
      bad += {10, hour == 0, 0, 0};
      observe(ledger, totals, kNow + hour * kHour);
      EXPECT_LE(paths_of_hours(ledger), Ledger::kMostHourPaths);
    }
    const auto paths = recent(ledger, totals, kNow + 11 * kHour, 24);
    std::uint64_t bytes = 0;
    for (const auto& path : paths) bytes += path.second.bytes;
    EXPECT_EQ(bytes, 12 * 10 * (kHosts + 1)) << "none is lost";
    EXPECT_EQ(faults_of(paths), 1 + 12 * faults * kHosts);
    if (faults != 0) continue;
    const health::PathFaults& bad_path = paths.at({"vtcp", "eth0", "bad", false, 1001});
    EXPECT_EQ(bad_path.bytes, 120U);
    EXPECT_EQ(bad_path.in, 1U);
  }
}

// Hosts of years of jobs are no reason to lose those of today.
TEST(Ledger, EndedProcessesLeaveRoomForNewHosts) {
  Ledger ledger;
  health::Snapshot many = process("b", 100, 1);
  const auto row = many.rows.front();
  for (const std::uint32_t user : {1001U, 1002U, 1003U}) {
    many.rows.clear();
    for (std::size_t i = 0; i < Ledger::kMostPathsOfUser; ++i) {
      many.rows.push_back(row);
      many.rows.back().peer = "host" + std::to_string(i);
    }
    take(ledger, "/dir/" + std::to_string(user), many, user);
    observe(ledger, totals_of(ledger), kNow);
  }
  EXPECT_LE(ledger.ended_trouble.size(), Ledger::kMostEnded);
  EXPECT_EQ(faults_of(ledger.ended_trouble), 3 * Ledger::kMostPathsOfUser) << "none is lost";
  EXPECT_EQ(faults_of(ledger.seen), 3 * Ledger::kMostPathsOfUser);
  const auto later = kNow + 300 * kHour;
  observe(ledger, totals_of(ledger), later);
  EXPECT_TRUE(recent(ledger, totals_of(ledger), later, 24).empty()) << "nothing of that is new";
  Totals totals = totals_of(ledger);
  add(totals, process("new", 5, 2), 1004);
  const auto paths = recent(ledger, totals, later, 24);
  ASSERT_TRUE(paths.contains({"vtcp", "eth0", "new", false, 1004}));
  EXPECT_EQ(paths.size(), 1U);
  // A live process of a known path keeps its host.
  Totals live = totals_of(ledger);
  add(live, process("live", 5, 2), 1001);
  take(ledger, "/dir/more", process("over", 5, 2), 1001);
  observe(ledger, live, later);
  EXPECT_TRUE(ledger.seen.contains({"vtcp", "eth0", "live", false, 1001}));
}

// What an hour full of hosts leaves no room for is what is older.
TEST(Ledger, NewestPathsKeepTheirHosts) {
  Ledger ledger;
  for (const std::uint32_t user : {1001U, 1002U}) {
    for (std::size_t i = 0; i < Ledger::kMostPathsOfUser; ++i)
      ledger.hours[kNow / kHour - 5][{"vtcp", "eth0", "h" + std::to_string(i), false, user}] = {1};
  }
  Totals totals;
  add(totals, process("new", 5, 2), 1001);
  EXPECT_TRUE(recent(ledger, totals, kNow, 24).contains({"vtcp", "eth0", "new", false, 1001}));
}

// Peers are compared with by what was exchanged in hours with faults.
TEST(Ledger, HoursWithoutFaultsAreNotCompared) {
  Ledger ledger;
  observe(ledger, with(ledger, {process("b", 100, 0)}), kNow);
  const auto both = {process("b", 100, 0), process("c", 50, 0), process("d", 50, 2)};
  observe(ledger, with(ledger, both), kNow + kHour);
  const auto paths = recent(ledger, with(ledger, both), kNow + kHour, 24);
  const auto compared = [&](const char* peer) { return paths.at({"vtcp", "eth0", peer}).compared; };
  EXPECT_EQ(compared("b"), 0U);
  EXPECT_EQ(compared("c"), 50U);
  EXPECT_EQ(compared("d"), 50U);
}

TEST(Ledger, UsersAreToldApart) {
  Ledger ledger;
  Totals totals;
  add(totals, process("b", 100, 2), 1001);
  add(totals, process("b", 100, 3), 1002);
  observe(ledger, totals, kNow);
  Ledger again;
  ASSERT_EQ(from_json(to_json(ledger), &again), "");
  const auto paths = recent(again, totals, kNow, 24);
  ASSERT_EQ(paths.size(), 2U);
  EXPECT_EQ(paths.begin()->first.user + paths.rbegin()->first.user, 2003U);
  EXPECT_EQ(bytes_of(totals), 200U) << "sums are of all";
  // An older version's ledger named none: that is no word of root's.
  const std::string old =
      R"({"schema":1,"ended":[],"ended_trouble":[[["vtcp","eth0","b"],1,2,3,4]],"taken":[],"seen":[],"hours":[]})";
  ASSERT_EQ(from_json(old, &again), "");
  EXPECT_EQ(again.ended_trouble.begin()->first.user, kNoUser);
}

// 101 more than are kept, one fault with each.
health::Snapshot too_many_hosts() {
  health::Snapshot many = process("b", 1, 1);
  const auto row = many.rows.front();
  for (std::size_t i = 0; i < Ledger::kMostPaths + 100; ++i) {
    many.rows.push_back(row);
    many.rows.back().peer = "host" + std::to_string(i);
  }
  return many;
}

TEST(Ledger, OneUserDoesNotTakeAllPlaces) {
  Totals totals;
  add(totals, too_many_hosts(), 1001);
  add(totals, process("c", 1, 1), 1002);
  EXPECT_TRUE(totals.trouble.contains({"vtcp", "eth0", "c", false, 1002}));
  health::Snapshot names;
  for (std::size_t i = 0; i < 5000; ++i) {
    names.rows.push_back(process("b", 1, 1).rows.front());
    names.rows.back().device = "made-up-" + std::to_string(i);
  }
  add(totals, names, 1001);
  EXPECT_LE(totals.paths.size(), Ledger::kMostSums + 1);
}

// All names in a file are its user's, the transports' too.
TEST(Ledger, MadeUpPathsAreBounded) {
  Totals totals;
  health::Snapshot many = process("b", 1, 1);
  const auto row = many.rows.front();
  for (std::size_t i = 0; i < 4 * Ledger::kMostPaths; ++i) {
    many.rows.push_back(row);
    many.rows.back().transport = "made-up-" + std::to_string(i);
  }
  add(totals, many, 1001);
  EXPECT_LE(totals.trouble.size(), Ledger::kMostPathsOfUser + Ledger::kMostSums + 1);
  std::uint64_t faults = 0;
  for (const auto& [key, trouble] : totals.trouble) faults += trouble.in;
  EXPECT_EQ(faults, 4 * Ledger::kMostPaths + 1) << "none is lost";
}

// Both ends of a path within this host report one fault.
TEST(Ledger, InjectedFaultsWithinTheHostCountOnce) {
  health::FaultsByPath paths = {{{"vfposix", "memory", health::kThisHost, true}, {100, 34, 34, 0}},
                                {{"vftcp", "eth0", "b", true}, {100, 2, 1, 0}},
                                {{"vtcp", "eth0", "b", false}, {100, 0, 0, 0}}};
  EXPECT_EQ(leave_out_injected(paths), 37U);
  EXPECT_EQ(paths.size(), 1U);
}

TEST(Ledger, PathsAreBounded) {
  Ledger ledger;
  const Totals totals = with(ledger, {too_many_hosts()});
  EXPECT_LE(totals.trouble.size(), Ledger::kMostPaths + 1);
  EXPECT_EQ(faults_of(recent(ledger, totals, kNow, 0)), Ledger::kMostPaths + 101);
}

// A job with more hosts than there are places: which of them have one changes with the files.
TEST(Ledger, PathsWithoutAPlaceAreNoNews) {
  const auto job = [](const char* device, std::size_t hosts) {
    health::Snapshot many = process("host0", 10, 0);
    many.rows.front().device = device;
    for (std::size_t i = 1; i < hosts; ++i) {
      many.rows.push_back(many.rows.front());
      many.rows.back().peer = "host" + std::to_string(i);
    }
    return many;
  };
  health::Snapshot first = job("mlx5_0:1", Ledger::kMostPathsOfUser - 10);
  first.rows.back().counters.faults_payload = 5;
  const health::Snapshot second = job("mlx5_1:1", 20);
  Totals one, both;
  add(one, first, 1001);
  add(both, second, 1001);  // read before the other one
  add(both, first, 1001);
  Ledger ledger;
  observe(ledger, one, kNow);
  EXPECT_EQ(faults_of(recent(ledger, one, kNow, 24)), 5U);
  EXPECT_EQ(faults_of(recent(ledger, both, kNow + 30 * kHour, 24)), 0U);
  observe(ledger, both, kNow + 30 * kHour);
  EXPECT_EQ(faults_of(recent(ledger, one, kNow + 60 * kHour, 24)), 0U);
  first.rows.front().counters.faults_payload = 2;
  Totals more;
  add(more, second, 1001);
  add(more, first, 1001);
  EXPECT_EQ(faults_of(recent(ledger, more, kNow + 60 * kHour, 24)), 2U);
}

TEST(Ledger, OwnHostIsTold) {
  const Ledger ledger;
  const auto paths = recent(ledger, with(ledger, {process("me", 1, 1)}), kNow, 0);
  ASSERT_EQ(paths.size(), 1U);
  EXPECT_EQ(paths.begin()->first.peer, health::kThisHost);
}

// By the boot id, as a container has a host name of its own; after a restart, by the name.
TEST(Ledger, IsThatOfOneHost) {
  const Machine machine{"boot", "here", 2 * kHour};
  Ledger ledger;
  const auto owner = [&](const char* boot, const char* host, std::uint64_t written) {
    ledger.boot = boot, ledger.host = host, ledger.written = written;
    Ledger again;
    EXPECT_EQ(from_json(to_json(ledger), &again), "");
    return owner_of(again, machine);
  };
  EXPECT_EQ(owner("", "", 0), Owner::kThisHost);  // new, or of an older release
  EXPECT_EQ(owner("before", "", 2000), Owner::kThisHost);
  EXPECT_EQ(owner("boot", "here", 2000), Owner::kThisHost);
  EXPECT_EQ(owner("boot", "a-container", 2000), Owner::kThisHost);
  EXPECT_EQ(owner("before", "here", 900), Owner::kThisHost);
  EXPECT_EQ(owner("before", "here", 2000), Owner::kThisHost);  // the clock was wrong
  EXPECT_EQ(owner("another", "elsewhere", 2 * kHour - 90), Owner::kOtherHost);
  EXPECT_EQ(owner("another", "elsewhere", kHour + 1), Owner::kOtherHost);  // it starts again
  EXPECT_EQ(owner("another", "elsewhere", 3 * kHour), Owner::kOtherHost);
  EXPECT_EQ(owner("another", "elsewhere", kHour - 1), Owner::kFormerHost);
}

TEST(Ledger, SurvivesItsFile) {
  Ledger ledger;
  ledger.taken.insert("/caf\xe9/caf\xc3\xa9\xff\x80.health");
  ledger.folders.insert("/caf\xe9");
  take(ledger, "/dir/1.health", process("b\"\\\n\xff", 100, 3));
  observe(ledger, with(ledger, {process("c", 5, 1)}), kNow);
  Ledger again;
  ASSERT_EQ(from_json(to_json(ledger), &again), "");
  EXPECT_EQ(again.taken, ledger.taken);
  EXPECT_EQ(again.folders, ledger.folders);
  EXPECT_EQ(bytes_of(totals_of(again)), 100U);
  EXPECT_EQ(faults_of(recent(again, totals_of(again), kNow, 0)), 3U);
  EXPECT_EQ(again.hours.size(), ledger.hours.size());
  EXPECT_EQ(to_json(again), to_json(ledger)) << "the same but for bytes that are no text";
}

TEST(Ledger, RefusesWhatItIsNot) {
  Ledger ledger;
  EXPECT_EQ(from_json("", &ledger), "it is no JSON object");
  EXPECT_EQ(from_json("[1]", &ledger), "it is no JSON object");
  EXPECT_EQ(from_json(R"({"schema":99})", &ledger), "it is of another version (schema)");
  for (
      const char* text :
      {R"({})", R"({"schema":1})",
       R"({"schema":1,"ended":[[1]],"ended_trouble":[],"taken":[],"seen":[],"hours":[]})",
       R"({"schema":1,"ended":[],"ended_trouble":[],"taken":5,"seen":[],"hours":[]})",
       R"({"schema":1,"ended":[],"ended_trouble":[[["a","b","c"],-1,"x",3,4]],"taken":[],"seen":[],"hours":[]})"}) {
    EXPECT_NE(from_json(text, &ledger), "") << text;
  }
}

}  // namespace
}  // namespace verity::tools
