// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/health/status_text.h"
#include "tools/health/top_view.h"

namespace verity::tools {
namespace {

using health::Life;
using health::SnapshotRow;

SnapshotRow row(std::uint32_t kind, const char* transport, const char* device, const char* peer,
                std::uint64_t frames, std::uint64_t bytes) {
  SnapshotRow row;
  row.kind = kind;
  row.open = true;
  row.transport = transport;
  row.device = device;
  row.peer = peer;
  row.counters.frames_verified = frames;
  row.counters.bytes_verified = bytes;
  row.counters.links_opened = bytes != 0;
  return row;
}

FoundProcess process(std::uint64_t pid, const char* rank, std::vector<SnapshotRow> rows) {
  FoundProcess p;
  p.folder = "/f";
  p.file.name = std::to_string(pid) + ".health";
  p.file.snapshot.pid = pid;
  p.file.snapshot.host = "node17";
  p.file.snapshot.rank = rank;
  p.file.snapshot.program = "ocean";
  p.file.snapshot.rows = std::move(rows);
  p.view = health::view_of(p.file.snapshot);
  return p;
}

Found two_processes() {
  Found found;
  found.folders = {"/f"};
  found.processes.push_back(
      process(100, "0",
              {row(UCX_VERITY_HEALTH_PROCESS, "", "", "", 0, 0),
               row(UCX_VERITY_HEALTH_INTERFACE, "vtcp", "eth0", "", 1, 1024),
               row(UCX_VERITY_HEALTH_PEER, "vtcp", "eth0", "node18", 2, 2048),
               row(UCX_VERITY_HEALTH_PEER, "vtcp", "eth0", "node18", 4, 4096),
               row(UCX_VERITY_HEALTH_OTHERS, "vtcp", "eth0", "", 8, 8192),
               row(UCX_VERITY_HEALTH_PEER, "vud_verbs", "mlx5_0:1", "node18", 16, 16384)}));
  found.processes.push_back(
      process(200, "1", {row(UCX_VERITY_HEALTH_PEER, "vtcp", "eth0", "node19", 32, 32768)}));
  found.processes[1].file.life = Life::kKilled;
  health::ProcessView& view = found.processes[0].view;
  for (health::Counters* c :
       {&view.counters, &view.paths[0].counters, &view.paths[0].peers[0].counters}) {
    c->faults_payload = 6;
    c->faults_header = 1;
    c->faults_repaired = 6;
    c->segments_repaired = 20;
  }
  return found;
}

std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t most = 0;
  for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
  return most;
}

TEST(HealthView, RowsOfOneNameAreOnePath) {
  const health::ProcessView view = two_processes().processes[0].view;
  ASSERT_EQ(view.paths.size(), 2u);
  EXPECT_EQ(view.counters.frames_verified, 31u);
  EXPECT_EQ(view.paths[0].name(), "vtcp/eth0");
  EXPECT_EQ(view.paths[0].counters.frames_verified, 15u);
  ASSERT_EQ(view.paths[0].peers.size(), 2u);
  EXPECT_EQ(view.paths[0].peers[0].counters.frames_verified, 6u);
  EXPECT_EQ(view.paths[0].peers[1].host, "");
}

TEST(StatusText, ALineForEachProcessPathAndPeer) {
  const std::string text = render_status(two_processes(), {.paths = true, .peers = true});
  EXPECT_EQ(widest(text), 80u);
  EXPECT_EQ(text,
            "node17: 2 processes, 1 running, 1 killed\n"
            "\n"
            "PROCESS, PATH, PEER       STATE    VERIFIED FAULTS REPAIRED    RESENT   MODE OFF\n"
            "100 r0 ocean              running  31.0 KiB      7        6       0 B        0 B\n"
            "  vtcp/eth0                        15.0 KiB      7        6       0 B        0 B\n"
            "    node18                         6.00 KiB      7        6       0 B        0 B\n"
            "    other hosts                    8.00 KiB      0        0       0 B        0 B\n"
            "  vud_verbs/mlx5_0:1               16.0 KiB      0        0       0 B        0 B\n"
            "    node18                         16.0 KiB      0        0       0 B        0 B\n"
            "200 r1 ocean              killed   32.0 KiB      0        0       0 B        0 B\n"
            "  vtcp/eth0                        32.0 KiB      0        0       0 B        0 B\n"
            "    node19                         32.0 KiB      0        0       0 B        0 B\n");
}

// No message passed the plugin, which is no good news where messages were to be verified.
TEST(StatusText, LoadedButUnused) {
  Found found;
  found.processes.push_back(process(100, "0", {row(UCX_VERITY_HEALTH_PROCESS, "", "", "", 0, 0)}));
  found.processes.push_back(process(200, "1", {row(UCX_VERITY_HEALTH_PROCESS, "", "", "", 0, 0)}));
  found.processes[1].file.life = Life::kKilled;
  const std::string text = render_status(found, {});
  EXPECT_EQ(text.substr(0, text.find('\n')),
            "node17: 2 processes, 1 running, 1 killed, 2 of them loaded but unused");
  EXPECT_NE(text.find("\n100 r0 ocean              unused "), std::string::npos);
  EXPECT_NE(text.find("\n200 r1 ocean              killed "), std::string::npos);
  const auto json = nlohmann::json::parse(status_json(found));
  EXPECT_EQ(json["processes"][0]["unused"], true);
  EXPECT_EQ(json["processes"][0]["state"], "running");
  EXPECT_EQ(nlohmann::json::parse(status_json(two_processes()))["processes"][0]["unused"], false);
}

// What no column says, once below the table.
TEST(StatusText, NotesSayWhatMustNotBeOverlooked) {
  Found found = two_processes();
  EXPECT_EQ(render_status(found, {}).find("mode observe"), std::string::npos);
  found.processes[1].file.snapshot.mode = "observe";
  health::Counters& c = found.processes[1].view.counters;
  c.faults_observed = c.faults_header = 13;
  c.reads_source_changed = 1192;
  c.types_mismatched = 2;
  const std::string text = render_status(found, {.paths = false});
  EXPECT_LE(widest(text), 90u);
  EXPECT_NE(
      text.find(
          "200 r1 ocean              killed   32.0 KiB     13        0       0 B        0 B\n"),
      std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with(
      "\n\n1 process in mode observe, which repairs nothing\n"
      "13 faults were DELIVERED as they came: results may be wrong\n"
      "1,192 times a program changed data that were being sent or read: no machine's fault\n"
      "2 messages or calls with MPI datatypes that do not fit: no machine's fault\n"))
      << text;
}

TEST(StatusText, WhatCannotBeReadIsNamed) {
  Found found;
  EXPECT_EQ(render_status(found, {}), "0 processes\n");
  for (int i = 0; i < 12; ++i) found.problems.push_back({"/f/x.health", "it is a pipe"});
  const std::string text = render_status(found, {});
  EXPECT_NE(text.find("not read: /f/x.health: it is a pipe\n"), std::string::npos);
  EXPECT_NE(text.find("not read: 2 more\n"), std::string::npos);
}

TEST(StatusText, LongNamesAreCutInTheirMiddle) {
  EXPECT_EQ(first_column("short"), "short                    ");
  EXPECT_EQ(first_column("a-very-long-name-of-a-program-12"), "a-very-long-~a-program-12");
  EXPECT_EQ(first_column(std::string(300, 'x')).size(), 25u);
}

TEST(StatusText, TheJsonHasEveryCounter) {
  const auto json = nlohmann::json::parse(status_json(two_processes()));
  EXPECT_EQ(json["schema"], 1);
  ASSERT_EQ(json["processes"].size(), 2u);
  const auto& first = json["processes"][0];
  EXPECT_EQ(first["state"], "running");
  EXPECT_EQ(first["counters"].size(), health::kCounterInfo.size());
  EXPECT_EQ(first["counters"]["frames_verified"], 31);
  EXPECT_EQ(first["paths"][0]["peers"][0]["host"], "node18");
  EXPECT_TRUE(first["paths"][0]["peers"][1]["host"].is_null());
  EXPECT_EQ(json["processes"][1]["state"], "killed");
}

constexpr std::uint64_t kSecond = 1'000'000'000;

TEST(TopView, RatesAreWhatCameSinceTheLastLook) {
  Found found = two_processes();
  TopView view;
  view.update(found, 5 * kSecond);
  for (const TopRow& row : view.rows(GroupBy::kProcess, SortBy::kRate))
    EXPECT_EQ(row.bytes_per_second, 0);
  found.processes[1].view.counters.bytes_verified += 4000;
  found.processes[1].view.counters.frames_verified += 20;
  view.update(found, 7 * kSecond);
  const auto rows = view.rows(GroupBy::kProcess, SortBy::kRate);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "200 r1 ocean");
  EXPECT_EQ(rows[0].bytes_per_second, 2000);
  EXPECT_EQ(rows[0].frames_per_second, 10);
  EXPECT_EQ(rows[1].bytes_per_second, 0);
}

