// SPDX-License-Identifier: BSD-3-Clause
// The records of faults: complete and readable lines whatever names are in them, and no more of
// them than is allowed.
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "health/faults/fault_record.h"

namespace verity::health {
namespace {

FaultRecord example() {
  FaultRecord r;
  r.time_ns = 1'769'860'800'123'456'789;
  r.who = {.host = "n1", .program = "a.out", .pid = 42, .rank = "3"};
  r.peer_host = "n2";
  r.transport = "vtcp";
  r.device = "eth0";
  r.interface = 0xa1;
  r.peer = 0xffffffffffffffff;
  r.kind = FaultKind::kPayload;
  r.sequence = 7;
  r.length = 20000;
  r.segment_size = 8192;
  r.attempts = 1;
  Syndrome s;
  s.pattern = Pattern::kSingleBit;
  s.again = Again::kLane;
  s.compared = 8192;
  s.bytes = s.bits = s.positions = 1;
  s.first = s.last = 8200;
  s.bit[0] = 65601;
  r.syndrome = s;
  return r;
}

nlohmann::json parsed(const FaultRecord& record) {
  const std::string line = render_json(record);
  EXPECT_EQ(line.find('\n'), line.size() - 1) << "one line";
  return nlohmann::json::parse(line, nullptr, false);
}

TEST(FaultRecord, HasWhatAnAdministratorNeeds) {
  const nlohmann::json j = parsed(example());
  EXPECT_EQ(j["event"], "fault");
  EXPECT_EQ(j["schema"], 1);
  EXPECT_EQ(j["time"], "2026-01-31T12:00:00.123456Z");
  EXPECT_EQ(j["host"], "n1");
  EXPECT_EQ(j["peer_host"], "n2");
  EXPECT_EQ(j["interface"], "00000000000000a1");
  EXPECT_EQ(j["peer"], "ffffffffffffffff");
  EXPECT_EQ(j["direction"], "received");
  EXPECT_EQ(j["operation"], "am");
  EXPECT_EQ(j["kind"], "payload");
  EXPECT_EQ(j["segment"], 1);
  EXPECT_EQ(j["syndrome"]["pattern"], "single_bit");
  EXPECT_EQ(j["syndrome"]["again"], "lane");
  EXPECT_EQ(j["syndrome"]["positions"], nlohmann::json::array({65601}));
  EXPECT_FALSE(j.contains("dropped"));
}

TEST(FaultRecord, WhatIsNotKnownIsNull) {
  FaultRecord r;
  r.sent = true;
  r.kind = FaultKind::kSourceMemory;
  r.dropped = 5;
  const nlohmann::json j = parsed(r);
  for (const char* key : {"peer_host", "rank", "interface", "peer", "segment", "syndrome"})
    EXPECT_TRUE(j[key].is_null()) << key;
  EXPECT_EQ(j["direction"], "sent");
  EXPECT_EQ(j["dropped"], 5);
}

TEST(FaultRecord, NamesCannotBreakALine) {
  FaultRecord r = example();
  r.who.host = "a\nb\"c\\\x01 d=e\xff";
  r.device = std::string(200, 'x');
  EXPECT_EQ(parsed(r)["device"], r.device);
  const std::string text = render_text(r);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_NE(text.find(" host=a?b?c\\??d?e? peer_host=n2 "), std::string::npos) << text;
  EXPECT_LT(text.size(), 512u);
}

TEST(FaultRecord, TextOfAFault) {
  EXPECT_EQ(render_text(example()),
            "kind=payload host=n1 peer_host=n2 transport=vtcp device=eth0 direction=received "
            "operation=am sequence=7 length=20000 "
            "attempts=1 pattern=single_bit bits=1 first=8200 again=lane");
}

TEST(FaultRecord, TimesBeforeAndAfter) {
  EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(utc_text(-1), "1969-12-31T23:59:59.999999Z");
  EXPECT_FALSE(utc_text(std::numeric_limits<std::int64_t>::min()).empty());
}

TEST(FaultRecord, KindsAreReadBack) {
  for (std::size_t i = 0; i < kFaultKinds.size(); ++i)
    EXPECT_EQ(parse_fault_kind(kFaultKinds[i].name), static_cast<FaultKind>(i));
  EXPECT_FALSE(parse_fault_kind("type_mismatch"));
}

TEST(FaultBudget, ABurstThenOneAtATime) {
  FaultBudget budget(3, 100, 6);
  unsigned taken = 0;
  for (unsigned i = 0; i < 10; ++i) taken += budget.take(1000);
  EXPECT_EQ(taken, 3u);
  EXPECT_FALSE(budget.take(1099));
  EXPECT_TRUE(budget.take(1100));
  EXPECT_FALSE(budget.take(1199)) << "an interval does not count twice";
  EXPECT_FALSE(budget.take(500)) << "the clock went back";
  EXPECT_TRUE(budget.take(1'000'000));
  EXPECT_TRUE(budget.take(1'000'000));
  EXPECT_FALSE(budget.take(1'000'000)) << "all that are allowed were taken";
  EXPECT_FALSE(budget.take(9'000'000));
}

TEST(FaultBudget, AClockThatWasAheadIsNotWaitedFor) {
  FaultBudget budget(1, 100, 10);
  EXPECT_TRUE(budget.take(1'000'000'000));
  EXPECT_FALSE(budget.take(1000)) << "the clock went back";
  EXPECT_TRUE(budget.take(1100));
}

TEST(FaultBudget, NothingAllowed) {
  FaultBudget none(0, 0, 0);
  EXPECT_FALSE(none.take(0));
  EXPECT_FALSE(none.take(1'000'000));
}

}  // namespace
}  // namespace verity::health
