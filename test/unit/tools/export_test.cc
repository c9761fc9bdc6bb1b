// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>

#include "tools/export/exposition.h"
#include "tools/export/ledger.h"

namespace verity::tools {
namespace {

constexpr std::uint64_t kHour = 3600;
constexpr std::uint64_t kNow = 1000 * kHour;

health::Snapshot process(const std::string& peer, std::uint64_t bytes, std::uint64_t faults) {
  health::Snapshot snapshot;
  snapshot.peer_name = "me";
  health::SnapshotRow row;
  row.kind = UCX_VERITY_HEALTH_PEER;
  row.transport = "vtcp";
  row.device = "eth0";
  row.peer = peer;
  row.counters.bytes_verified = bytes;
  row.counters.faults_payload = faults;
  snapshot.rows.push_back(row);
  return snapshot;
}

Totals with(const Ledger& ledger, const std::vector<health::Snapshot>& live) {
  Totals totals = totals_of(ledger);
  for (const health::Snapshot& snapshot : live) add(totals, snapshot);
  return totals;
}

std::uint64_t bytes_of(const Totals& totals) {
  return totals.paths.at({"vtcp", "eth0", {}}).bytes_verified;
}

std::uint64_t faults_of(const health::FaultsByPath& paths) {
  std::uint64_t sum = 0;
  for (const auto& [path, faults] : paths) sum += faults.in;
  return sum;
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

TEST(Ledger, ClockThatWasSetBackLosesNothing) {
  Ledger ledger;
  const Totals totals = with(ledger, {process("b", 1, 4)});
  observe(ledger, totals, kNow);
  EXPECT_EQ(faults_of(recent(ledger, totals, kNow - 10 * kHour, 24)), 4U);
}

TEST(Ledger, HoursToComeBecomeOld) {
  Ledger ledger;
  const Totals totals = with(ledger, {process("b", 1, 4)});
  observe(ledger, totals, kNow + 10'000 * kHour);
  observe(ledger, totals, kNow);
  EXPECT_EQ(faults_of(recent(ledger, totals, kNow, 24)), 4U);
  EXPECT_EQ(faults_of(recent(ledger, totals, kNow + 30 * kHour, 24)), 0U);
}

TEST(Ledger, FileThatShrankCountsAgain) {
  Ledger ledger;
  observe(ledger, with(ledger, {process("b", 100, 9)}), kNow);
  EXPECT_EQ(faults_of(recent(ledger, with(ledger, {process("b", 10, 2)}), kNow + 30 * kHour, 24)),
            2U);
}

// A check that had no time for all files sees smaller sums: that is no news.
TEST(Ledger, FilesThatWereNotReadAreNoNews) {
  Ledger ledger;
  observe(ledger, with(ledger, {process("b", 100, 9), process("b", 100, 9)}), kNow);
  const Totals some = with(ledger, {process("b", 100, 9)});
  EXPECT_EQ(faults_of(recent(ledger, some, kNow + 30 * kHour, 24, false)), 0U);
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
  take(ledger, "/dir/1.health", process("b", 100, 20));
  observe(ledger, with(ledger, {process("b", 50, 10)}), kNow);
  EXPECT_EQ(faults_of(recent(ledger, with(ledger, {}), kNow + 30 * kHour, 24)), 0U);
  EXPECT_EQ(faults_of(recent(ledger, with(ledger, {process("b", 1, 3)}), kNow + 30 * kHour, 24)),
            3U);
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

TEST(Ledger, OneUserDoesNotTakeAllPlaces) {
  Totals totals;
  health::Snapshot many = process("b", 1, 1);
  const auto row = many.rows.front();
  for (std::size_t i = 0; i < Ledger::kMostPaths + 100; ++i) {
    many.rows.push_back(row);
    many.rows.back().peer = "host" + std::to_string(i);
  }
  add(totals, many, 1001);
  add(totals, process("c", 1, 1), 1002);
  EXPECT_TRUE(totals.trouble.contains({"vtcp", "eth0", "c", false, 1002}));
  health::Snapshot names;
  for (std::size_t i = 0; i < 5000; ++i) {
    names.rows.push_back(row);
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
  health::Snapshot many = process("b", 1, 1);
  const auto row = many.rows.front();
  for (std::size_t i = 0; i < Ledger::kMostPaths + 100; ++i) {
    many.rows.push_back(row);
    many.rows.back().peer = "host" + std::to_string(i);
  }
  const Totals totals = with(ledger, {many});
  EXPECT_LE(totals.trouble.size(), Ledger::kMostPaths + 1);
  EXPECT_EQ(faults_of(recent(ledger, totals, kNow, 0)), Ledger::kMostPaths + 101);
}

TEST(Ledger, OwnHostIsTold) {
  const Ledger ledger;
  const auto paths = recent(ledger, with(ledger, {process("me", 1, 1)}), kNow, 0);
  ASSERT_EQ(paths.size(), 1U);
  EXPECT_EQ(paths.begin()->first.peer, health::kThisHost);
}

TEST(Ledger, SurvivesItsFile) {
  Ledger ledger;
  take(ledger, "/dir/1.health", process("b\"\\\n\xff", 100, 3));
  observe(ledger, with(ledger, {process("c", 5, 1)}), kNow);
  Ledger again;
  ASSERT_EQ(from_json(to_json(ledger), &again), "");
  EXPECT_EQ(again.taken, ledger.taken);
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

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

std::size_t series_of(const std::string& text) {
  std::size_t series = 0;
  for (std::size_t at = 0; (at = text.find("\nucx_verity_", at)) != std::string::npos; ++at)
    ++series;
  return series;
}

TEST(Exposition, CountersWithHelpAndType) {
  Exposition exposition{.totals = with({}, {process("b", 100, 2)}), .now_seconds = kNow};
  const std::string text = render_exposition(exposition);
  EXPECT_TRUE(
      has_line(text, "ucx_verity_bytes_verified_total{transport=\"vtcp\",device=\"eth0\"} 100"));
  EXPECT_TRUE(
      has_line(text, "ucx_verity_faults_payload_total{transport=\"vtcp\",device=\"eth0\"} 2"));
  EXPECT_TRUE(has_line(text, "ucx_verity_export_timestamp_seconds 3600000"));
  EXPECT_TRUE(has_line(text, "ucx_verity_check_status 0"));
  EXPECT_TRUE(has_line(text, "# TYPE ucx_verity_faults_payload_total counter"));
  EXPECT_EQ(text.find("acks_sent"), std::string::npos) << "nothing to say";
  EXPECT_EQ(text.find("peer=\""), std::string::npos) << "no host is named unless asked for";
}

TEST(Exposition, HostsByNameOnlyWhenAskedFor) {
  Exposition exposition;
  exposition.recent = {{{"vtcp", "eth0", "b"}, {9, 2, 1, 0}},
                       {{"vtcp", "eth0", "c"}, {9, 0, 0, 0}},
                       {{"vposix", "memory", "."}, {9, 5, 0, 0}}};
  EXPECT_TRUE(has_line(render_exposition(exposition), "ucx_verity_peer_hosts 2"));
  EXPECT_TRUE(has_line(render_exposition(exposition),
                       "ucx_verity_peer_hosts_with_faults{direction=\"in\"} 1"));
  exposition.peers = true;
  EXPECT_TRUE(has_line(render_exposition(exposition),
                       "ucx_verity_peer_faults{device=\"eth0\",peer=\"b\",direction=\"in\"} 2"));
  EXPECT_EQ(render_exposition(exposition).find("peer=\"c\""), std::string::npos)
      << "only those with faults";
}

// Prometheus sees no increase in a series that begins with another value than zero.
TEST(Exposition, WhatRulesWatchBeginsWithZero) {
  Exposition exposition{
      .totals = with({}, {process("b", 100, 0)}), .version = "1", .ucx_version = "1"};
  exposition.totals.paths[{"vself", "memory", {}}] = {};  // opened, never used
  exposition.totals.paths[{}].types_checked = 7;          // of no interface
  const std::string text = render_exposition(exposition);
  for (const char* name : {"faults_payload", "faults_observed", "read_bytes_verified",
                           "links_failed", "source_changed"}) {
    EXPECT_TRUE(has_line(
        text, "ucx_verity_" + std::string(name) + "_total{transport=\"vtcp\",device=\"eth0\"} 0"))
        << name;
  }
  EXPECT_EQ(text.find("vself"), std::string::npos);
  EXPECT_TRUE(has_line(text, "ucx_verity_types_checked_total 7"));
  EXPECT_EQ(text.find("=\"\""), std::string::npos) << "no empty label";
  EXPECT_LT(series_of(text), 35U);
}

TEST(Exposition, SeriesOfAHostAreBounded) {
  Exposition exposition;
  for (int i = 0; i < 1000; ++i) {
    health::Counters& counters =
        exposition.totals.paths[{"vtcp", "made-up-" + std::to_string(i), {}}];
    for (const auto& info : health::kCounterInfo) counters.*info.field = 1;
    exposition.recent[{"vtcp", "made-up", "host" + std::to_string(i)}] = {9, 2, 1, 0};
  }
  EXPECT_LT(series_of(render_exposition(exposition)), kMostSeriesOfHost);
}

TEST(Exposition, JobsWithFaultsOnlyWhenAskedForAndBounded) {
  Exposition exposition;
  EXPECT_EQ(render_exposition(exposition).find("job"), std::string::npos);
  exposition.jobs["good"].bytes_verified = 1;
  for (int i = 1; i <= 100; ++i)
    exposition.jobs["j" + std::to_string(i)].faults_payload = static_cast<std::uint64_t>(i);
  const std::string text = render_exposition(exposition);
  EXPECT_TRUE(has_line(text, "ucx_verity_job_faults{job=\"j100\"} 100"));
  EXPECT_EQ(text.find("job=\"good\""), std::string::npos);
  std::size_t series = 0;
  for (std::size_t at = 0; (at = text.find("\nucx_verity_job_faults{", at)) != std::string::npos;
       ++at)
    ++series;
  EXPECT_EQ(series, kMostJobSeries);
}

TEST(Exposition, SeriesAreBounded) {
  Exposition exposition;
  for (int i = 0; i < 1000; ++i)
    exposition.totals.paths[{"vtcp", "made-up-" + std::to_string(i), {}}].bytes_verified = 1;
  const std::string text = render_exposition(exposition);
  std::size_t series = 0;
  for (std::size_t at = 0;
       (at = text.find("\nucx_verity_bytes_verified_total{", at)) != std::string::npos; ++at)
    ++series;
  EXPECT_EQ(series, kMostSeries + 1);
  EXPECT_TRUE(
      has_line(text, "ucx_verity_bytes_verified_total{transport=\"other\",device=\"other\"} " +
                         std::to_string(1000 - kMostSeries)));
}

// Others that become busier take no series away: that would look like faults of today.
TEST(Exposition, PathKeepsItsSeries) {
  Exposition exposition;
  auto& paths = exposition.totals.paths;
  paths[{"vtcp", "eth0", {}}].bytes_verified = 1;
  choose_shown(exposition.shown, paths);
  for (int i = 0; i < 20; ++i)
    paths[{"vrc_mlx5", "mlx5_" + std::to_string(i), {}}].bytes_verified = 1000;
  Ledger ledger, again;
  ledger.shown = exposition.shown;
  ASSERT_EQ(from_json(to_json(ledger), &again), "");
  exposition.shown = again.shown;
  choose_shown(exposition.shown, paths);
  EXPECT_EQ(exposition.shown.size(), kMostSeries);
  const std::string line = "ucx_verity_bytes_verified_total{transport=\"vtcp\",device=\"eth0\"} 1";
  EXPECT_TRUE(has_line(render_exposition(exposition), line));
  choose_shown(exposition.shown, {}, false);
  EXPECT_EQ(exposition.shown.size(), kMostSeries);
  choose_shown(exposition.shown, {});
  EXPECT_TRUE(exposition.shown.empty());
}

// Real and injected ones of a path have the same labels: two series of that name would be refused.
TEST(Exposition, InjectedFaultsShareTheSeries) {
  Exposition exposition;
  exposition.totals.paths[{"vtcp", "eth0", {}}].faults_payload = 2;
  exposition.totals.paths[{"vtcp", "eth0", {}, true}].faults_payload = 3;
  EXPECT_TRUE(has_line(render_exposition(exposition),
                       "ucx_verity_faults_payload_total{transport=\"vtcp\",device=\"eth0\"} 5"));
}

TEST(Exposition, TimesAreSeconds) {
  Exposition exposition;
  exposition.totals.paths[{"vtcp", "eth0", {}}].timed_ns = 1'000'000'020;
  exposition.totals.paths[{"vposix", "memory", {}}].timed_ns = 5;
  const std::string text = render_exposition(exposition);
  EXPECT_TRUE(has_line(
      text, "ucx_verity_timed_seconds_total{transport=\"vtcp\",device=\"eth0\"} 1.000000020"));
  EXPECT_TRUE(has_line(
      text, "ucx_verity_timed_seconds_total{transport=\"vposix\",device=\"memory\"} 0.000000005"));
}

TEST(Exposition, LabelsAreEscaped) { EXPECT_EQ(label_value("a\"b\\c\nd"), "a\\\"b\\\\c\\nd"); }

}  // namespace
}  // namespace verity::tools
