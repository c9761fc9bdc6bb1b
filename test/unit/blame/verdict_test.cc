// SPDX-License-Identifier: BSD-3-Clause
#include "blame/verdict.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace verity::blame {
namespace {

using health::FaultsByPath;
using health::kThisHost;

Verdict verdict(const FaultsByPath& paths, const Thresholds& thresholds = {}) {
  return verdict_of(evidence_of(paths), thresholds);
}

// Three hosts a, b, c, each of which talks to the two others and to itself. What one of them sees.
class Fleet {
 public:
  explicit Fleet(std::vector<std::string> hosts) : hosts_(std::move(hosts)) {}

  // Damage on the way from one host to the other: seen there, and heard of here.
  void damage(const std::string& from, const std::string& to, std::uint64_t faults) {
    damages_.push_back({from, to, faults});
  }

  [[nodiscard]] Verdict at(const std::string& host, const Thresholds& thresholds = {}) const {
    FaultsByPath paths;
    for (const std::string& peer : hosts_) {
      health::PathFaults& path = paths[{"vrc_verbs", "mlx5_0:1", peer == host ? kThisHost : peer}];
      path.bytes = 1 << 30;
      for (const Damage& d : damages_) {
        if (d.to == host && d.from == peer) path.in += d.faults;
        if (d.from == host && d.to == peer) path.out += d.faults;
      }
    }
    return verdict(paths, thresholds);
  }

