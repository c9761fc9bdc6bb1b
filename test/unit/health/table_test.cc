// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "health/files/interface_rows.h"
#include "unit/health/file.h"

namespace verity::health {
namespace {

Snapshot read(Plain& ground) {
  Snapshot snapshot;
  EXPECT_EQ(parse_health_file(ground.bytes(ground.limit), &snapshot), "");
  return snapshot;
}

TEST(HealthTable, WhatIsCountedIsRead) {
  Plain ground;
  Table table(ground, this_process());
  InterfaceRows tcp(table, "vtcp", "eth0", 5);
  tcp.own().links_opened = 2;
  Counters& peer = tcp.peer("node18", 6);
  std::uint64_t value = 100;
  for (const CounterInfo& info : kCounterInfo) peer.*info.field = ++value;
  const Snapshot s = read(ground);
  ASSERT_EQ(s.rows.size(), 3u);
  EXPECT_EQ(s.rows[0].kind, UCX_VERITY_HEALTH_PROCESS);
  EXPECT_EQ(s.rows[1].kind, UCX_VERITY_HEALTH_INTERFACE);
  EXPECT_EQ(s.rows[1].transport, "vtcp");
  EXPECT_EQ(s.rows[1].device, "eth0");
  EXPECT_EQ(s.rows[1].opened_ns, 5u);
  EXPECT_EQ(s.rows[1].counters.links_opened, 2u);
  EXPECT_EQ(s.rows[2].kind, UCX_VERITY_HEALTH_PEER);
  EXPECT_EQ(s.rows[2].peer, "node18");
  EXPECT_TRUE(s.rows[2].open);
  value = 100;
  for (const CounterInfo& info : kCounterInfo)
    EXPECT_EQ(s.rows[2].counters.*info.field, ++value) << info.name;
  EXPECT_EQ(s.sum().links_opened, 2 + peer.links_opened);
  EXPECT_TRUE(s.foreign_names.empty());
  EXPECT_TRUE(s.missing_names.empty());
}

TEST(HealthTable, TheHeaderNamesTheProcess) {
  Plain ground;
  Table table(ground, this_process());
  table.set_mode("observe");
  Snapshot s = read(ground);
  EXPECT_EQ(s.pid, static_cast<std::uint64_t>(getpid()));
  EXPECT_NE(s.start_ticks, 0u);
  EXPECT_EQ(s.host, "node17");
  EXPECT_EQ(s.program, "ocean");
  EXPECT_EQ(s.rank, "3");
  EXPECT_EQ(s.mode, "observe");
  EXPECT_EQ(s.state, static_cast<std::uint32_t>(UCX_VERITY_HEALTH_RUNNING));
  table.end(77);
  s = read(ground);
  EXPECT_EQ(s.state, static_cast<std::uint32_t>(UCX_VERITY_HEALTH_ENDED));
  EXPECT_EQ(s.ended_ns, 77u);
}

TEST(HealthTable, LongTextsAreCut) {
  Plain ground;
  Origin origin = this_process();
  origin.program = std::string(500, 'p');
  Table table(ground, origin);
  EXPECT_EQ(read(ground).program, std::string(63, 'p'));
}

TEST(HealthTable, LinksToOneHostShareARow) {
  Plain ground;
  Table table(ground, this_process());
  InterfaceRows tcp(table, "vtcp", "eth0", 0);
  EXPECT_EQ(&tcp.peer("a", 0), &tcp.peer("a", 0));
  EXPECT_NE(&tcp.peer("a", 0), &tcp.peer("b", 0));
  EXPECT_NE(&tcp.peer("a", 0), &tcp.own());
}

// Two threads, each with an interface of its own on the same device, must not count in one row.
TEST(HealthTable, InterfacesOfOneNameHaveTheirOwnRows) {
  Plain ground;
  Table table(ground, this_process());
  InterfaceRows one(table, "vtcp", "eth0", 0);
  InterfaceRows other(table, "vtcp", "eth0", 0);
  EXPECT_NE(&one.own(), &other.own());
  EXPECT_NE(&one.peer("a", 0), &other.peer("a", 0));
}

TEST(HealthTable, ALaterInterfaceGoesOnWithARow) {
  Plain ground;
  Table table(ground, this_process());
  for (unsigned i = 0; i < 2000; ++i) {
    InterfaceRows tcp(table, "vtcp", "eth0", i);
    tcp.own().links_opened++;
    tcp.peer("a", 0).frames_sent += 2;
    EXPECT_EQ(table.sum().frames_sent, 2 * (i + 1));
  }
  const Snapshot s = read(ground);
  ASSERT_EQ(s.rows.size(), 3u);
  EXPECT_FALSE(s.rows[2].open);
  EXPECT_EQ(s.rows[1].counters.links_opened, 2000u);
}

TEST(HealthTable, HostsBeyondTheBoundShareARow) {
  Plain ground;
  Table table(ground, this_process());
  InterfaceRows tcp(table, "vtcp", "eth0", 0);
  for (unsigned i = 0; i < Table::kMostPeers + 10; ++i)
    tcp.peer("host" + std::to_string(i), 0).frames_sent++;
  Counters& others = tcp.peer("host" + std::to_string(Table::kMostPeers), 0);
  EXPECT_EQ(others.frames_sent, 10u);
  EXPECT_EQ(&tcp.peer("yet another", 0), &others);
  EXPECT_NE(&tcp.peer("host0", 0), &others);
  EXPECT_EQ(table.sum().frames_sent, Table::kMostPeers + 10);
  const Snapshot s = read(ground);
  EXPECT_EQ(s.rows.back().kind, UCX_VERITY_HEALTH_OTHERS);
}

TEST(HealthTable, AHostWithoutANameIsOneOfTheOthers) {
  Plain ground;
  Table table(ground, this_process());
  InterfaceRows tcp(table, "vtcp", "eth0", 0);
  EXPECT_EQ(&tcp.peer("", 0), &tcp.peer("", 0));
  EXPECT_NE(&tcp.peer("", 0), &tcp.own());
}

const SnapshotRow& row_of(const Snapshot& s, const Counters& counters) {
  const auto found = std::find_if(s.rows.begin(), s.rows.end(), [&](const SnapshotRow& row) {
    return row.counters.frames_sent == counters.frames_sent;
  });
  EXPECT_NE(found, s.rows.end());
  return *found;
}

// What is known of a peer before its first frame is the hash of its host's name.
TEST(HealthTable, AHostIsNamedWhenItTellsItsName) {
  Plain ground;
  Table table(ground, this_process());
  InterfaceRows tcp(table, "vtcp", "eth0", 0);
  InterfaceRows self(table, "vself", "memory", 0);
  Counters& at_tcp = tcp.peer(name_hash("node18"), 0);
  Counters& at_self = self.peer(name_hash("node18"), 0);
  Counters& other = tcp.peer(name_hash("node19"), 0);
  at_tcp.frames_sent = 1;
  at_self.frames_sent = 2;
  other.frames_sent = 4;
  EXPECT_NE(&at_tcp, &other);
  EXPECT_NE(&at_tcp, &tcp.peer("", 0));
  EXPECT_EQ(table.host_name(name_hash("node18")), "");
  Snapshot s = read(ground);
  for (const Counters* counters : {&at_tcp, &at_self, &other}) {
    EXPECT_EQ(row_of(s, *counters).kind, static_cast<std::uint32_t>(UCX_VERITY_HEALTH_OTHERS));
    EXPECT_EQ(row_of(s, *counters).peer, "");
  }
  EXPECT_EQ(table.host_id("node18"), name_hash("node18"));
  EXPECT_EQ(table.host_name(name_hash("node18")), "node18");
  s = read(ground);
  for (const Counters* counters : {&at_tcp, &at_self}) {
    EXPECT_EQ(row_of(s, *counters).kind, static_cast<std::uint32_t>(UCX_VERITY_HEALTH_PEER));
    EXPECT_EQ(row_of(s, *counters).peer, "node18");
  }
  EXPECT_EQ(row_of(s, other).kind, static_cast<std::uint32_t>(UCX_VERITY_HEALTH_OTHERS));
  EXPECT_EQ(&tcp.peer("node18", 0), &at_tcp);
  EXPECT_EQ(s.sum().frames_sent, 7u);
}

TEST(HealthTable, AHostThatIsKnownIsNamedAtOnce) {
  Plain ground;
  Table table(ground, this_process());
  InterfaceRows tcp(table, "vtcp", "eth0", 0);
  EXPECT_EQ(table.host_id("node18"), name_hash("node18"));
  tcp.peer(name_hash("node18"), 0).frames_sent = 1;
  EXPECT_EQ(read(ground).rows.back().kind, static_cast<std::uint32_t>(UCX_VERITY_HEALTH_PEER));
  EXPECT_EQ(read(ground).rows.back().peer, "node18");
}

// What an interface counted with one unknown host must not go to another one that its successor
// meets.
TEST(HealthTable, AClosedRowWaitsForItsOwnHost) {
  Plain ground;
  Table table(ground, this_process());
  for (const char* host : {"node18", "node19", "node18"}) {
    InterfaceRows tcp(table, "vtcp", "eth0", 0);
    tcp.peer(name_hash(host), 0).frames_sent += 10;
  }
  EXPECT_EQ(table.host_id("node19"), name_hash("node19"));
  EXPECT_EQ(table.host_id("node18"), name_hash("node18"));
  const Snapshot s = read(ground);
  ASSERT_EQ(s.rows.size(), 4u);
  EXPECT_EQ(s.rows[2].peer, "node18");
  EXPECT_EQ(s.rows[2].counters.frames_sent, 20u);
  EXPECT_EQ(s.rows[3].peer, "node19");
  EXPECT_EQ(s.rows[3].counters.frames_sent, 10u);
}

TEST(HealthTable, HostsOfOneHashAreToldApartByTheirNames) {
  ASSERT_EQ(name_hash("costarring"), name_hash("liquid"));
  Plain ground;
  Table table(ground, this_process());
  InterfaceRows tcp(table, "vtcp", "eth0", 0);
  const HostId first = table.host_id("liquid");
  const HostId second = table.host_id("costarring");
  EXPECT_EQ(first, name_hash("liquid"));
  EXPECT_NE(second, first);
  EXPECT_EQ(table.host_id("liquid"), first);
  EXPECT_EQ(table.host_id("costarring"), second);
  EXPECT_EQ(table.host_name(first), "liquid");
  EXPECT_EQ(table.host_name(second), "costarring");
  tcp.peer("liquid", 0).frames_sent = 1;
  tcp.peer("costarring", 0).frames_sent = 2;
  const Snapshot s = read(ground);
  ASSERT_EQ(s.rows.size(), 4u);
  EXPECT_EQ(s.rows[2].peer, "liquid");
  EXPECT_EQ(s.rows[2].counters.frames_sent, 1u);
  EXPECT_EQ(s.rows[3].peer, "costarring");
}

TEST(HealthTable, UnknownHostsBeyondTheBoundShareARow) {
  Plain ground;
  Table table(ground, this_process());
  InterfaceRows tcp(table, "vtcp", "eth0", 0);
  for (unsigned i = 0; i < Table::kMostPeers + 10; ++i) tcp.peer(HostId{1000} + i, 0).frames_sent++;
  EXPECT_EQ(tcp.peer("", 0).frames_sent, 10u);
  EXPECT_EQ(table.sum().frames_sent, Table::kMostPeers + 10);
}

TEST(HealthTable, WithoutRoomEverythingIsStillCounted) {
  Plain ground;
  ground.limit = size_for_rows(2);
  Table table(ground, this_process());
  InterfaceRows one(table, "vtcp", "eth0", 0);
  InterfaceRows beyond(table, "vtcp", "eth1", 0);
  one.own().frames_sent = 1;
  one.peer("a", 0).frames_sent += 2;
  beyond.own().frames_sent = 4;
  beyond.peer("b", 0).frames_sent += 8;
  EXPECT_EQ(table.sum().frames_sent, 15u);
  EXPECT_EQ(read(ground).rows.size(), 2u);
  EXPECT_EQ(read(ground).sum().frames_sent, 3u);
}

TEST(HealthTable, TheHotCountersShareACacheLine) {
  Plain ground;
  Table table(ground, this_process());
  InterfaceRows tcp(table, "vtcp", "eth0", 0);
  const auto offset = reinterpret_cast<const std::byte*>(&tcp.own()) - ground.base();
  EXPECT_EQ(offset % 64, 0);
  EXPECT_LT(offsetof(Counters, bytes_verified), 64u);
}

}  // namespace
}  // namespace verity::health
