// SPDX-License-Identifier: BSD-3-Clause
#include "tools/export/exposition.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "totals.h"

namespace verity::tools {
namespace {

constexpr std::uint64_t kNow = 3'600'000;

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

// So does a path that has faults when it is first seen: its true values come a minute later.
TEST(Exposition, NewSeriesAreZeroForAMinute) {
  Exposition exposition{.totals = with({}, {process("b", 100, 2)})};
  const health::PathKey key{"vtcp", "eth0", {}};
  choose_shown(exposition.shown, exposition.totals.paths);
  EXPECT_EQ(series_names(exposition.totals.paths, exposition.shown), std::set{key});
  Ledger ledger, again;
  ledger.begun[key] = 0;
  const auto faults_at = [&](std::uint64_t now) {
    exposition.zeros = zeros_of(ledger.begun, now);
    EXPECT_EQ(from_json(to_json(ledger), &again), "");
    EXPECT_EQ(again.begun, ledger.begun);
    const std::string text = render_exposition(exposition);
    const std::string line = "ucx_verity_faults_payload_total{transport=\"vtcp\",device=\"eth0\"} ";
    return has_line(text, line + "0") ? 0 : has_line(text, line + "2") ? 2 : -1;
  };
  EXPECT_EQ(faults_at(kNow), 0);
  EXPECT_EQ(faults_at(kNow + 1), 0) << "two runs at once";
  EXPECT_EQ(faults_at(kNow + kZeroSeconds - 1), 0);
  EXPECT_EQ(faults_at(kNow + kZeroSeconds), 2);
  EXPECT_EQ(faults_at(kNow + kZeroSeconds + 1), 2);
  ledger.begun[key] = kNow + 1000;
  EXPECT_EQ(faults_at(kNow), 2) << "the clock was set back";
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

// As many transports and devices as jobs of such a host use.
TEST(Exposition, AHostWithEightAdaptersHasASeriesForEachPath) {
  Exposition exposition;
  auto& paths = exposition.totals.paths;
  for (const char* transport : {"vrc_mlx5", "vdc_mlx5", "vud_mlx5", "vtcp"}) {
    for (int i = 0; i < 8; ++i)
      paths[{transport, "device" + std::to_string(i), {}}].bytes_verified = 1;
  }
  for (const char* device : {"eth0", "eth1", "lo"}) paths[{"vtcp", device, {}}].bytes_verified = 1;
  for (const char* transport : {"vposix", "vsysv", "vcma", "vxpmem", "vself"})
    paths[{transport, "memory", {}}].bytes_verified = 1;
  EXPECT_EQ(render_exposition(exposition).find("other"), std::string::npos);
}

// Others that become busier take no series away: that would look like faults of today.
TEST(Exposition, PathKeepsItsSeries) {
  Exposition exposition;
  auto& paths = exposition.totals.paths;
  paths[{"vtcp", "eth0", {}}].bytes_verified = 1;
  choose_shown(exposition.shown, paths);
  for (std::size_t i = 0; i <= kMostSeries; ++i)
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
