// SPDX-License-Identifier: BSD-3-Clause
// Fleets that never were, with one thing broken in each: who is suspected.
#include <gtest/gtest.h>

#include <algorithm>

#include "blame/suspects.h"
#include "sim/rng.h"
#include "tools/report/render.h"

namespace verity::blame {
namespace {

std::string host(unsigned i) { return "n" + std::to_string(i); }

class Fleet : public ::testing::Test {
 protected:
  void everybody_reports(unsigned hosts) {
    for (unsigned i = 0; i < hosts; ++i) builder.add_process(host(i), 1'000'000, false);
  }
  void fault(const std::string& from, const std::string& to,
             const std::string& transport = "vrc_verbs", const std::string& device = "mlx5_0",
             health::FaultKind kind = health::FaultKind::kPayload) {
    builder.add(
        {.host = to, .peer_host = from, .transport = transport, .device = device, .kind = kind});
  }
  std::vector<Suspect> suspects() { return rank(builder.build()); }

  EvidenceBuilder builder;
};

TEST_F(Fleet, CleanHasNoSuspect) {
  everybody_reports(8);
  EXPECT_TRUE(suspects().empty());
  EXPECT_EQ(builder.build().faults, 0u);
}

TEST_F(Fleet, NobodyAtAll) { EXPECT_TRUE(suspects().empty()); }

TEST_F(Fleet, OneBadLink) {
  everybody_reports(8);
  for (unsigned i = 0; i < 40; ++i) fault("n2", "n5");
  const auto list = suspects();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].what, (Explanation{Part::kLink, Role::kBoth, "n2", "n5", "vrc_verbs/mlx5_0"}));
  EXPECT_EQ(list[0].confidence, Confidence::kStrong);
  EXPECT_EQ(list[0].tally.faults, 40u);
  EXPECT_TRUE(list[0].or_else.empty());
}

TEST_F(Fleet, OneBadCable) {
  everybody_reports(8);
  for (unsigned i = 0; i < 40; ++i) i % 2 == 0 ? fault("n2", "n5") : fault("n5", "n2");
  EXPECT_EQ(suspects().at(0).what,
            (Explanation{Part::kPair, Role::kBoth, "n2", "n5", "vrc_verbs/mlx5_0"}));
}

// The device is distinguished from its host because there are others.
TEST_F(Fleet, OneBadAdapterSending) {
  everybody_reports(8);
  for (unsigned i = 0; i < 70; ++i) fault("n3", host(i % 8 == 3 ? 4 : i % 8));
  fault("n1", "n2", "vrc_verbs", "mlx5_1");
  const auto list = suspects();
  EXPECT_EQ(list.at(0).what,
            (Explanation{Part::kDevice, Role::kSends, "n3", "", "vrc_verbs/mlx5_0"}));
  EXPECT_EQ(list[0].confidence, Confidence::kStrong);
  EXPECT_EQ(list[0].others, 7u);
  EXPECT_EQ(list.at(1).what.part, Part::kLink);
  EXPECT_EQ(list[1].confidence, Confidence::kWeak);
}

TEST_F(Fleet, OneBadAdapterReceiving) {
  everybody_reports(8);
  for (unsigned i = 0; i < 70; ++i) fault(host(i % 8 == 3 ? 4 : i % 8), "n3");
  EXPECT_EQ(suspects().at(0).what,
            (Explanation{Part::kDevice, Role::kReceives, "n3", "", "vrc_verbs/mlx5_0"}));
}

TEST_F(Fleet, OneBadAdapterBothWays) {
  everybody_reports(8);
  for (unsigned i = 0; i < 80; ++i) {
    const std::string other = host(i % 7 < 3 ? i % 7 : i % 7 + 1);
    i / 7 % 2 == 0 ? fault("n3", other) : fault(other, "n3");
  }
  EXPECT_EQ(suspects().at(0).what,
            (Explanation{Part::kDevice, Role::kBoth, "n3", "", "vrc_verbs/mlx5_0"}));
}

// Faults over each of its devices and within it.
TEST_F(Fleet, OneHostsMemory) {
  everybody_reports(8);
  for (unsigned i = 0; i < 90; ++i) {
    const std::string other = host(i % 7 < 3 ? i % 7 : i % 7 + 1);
    switch (i % 4) {
      case 0: fault("n3", other); break;
      case 1: fault("n3", other, "vrc_verbs", "mlx5_1"); break;
      case 2: fault(other, "n3", i % 8 < 4 ? "vrc_verbs" : "vtcp", "mlx5_1"); break;
      default: fault("n3", "n3", "vposix", "memory");
    }
  }
  EXPECT_EQ(suspects().at(0).what, (Explanation{Part::kHost, Role::kBoth, "n3", "", ""}));
}