TEST(TopView, AnotherGroupHasItsRatesAtOnce) {
  Found found = two_processes();
  TopView view;
  view.update(found, kSecond);
  for (FoundProcess& p : found.processes) {
    for (health::PathView& path : p.view.paths) path.counters.bytes_verified += 1000;
  }
  view.update(found, 2 * kSecond);
  for (const GroupBy group : {GroupBy::kPath, GroupBy::kDevice})
    EXPECT_GE(view.rows(group, SortBy::kRate)[0].bytes_per_second, 1000);
}

TEST(TopView, TheKeysFitTheTerminal) {
  for (const std::string& line : render_keys()) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_LT(render_keys().size(), 24u);
}

// A process that ended takes its share of a sum along.
TEST(TopView, AShrinkingSumIsNoRate) {
  Found found = two_processes();
  TopView view;
  view.update(found, kSecond);
  found.processes.pop_back();
  view.update(found, 2 * kSecond);
  EXPECT_EQ(view.rows(GroupBy::kPath, SortBy::kName)[0].bytes_per_second, 0);
}

// What processes that end, or are shown from now on, counted long ago changes no rate of others.
TEST(TopView, RatesAreOfProcessesThatAreThereTwice) {
  const Found both = two_processes();
  Found one = two_processes();
  one.processes.pop_back();
  one.processes[0].view.paths[0].counters.bytes_verified += 4000;
  const std::string path = one.processes[0].view.paths[0].name();
  const auto rate = [&](const Found& first, const Found& second) {
    TopView view;
    view.update(first, kSecond);
    view.update(second, 3 * kSecond);
    for (const TopRow& row : view.rows(GroupBy::kPath, SortBy::kName)) {
      if (row.name == path) return row.bytes_per_second;
    }
    return -1.0;
  };
  EXPECT_EQ(rate(both, one), 2000) << "one ended";
  Found again = two_processes();
  again.processes[0].view.paths[0].counters.bytes_verified += 6000;
  EXPECT_EQ(rate(one, again), 1000) << "one appeared";
}