 private:
  struct Damage {
    std::string from, to;
    std::uint64_t faults;
  };
  std::vector<std::string> hosts_;
  std::vector<Damage> damages_;
};

TEST(Verdict, CleanFleet) {
  const Fleet fleet({"a", "b", "c"});
  for (const char* host : {"a", "b", "c"}) {
    EXPECT_EQ(fleet.at(host).level, Level::kOk);
    EXPECT_EQ(fleet.at(host).text, "3.00 GiB checked, in and out, with 2 other hosts, no faults");
  }
}

TEST(Verdict, NothingAtAllIsOk) { EXPECT_EQ(verdict({}).level, Level::kOk); }

TEST(Verdict, HostThatDamagesWhatItSends) {
  Fleet fleet({"a", "b", "c", "d"});
  for (const char* to : {"b", "c", "d"}) fleet.damage("a", to, 5);
  EXPECT_EQ(fleet.at("a").level, Level::kCritical);
  EXPECT_EQ(fleet.at("a").suspect, "device mlx5_0:1");
  EXPECT_EQ(fleet.at("a").text, "15 faults (0 in, 15 out) with 3 of 3 hosts: device mlx5_0:1");
  for (const char* host : {"b", "c", "d"}) {
    EXPECT_EQ(fleet.at(host).level, Level::kWarning) << host;
    EXPECT_EQ(fleet.at(host).suspect, "host a, or the link to it") << host;
  }
}

TEST(Verdict, HostThatDamagesWhatItReceives) {
  Fleet fleet({"a", "b", "c", "d"});
  for (const char* from : {"b", "c", "d"}) fleet.damage(from, "a", 1);
  EXPECT_EQ(fleet.at("a").level, Level::kCritical);
  for (const char* host : {"b", "c", "d"}) EXPECT_EQ(fleet.at(host).level, Level::kWarning) << host;
}

TEST(Verdict, OneLinkIsNobodysOwn) {
  Fleet fleet({"a", "b", "c", "d"});
  fleet.damage("a", "b", 1000);
  EXPECT_EQ(fleet.at("a").level, Level::kWarning);
  EXPECT_EQ(fleet.at("a").suspect, "host b, or the link to it");
  EXPECT_EQ(fleet.at("b").level, Level::kWarning);
  EXPECT_EQ(fleet.at("c").level, Level::kOk);
}

TEST(Verdict, TwoHostsCannotBeToldApart) {
  Fleet fleet({"a", "b"});
  fleet.damage("a", "b", 1000);
  for (const char* host : {"a", "b"}) EXPECT_EQ(fleet.at(host).level, Level::kWarning);
  EXPECT_NE(fleet.at("a").suspect.find("no other host to compare"), std::string::npos);
}

TEST(Verdict, ManyPeersOfWhichFewHaveTrouble) {
  std::vector<std::string> hosts = {"a"};
  for (int i = 0; i < 10; ++i) hosts.push_back("n" + std::to_string(i));
  Fleet fleet(hosts);
  for (int i = 0; i < 4; ++i) fleet.damage("n" + std::to_string(i), "a", 10);
  EXPECT_EQ(fleet.at("a").level, Level::kWarning);
  fleet.damage("n4", "a", 10);
  EXPECT_EQ(fleet.at("a").level, Level::kCritical);
}

// A host that goes bad after a day of jobs: what counts is with whom it exchanged data since.
TEST(Verdict, PeersOfTheHoursWithFaultsDecide) {
  const auto level = [](int troubled, int clean, int before) {
    FaultsByPath paths;
    for (int i = 0; i < troubled + clean + before; ++i) {
      health::PathFaults& path = paths[{"vrc_verbs", "mlx5_0:1", "n" + std::to_string(i)}];
      path.bytes = 1 << 20;
      path.in = i < troubled;
      path.compared = i < troubled + clean ? path.bytes : 0;
    }
    return verdict(paths);
  };
  EXPECT_EQ(level(63, 0, 600).level, Level::kCritical);
  EXPECT_EQ(level(63, 0, 600).text,
            "63 faults (63 in, 0 out) with 63 of 63 hosts of that time: device mlx5_0:1");
  EXPECT_EQ(level(63, 6, 600).level, Level::kCritical);
  EXPECT_EQ(level(63, 8, 600).level, Level::kWarning) << "those behind one switch, perhaps";
  EXPECT_EQ(level(3, 0, 600).level, Level::kWarning) << "too few to tell";
  EXPECT_EQ(level(63, 0, 63).text,
            "63 faults (63 in, 0 out) with 63 of 126 hosts: device mlx5_0:1");
}

TEST(Verdict, DamageWithinTheHostIsItsOwn) {
  Fleet fleet({"a", "b", "c"});
  fleet.damage("a", "a", 2);  // 2 in and 2 out: its sender and its receiver report the same
  EXPECT_EQ(fleet.at("a").level, Level::kWarning);
  EXPECT_EQ(fleet.at("a").text, "2 faults (2 within this host): this host");
  fleet.damage("a", "a", 1);
  fleet.damage("b", "a", 4);
  EXPECT_EQ(fleet.at("a").text,
            "7 faults (4 in, 0 out, 3 within this host) with 1 of 2 hosts: device mlx5_0:1");
  EXPECT_EQ(fleet.at("a").level, Level::kCritical);
  EXPECT_EQ(verdict({{{"vtcp", "lo", kThisHost}, {100, 0, 3, 0}}}).level, Level::kCritical)
      << "the receiver's file is not there";
  // Two damaged frames, of eight segments each.
  EXPECT_EQ(verdict({{{"vtcp", "lo", kThisHost}, {100, 2, 16, 0}}}).text,
            "2 faults (2 within this host): memory or processor of this host");
  EXPECT_EQ(verdict({{{"vtcp", "lo", kThisHost, false, 1001}, {100, 2, 16, 0}},
                     {{"vtcp", "lo", kThisHost, false, 1002}, {100, 0, 3, 0}}})
                .text,
            "5 faults (5 within this host): memory or processor of this host");
  EXPECT_EQ(verdict({{{"vtcp", "eth0", "b"}, {100, 0, 0, 3}}}).level, Level::kCritical)
      << "memory that no wire touched";
}

// A bad DIMM damages what comes over the adapter and what processes of the host exchange; the
// adapter could not do the latter.
TEST(Verdict, DamageInSharedMemoryIsNoAdapters) {
  const FaultsByPath adapter = {{{"vtcp", "eth0", "b"}, {100, 90, 0, 0}},
                                {{"vtcp", "eth0", "c"}, {100, 60, 0, 0}}};
  EXPECT_EQ(verdict(adapter).suspect, "device eth0");
  for (const char* device : {"memory", "memory0", "lo"}) {
    FaultsByPath paths = adapter;
    paths[{"vposix", device, kThisHost}] = {100, 5, 5, 0};
    EXPECT_EQ(verdict(paths).text,
              "155 faults (150 in, 0 out, 5 within this host) with 2 of 2 hosts: memory or "
              "processor of this host");
  }
  FaultsByPath copy = adapter;
  copy.begin()->second.memory = 1;
  EXPECT_EQ(verdict(copy).suspect, "memory or processor of this host");
}

TEST(Verdict, AnUnnamedDeviceMayBeAnAdapter) {
  EXPECT_EQ(verdict({{{"vrc_verbs", "", kThisHost}, {100, 5, 5, 0}}}).suspect, "this host");
  const FaultsByPath remote = {{{"vtcp", "", "b"}, {100, 5, 0, 0}},
                               {{"vtcp", "", "c"}, {100, 5, 0, 0}}};
  EXPECT_EQ(verdict(remote).suspect, "this host") << "a transport is no device";
}

// The receiver counts on its own device, which need not be the sender's.
TEST(Verdict, FaultsWithinTheHostCountOnceWhateverTheDevices) {
  const FaultsByPath paths = {{{"vrc_verbs", "mlx5_0:1", kThisHost}, {100, 0, 3, 0}},
                              {{"vrc_verbs", "mlx5_1:1", kThisHost}, {100, 3, 0, 0}}};
  const Evidence evidence = evidence_of(paths);
  ASSERT_EQ(evidence.ways.size(), 1U);
  EXPECT_EQ(evidence.ways.begin()->first.device, "vrc_verbs/mlx5_1:1");
  EXPECT_EQ(evidence.faults, 3U);
}

TEST(Verdict, OthersDamageDoesNotMakeOnesOwnWorse) {
  const FaultsByPath paths = {{{"vtcp", "eth0", "b"}, {100, 1000, 0, 0}},
                              {{"vtcp", "eth0", "c"}, {100, 0, 0, 1}}};
  EXPECT_EQ(verdict(paths).level, Level::kWarning);
}

TEST(Verdict, Thresholds) {
  Fleet fleet({"a", "b", "c"});
  fleet.damage("b", "a", 2);
  fleet.damage("c", "a", 2);
  EXPECT_EQ(fleet.at("a", {.warning = 5}).level, Level::kOk);
  EXPECT_EQ(fleet.at("a", {.warning = 5}).text,
            "3.00 GiB checked, in and out, with 2 other hosts, 4 faults");
  EXPECT_EQ(fleet.at("a", {.critical = 5}).level, Level::kWarning);
  EXPECT_EQ(fleet.at("a", {.critical = 4}).level, Level::kCritical);
  EXPECT_EQ(fleet.at("a", {.warning = 0}).level, Level::kCritical);
  EXPECT_EQ(Fleet({"a", "b", "c"}).at("a", {.warning = 0}).level, Level::kOk);
}

TEST(Verdict, UnknownPeersBlameNobody) {
  const Verdict unknown = verdict({{{"vtcp", "eth0", ""}, {100, 9, 0, 0}}});
  EXPECT_EQ(unknown.level, Level::kWarning);
  EXPECT_EQ(unknown.text, "9 faults (9 in, 0 out): peer unknown");
}

TEST(Verdict, TextIsOneLineWhateverTheNames) {
  FaultsByPath paths;
  for (int i = 0; i < 1000; ++i)
    paths[{"vtcp", "eth0", std::string(40, 'x') + std::to_string(i)}] = {100, i < 300 ? 1U : 0U, 0,
                                                                         0};
  const std::string text = verdict(paths).text;
  EXPECT_LT(text.size(), 160U);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 0);
}

}  // namespace
}  // namespace verity::blame