// Most faults over one device, some between the host's own processes: no adapter did those.
TEST_F(Fleet, OneHostsMemoryWithOneDevice) {
  everybody_reports(4);
  for (unsigned i = 0; i < 40; ++i) fault(host(i % 3 < 1 ? 0 : i % 3 + 1), "n1", "vtcp", "eth0");
  for (unsigned i = 0; i < 12; ++i) fault("n1", "n1", "vposix", "memory");
  const auto list = suspects();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].what, (Explanation{Part::kHost, Role::kReceives, "n1", "", ""}));
  EXPECT_EQ(list[0].tally.faults, 52u);
  EXPECT_EQ(list[0].in_memory, 12u);
  EXPECT_EQ(list[0].others, 3u);
  EXPECT_NE(tools::hint(list[0]).find("test the DIMMs"), std::string::npos);
}

// As `check` has it: one fault in memory is enough, where its host is suspected anyway.
TEST_F(Fleet, OneFaultInMemoryExplainsThoseOfTheDevice) {
  everybody_reports(8);
  for (unsigned i = 0; i < 70; ++i) fault("n3", host(i % 8 == 3 ? 4 : i % 8));
  fault("n3", "n3", "vposix", "memory");
  const auto list = suspects();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].what, (Explanation{Part::kHost, Role::kSends, "n3", "", ""}));
  EXPECT_EQ(list[0].in_memory, 1u);
}

TEST_F(Fleet, UnknownPeersAreNoOtherHost) {
  everybody_reports(4);
  for (unsigned i = 0; i < 30; ++i) fault(i % 3 == 0 ? "" : host(i % 3 + 1), "n1");
  for (const Suspect& s : suspects()) EXPECT_LE(s.others, 2u) << describe(s.what);
}

// The loopback of an adapter passes the adapter.
TEST_F(Fleet, OneAdapterWithItsLoopback) {
  everybody_reports(4);
  for (unsigned i = 0; i < 40; ++i) fault(host(i % 3 < 1 ? 0 : i % 3 + 1), "n1");
  for (unsigned i = 0; i < 12; ++i) fault("n1", "n1");
  EXPECT_EQ(suspects().at(0).what.part, Part::kDevice);
}

TEST_F(Fleet, WithinAHostThereIsNoOtherHost) {
  everybody_reports(4);
  for (unsigned i = 0; i < 12; ++i) fault("n1", "n1", "vposix", "memory");
  EXPECT_EQ(suspects().at(0).others, 0u);
}

TEST_F(Fleet, OneHostsMemoryByItsOwnWord) {
  everybody_reports(8);
  for (unsigned i = 0; i < 5; ++i) {
    builder.add({.host = "n3",
                 .peer_host = host(i + 4),
                 .transport = "vtcp",
                 .device = "eth0",
                 .sent = true,
                 .kind = health::FaultKind::kSourceMemory});
  }
  const auto list = suspects();
  EXPECT_EQ(list.at(0).what.device, kMemory);
  EXPECT_EQ(list[0].what.host, "n3");
}

TEST_F(Fleet, TwoFaultsAtATime) {
  everybody_reports(10);
  for (unsigned i = 0; i < 60; ++i) fault("n2", "n5");
  for (unsigned i = 0; i < 90; ++i) fault("n7", host(i % 7));
  const auto list = suspects();
  ASSERT_EQ(list.size(), 2u);
  std::set<Explanation> found{list[0].what, list[1].what};
  EXPECT_TRUE(found.contains({Part::kLink, Role::kBoth, "n2", "n5", "vrc_verbs/mlx5_0"}));
  EXPECT_TRUE(found.contains({Part::kDevice, Role::kSends, "n7", "", "vrc_verbs/mlx5_0"}));
  EXPECT_EQ(list[0].tally.faults + list[1].tally.faults, 150u);
}

// Now and then a stray fault anywhere.
TEST_F(Fleet, GuiltyAmongNoise) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    builder = {};
    everybody_reports(16);
    sim::Rng rng(seed << 20);
    const unsigned guilty = static_cast<unsigned>(rng.below(16));
    for (unsigned i = 0; i < 60; ++i) {
      const auto other = static_cast<unsigned>(rng.below(15));
      fault(host(guilty), host(other < guilty ? other : other + 1));
    }
    for (unsigned i = 0; i < 15; ++i) {
      const auto from = static_cast<unsigned>(rng.below(16));
      fault(host(from), host((from + 1 + static_cast<unsigned>(rng.below(15))) % 16));
    }
    const auto list = suspects();
    EXPECT_EQ(list.at(0).what,
              (Explanation{Part::kDevice, Role::kSends, host(guilty), "", "vrc_verbs/mlx5_0"}))
        << seed;
    for (std::size_t i = 1; i < list.size(); ++i)
      EXPECT_NE(list[i].confidence, Confidence::kStrong) << seed;
  }
}