TEST(TopView, SumsByPathDeviceAndPeer) {
  const Found found = two_processes();
  const auto names = [&](GroupBy by, SortBy sort) {
    TopView view;
    view.update(found, kSecond);
    std::string text;
    for (const TopRow& row : view.rows(by, sort))
      text +=
          row.name + " " + std::to_string(row.frames) + " " + std::to_string(row.sum.faults) + ";";
    return text;
  };
  EXPECT_EQ(names(GroupBy::kProcess, SortBy::kVerified), "200 r1 ocean 32 0;100 r0 ocean 31 7;");
  EXPECT_EQ(names(GroupBy::kPath, SortBy::kVerified), "vtcp/eth0 47 7;vud_verbs/mlx5_0:1 16 0;");
  EXPECT_EQ(names(GroupBy::kDevice, SortBy::kName), "eth0 47 7;mlx5_0:1 16 0;");
  EXPECT_EQ(names(GroupBy::kPeer, SortBy::kFaults), "node18 22 7;(other hosts) 8 0;node19 32 0;");
}

TEST(TopView, FitsTheTerminal) {
  Found found = two_processes();
  auto& c = found.processes[0].view.counters;
  for (const health::CounterInfo& info : health::kCounterInfo)
    c.*info.field = ~std::uint64_t{0} / 8;
  TopView view;
  view.update(found, kSecond);
  const auto rows = view.rows(GroupBy::kProcess, SortBy::kVerified);
  TopText text{
      .group = GroupBy::kProcess, .sort = SortBy::kVerified, .clock = "12:34:56", .lines = 0};
  for (const std::string& line : render_top(found, rows, text)) EXPECT_LE(line.size(), 80u) << line;
  text.lines = 4;
  EXPECT_EQ(render_top(found, rows, text).size(), 4u);
  text.lines = 1;
  EXPECT_EQ(render_top(found, rows, text).size(), 3u);
}

TEST(TopView, ShortNumbers) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(99999), "99999");
  EXPECT_EQ(short_number(100000), "100k");
  EXPECT_EQ(short_number(1234567), "1.23M");
  EXPECT_EQ(short_number(999.6e6), "1.00G");
  EXPECT_EQ(short_number(1.8e19), "18.0E");
}

TEST(TopView, Choices) {
  EXPECT_EQ(parse_choice<GroupBy>(kGroupNames, "device"), GroupBy::kDevice);
  EXPECT_EQ(parse_choice<SortBy>(kSortNames, "name"), SortBy::kName);
  EXPECT_FALSE(parse_choice<SortBy>(kSortNames, "colour"));
}

}  // namespace
}  // namespace verity::tools
