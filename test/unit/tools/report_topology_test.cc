// SPDX-License-Identifier: BSD-3-Clause
#include "tools/report/topology.h"

#include <gtest/gtest.h>

#include "tools/report/render.h"

namespace verity::tools {
namespace {

using blame::EvidenceBuilder;
using blame::RecordedFault;

constexpr const char* kSlurm =
    "# our fabric\n"
    "SwitchName=leaf1 Nodes=node[0-3,07],login LinkSpeed=900\n"
    "switchname=leaf2  nodes=node[4-5],\\\n"
    "  gpu[01-02]-ib\n"
    "SwitchName=spine Switches=leaf[1-2]\n";

constexpr const char* kIbnetdiscover =
    "# Topology file: generated on Mon Jan  1 00:00:00 2026\n"
    "vendid=0x2c9\nswitchguid=0x2c902400c1234(2c902400c1234)\n"
    "Switch\t36 \"S-0002c902400c1234\"\t\t# \"leaf1\" enhanced port 0 lid 2 lmc 0\n"
    "[5]\t\"H-0002c90300a1b2c0\"[1](2c90300a1b2c3) \t\t# \"node3 mlx5_0\" lid 12 4xQDR\n"
    "[36]\t\"S-0002c902400c9999\"[1]\t\t# \"spine\" lid 3 4xQDR\n"
    "\n"
    "caguid=0x2c90300a1b2c0\n"
    "Ca\t2 \"H-0002c90300a1b2c0\"\t\t# \"node3 mlx5_0\"\n"
    "[1](2c90300a1b2c3) \t\"S-0002c902400c1234\"[5]\t\t# lid 12 lmc 0 \"leaf1\" lid 2 4xQDR\n"
    "[2](2c90300a1b2c4) \t\"S-0002c902400c5678\"[7]\t\t# lid 13 lmc 0 \"leaf2\" lid 4 4xQDR\n"
    "\n"
    "Ca\t1 \"H-0002c90300a1b2d0\"\t\t# \"node4 HCA-1\"\n"
    "[1](2c90300a1b2d3) \t\"S-0002c902400c5678\"[8]\t\t# lid 14 lmc 0 \"leaf2\" lid 4 4xQDR\n";

TEST(Topology, Slurm) {
  Topology topology;
  ASSERT_EQ(topology.parse(kSlurm), "");
  for (const char* host : {"node0", "node3", "node07", "login", "node2.example.org"}) {
    ASSERT_TRUE(topology.find(host, "vrc_mlx5/mlx5_0:1")) << host;
    EXPECT_EQ(topology.find(host, "vrc_mlx5/mlx5_0:1")->switch_name, "leaf1") << host;
  }
  for (const char* host : {"node4", "node5", "gpu01-ib", "gpu02-ib"})
    EXPECT_EQ(topology.find(host, "")->switch_name, "leaf2") << host;
  EXPECT_FALSE(topology.find("node7", ""));
  EXPECT_EQ(topology.hosts_of("leaf1"), 6U);
  EXPECT_EQ(topology.hosts_of("leaf2"), 4U);
}

// As slurm.conf(5)'s parser has them: any blanks, also around the sign, and values in quotes.
TEST(Topology, SlurmWithOtherBlanks) {
  Topology topology;
  ASSERT_EQ(topology.parse("SwitchName=leaf1\tNodes=node[1-3]\tLinkSpeed=9\r\n"
                           "SwitchName = leaf2 Nodes =node[4-5]\n"
                           "\tSwitchName=\"leaf3\"\t \\\n\t Nodes=\"node[6-9]\"#the last\n"),
            "");
  const std::pair<const char*, const char*> kPlaces[] = {
      {"node3", "leaf1"}, {"node4", "leaf2"}, {"node9", "leaf3"}};
  for (const auto& [host, name] : kPlaces) {
    ASSERT_TRUE(topology.find(host, "")) << host;
    EXPECT_EQ(topology.find(host, "")->switch_name, name);
  }
  EXPECT_EQ(topology.hosts_of("leaf1"), 3U);
  EXPECT_EQ(topology.hosts_of("leaf3"), 4U);
}

TEST(Topology, ListsWithSeveralBrackets) {
  std::vector<std::string> hosts;
  EXPECT_EQ(expand_hosts("rack[1-2]n[01,3],login, r[7]x", 100, &hosts), "");
  EXPECT_EQ(hosts, (std::vector<std::string>{"rack1n01", "rack1n3", "rack2n01", "rack2n3", "login",
                                             "r7x"}));
  for (const char* wrong : {"a[1-2]n[", "a[1-2]n[]", "a[b]", "a[1-2", "a[1-200]n[1-200]"})
    EXPECT_NE(expand_hosts(wrong, 1000, &hosts), "") << wrong;
}

TEST(Topology, Ibnetdiscover) {
  Topology topology;
  ASSERT_EQ(topology.parse(kIbnetdiscover), "");
  const auto first = topology.find("node3", "vrc_verbs/mlx5_0:1");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->switch_name + " " + first->switch_port + " " + first->guid,
            "leaf1 5 0x0002c90300a1b2c3");
  EXPECT_EQ(first->lid, 12U);
  EXPECT_EQ(topology.find("node3", "vud_verbs/mlx5_0:2")->switch_name, "leaf2");
  EXPECT_FALSE(topology.find("node3", "vrc_verbs/mlx5_9:1")) << "on two switches";
  EXPECT_EQ(topology.find("node4", "vrc_verbs/mlx5_0:1")->guid, "0x0002c90300a1b2d3")
      << "its only port, whatever it is called";
  EXPECT_EQ(topology.hosts_of("leaf2"), 2U);
}

TEST(Topology, WhatIsNone) {
  for (const char* text :
       {"", "hello\n", "SwitchName=s Nodes=n[5-1]\n", "SwitchName=s Nodes=n[1-99999999999]\n",
        "SwitchName=s Nodes=n[1\n", "SwitchName=s Nodes=n[a-b]\n", "Ca\t\n[\n[](\n[1]( \"S-\n",
        "Ca \"\" # \"x y\"\n[1](zz) \"S-1\"[ # \n"}) {
    Topology topology;
    (void)topology.parse(text);
    EXPECT_FALSE(topology.find("nowhere", "")) << text;
  }
  Topology topology;
  EXPECT_NE(topology.parse("hello\n").find("neither"), std::string::npos);
  EXPECT_EQ(topology.parse("SwitchName=s Nodes=n[5-1]\n"), "no host list: n[5-1]");
}

// ---- in a report
// ------------------------------------------------------------------------------------------------------------------

RecordedFault fault(const std::string& from, const std::string& to, unsigned minute) {
  return {.host = to,
          .peer_host = from,
          .transport = "vrc_verbs",
          .device = "mlx5_0:1",
          .time = "2026-01-31T12:" + std::to_string(10 + minute) + ":00.000000Z",
          .kind = health::FaultKind::kPayload,
          .port = {"0x0002c90300a1b2" + to.substr(to.size() - 1) + "0", 40, "16.35.2000"}};
}

Findings findings(const EvidenceBuilder& builder) {
  Findings f;
  f.evidence = builder.build();
  f.suspects = rank(f.evidence);
  EXPECT_EQ(f.topology.parse(kSlurm), "");
  return f;
}

TEST(Switches, FaultsAreGrouped) {
  EvidenceBuilder builder;
  for (const char* from : {"node0", "node1", "node2"}) {
    for (const char* to : {"node0", "node1", "node3", "node4"}) {
      if (std::string(from) != to) builder.add(fault(from, to, 0));
    }
  }
  builder.add(fault("elsewhere", "node5", 0));
  const Findings f = findings(builder);
  const auto switches = by_switch(f.evidence, f.topology);
  ASSERT_EQ(switches.size(), 3U);
  EXPECT_EQ(switches[0].name, "leaf1");
  EXPECT_EQ(switches[0].within, 7U);
  EXPECT_EQ(switches[0].from, 3U);
  EXPECT_EQ(switches[0].troubled, 4U);
  EXPECT_EQ(switches[1].name, "leaf2");
  EXPECT_EQ(switches[1].to, 4U);
  const std::string text = render_text(f);
  EXPECT_NE(text.find("faults by switch:"), std::string::npos) << text;
  EXPECT_NE(text.find("10 of 11 faults pass switch leaf1, at 4 of its hosts"), std::string::npos)
      << text;
  EXPECT_NE(render_html(f).find("Faults by switch"), std::string::npos);
}

TEST(Switches, ASuspectHasItsPort) {
  EvidenceBuilder builder;
  for (unsigned i = 0; i < 30; ++i) builder.add(fault("node" + std::to_string(i % 3), "node5", i));
  Findings f = findings(builder);
  ASSERT_FALSE(f.suspects.empty());
  EXPECT_EQ(switch_hint(by_switch(f.evidence, f.topology), f.evidence, f.suspects), "")
      << "the suspect explains them";
  const std::string wanted =
      "port GUID 0x0002c90300a1b250, LID 40, firmware 16.35.2000, at switch leaf2";
  EXPECT_EQ(ports_in_words(f.suspects[0], f), std::vector<std::string>{wanted});
  EXPECT_NE(render_json(f).find(wanted), std::string::npos);
  EXPECT_NE(render_html(f).find(wanted), std::string::npos);
  f.topology = {};
  EXPECT_NE(render_text(f).find("port GUID 0x0002c90300a1b250, LID 40, firmware 16.35.2000"),
            std::string::npos);
}

TEST(Timeline, BarsOfEqualTime) {
  EvidenceBuilder builder;
  for (unsigned i = 0; i < 30; ++i) builder.add(fault("node0", "node5", i));
  builder.add(fault("node0", "node5", 3));
  Timeline line = timeline_of(findings(builder).evidence, 120);
  EXPECT_EQ(line.minutes, 1U);
  ASSERT_EQ(line.bars.size(), 30U);
  EXPECT_EQ(line.bars[3].faults, 2U);
  EXPECT_EQ(line.bars[0].from, "2026-01-31 12:10");
  RecordedFault late = fault("node0", "node5", 0);
  late.time = "2026-03-31T12:00:00.000000Z";
  builder.add(late);
  late.time = "no time at all, but long";
  builder.add(late);
  line = timeline_of(findings(builder).evidence, 120);
  EXPECT_EQ(line.minutes, 1440U);
  EXPECT_EQ(line.bars.size(), 60U);
  EXPECT_EQ(line.bars.front().faults + line.bars.back().faults, 32U);
  EXPECT_EQ(line.largest, 31U);
  const std::string page = render_html(findings(builder));
  EXPECT_NE(page.find("Faults over time, bars of a day"), std::string::npos);
  EXPECT_NE(page.find("title=\"2026-01-31 00:00 UTC: 31\""), std::string::npos);
  EXPECT_TRUE(timeline_of({}, 120).bars.empty());
  late.time = "9999-12-31T23:59:00.000000Z";
  builder.add(late);
  EXPECT_LE(timeline_of(findings(builder).evidence, 120).bars.size(), 120U);
}

}  // namespace
}  // namespace verity::tools