// Two hosts alone do not show more.
TEST_F(Fleet, TwoHostsCannotTellALinkFromItsEnds) {
  everybody_reports(2);
  for (unsigned i = 0; i < 40; ++i) fault("n0", "n1", "vtcp", "eth0");
  const auto list = suspects();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].what.part, Part::kLink);
  EXPECT_TRUE(std::count(list[0].or_else.begin(), list[0].or_else.end(),
                         Explanation{Part::kDevice, Role::kSends, "n0", "", "vtcp/eth0"}));
  EXPECT_TRUE(std::count(list[0].or_else.begin(), list[0].or_else.end(),
                         Explanation{Part::kDevice, Role::kReceives, "n1", "", "vtcp/eth0"}));
}

// Equally likely, but of other faults: that is no other explanation of these.
TEST_F(Fleet, TwoStrayFaultsAreTwoSuspects) {
  everybody_reports(50);
  fault("n2", "n5");
  fault("n7", "n9");
  const auto list = suspects();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_TRUE(list[0].or_else.empty());
}

TEST_F(Fleet, OneFaultAloneIsWeakEvidence) {
  everybody_reports(100);
  fault("n2", "n5");
  EXPECT_EQ(suspects().at(0).confidence, Confidence::kWeak);
}

TEST_F(Fleet, ProgramsAndDoubtfulReadsMakeNoSuspect) {
  everybody_reports(4);
  for (unsigned i = 0; i < 50; ++i) {
    fault("n1", "n2", "vtcp", "eth0", health::FaultKind::kSourceChanged);
    fault("n1", "n2", "vtcp", "eth0", health::FaultKind::kAmbiguous);
    builder.add_type_mismatch();
  }
  EXPECT_TRUE(suspects().empty());
  const Evidence evidence = builder.build();
  EXPECT_EQ(evidence.source_changed, 50u);
  EXPECT_EQ(evidence.ambiguous, 50u);
  EXPECT_EQ(evidence.type_mismatches, 50u);
  EXPECT_EQ(evidence.hosts.at("n2").source_changed, 50u);
}

// A host whose line does not name the peer is found by the interface that another line names.
TEST_F(Fleet, PeersAreFoundByTheirInterfaces) {
  everybody_reports(4);
  for (unsigned i = 0; i < 20; ++i) {
    builder.add(
        {.host = "n1", .transport = "vtcp", .device = "eth0", .interface = "b", .peer = "a"});
  }
  EXPECT_EQ(builder.build().ways.begin()->first.sender, "");
  builder.add({.host = "n0",
               .transport = "vtcp",
               .device = "eth0",
               .interface = "a",
               .peer = "x",
               .kind = health::FaultKind::kSourceChanged});
  const auto list = suspects();
  EXPECT_EQ(list.at(0).what, (Explanation{Part::kLink, Role::kBoth, "n0", "n1", "vtcp/eth0"}));
}

TEST_F(Fleet, PeersMayKnowAHostByItsFirstName) {
  builder.add_process("n0.example.org", 1000, false);
  builder.add_process("n1.example.org", 1000, true);
  builder.add_process("n2.example.org", 1000, false);
  builder.add_process("n2.example.com", 1000, false);
  fault("n0", "n1.example.org");
  fault("n2", "n1.example.org");
  const Evidence evidence = builder.build();
  EXPECT_TRUE(evidence.ways.contains({"n0.example.org", "n1.example.org", "vrc_verbs/mlx5_0"}));
  EXPECT_TRUE(evidence.ways.contains({"n2", "n1.example.org", "vrc_verbs/mlx5_0"}))
      << "which of them is unknown";
}

TEST_F(Fleet, AReceiverWithMostOfTheTrafficIsNotBlamedForIt) {
  for (unsigned i = 0; i < 10; ++i)
    builder.add_process(host(i), i == 0 ? 100'000'000 : 1'000'000, true);
  for (unsigned i = 0; i < 30; ++i) fault(host(i % 9 + 1), "n0");
  fault("n1", "n2");
  fault("n3", "n4");
  fault("n5", "n6");
  for (const Suspect& s : suspects())
    EXPECT_NE(s.confidence, Confidence::kStrong) << describe(s.what);
}

TEST_F(Fleet, NoMoreNamesThanFit) {
  for (unsigned i = 0; i < EvidenceBuilder::kMostWays + 100; ++i) fault(host(i), "n0");
  const Evidence evidence = builder.build();
  EXPECT_EQ(evidence.ways.size(), EvidenceBuilder::kMostWays);
  EXPECT_EQ(evidence.beyond, 100u);
}

}  // namespace
}  // namespace verity::blame
