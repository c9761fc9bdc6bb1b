// SPDX-License-Identifier: BSD-3-Clause
#include "health/interface_rows.h"
#include "unit/health_file.h"

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
  for (const CounterInfo& info : kCounterInfo) EXPECT_EQ(s.rows[2].counters.*info.field, ++value) << info.name;
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
  for (unsigned i = 0; i < Table::kMostPeers + 10; ++i) tcp.peer("host" + std::to_string(i), 0).frames_sent++;
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
