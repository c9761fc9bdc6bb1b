// SPDX-License-Identifier: BSD-3-Clause
// Lines that processes wrote are read as they were meant, all others are recognized and do no harm.
#include <gtest/gtest.h>

#include "health/faults/fault_record.h"
#include "health/report/attestation.h"
#include "tools/report/records.h"

namespace verity::tools {
namespace {

using blame::Evidence;
using blame::EvidenceBuilder;
using blame::HostData;
using blame::Tally;

class Lines : public ::testing::Test {
 protected:
  void read(const std::string& line) { read_line(line, builder, counts); }
  EvidenceBuilder builder;
  LineCounts counts;
};

health::FaultRecord record() {
  health::FaultRecord r;
  r.time_ns = 1'769'860'800'000'000'000;
  r.who.host = "n1";
  r.peer_host = "n2";
  r.transport = "vtcp";
  r.device = "eth0";
  r.kind = health::FaultKind::kPayload;
  r.syndrome = health::Syndrome{};
  r.syndrome->pattern = health::Pattern::kBurst;
  r.syndrome->again = health::Again::kPosition;
  return r;
}

TEST_F(Lines, ARecordIsReadBack) {
  health::FaultRecord r = record();
  read(health::render_json(r));
  r.sent = true;
  r.dropped = 4;
  read(health::render_json(r));
  const Evidence e = builder.build();
  EXPECT_EQ(counts.faults, 2u);
  EXPECT_EQ(e.faults, 2u);
  EXPECT_EQ(e.dropped, 4u);
  EXPECT_EQ(e.first, "2026-01-31T12:00:00.000000Z");
  ASSERT_EQ(e.ways.size(), 2u);
  const Tally& received = e.ways.at({"n2", "n1", "vtcp/eth0"});
  EXPECT_EQ(received.again, 1u);
  EXPECT_EQ(received.patterns[static_cast<std::size_t>(health::Pattern::kBurst)], 1u);
  EXPECT_EQ(e.ways.at({"n1", "n2", "vtcp/eth0"}).faults, 1u);
}

// Another process appends to a file in which a full disk has cut off a record.
TEST_F(Lines, ARecordBehindOneThatWasCutOffIsRead) {
  health::Report report;
  report.who = {.host = "n1", .program = "p", .pid = 1, .rank = "0"};
  const std::string fault = health::render_json(record());
  const std::string attestation = health::render_json(report);
  for (const std::string& cut : {fault, attestation}) {
    for (const std::size_t size : {1U, 30U, 200U}) {
      read(cut.substr(0, size) + fault);
      read(cut.substr(0, size) + cut.substr(0, 40) + attestation);
    }
  }
  EXPECT_EQ(counts.faults, 6u);
  EXPECT_EQ(counts.attestations, 6u);
  EXPECT_EQ(counts.broken, 12u);
  read(fault.substr(0, 40) + fault.substr(0, 60));
  EXPECT_EQ(counts.broken, 13u);
}

TEST_F(Lines, FaultsOfJobs) {
  health::FaultRecord r = record();
  read(health::render_json(r));
  r.who.job = "77";
  read(health::render_json(r));
  r.who.step = "2";
  read(health::render_json(r));
  read(health::render_json(r));
  EXPECT_EQ(builder.build().jobs, (std::map<std::string, std::uint64_t>{{"77", 1}, {"77.2", 2}}));
}

TEST_F(Lines, EveryKindIsReadBack) {
  for (std::size_t i = 0; i < health::kFaultKinds.size(); ++i) {
    health::FaultRecord r = record();
    r.kind = static_cast<health::FaultKind>(i);
    read(health::render_json(r));
  }
  EXPECT_EQ(counts.faults, health::kFaultKinds.size());
  const Evidence e = builder.build();
  EXPECT_EQ(e.faults + e.ambiguous + e.source_changed, health::kFaultKinds.size());
}

TEST_F(Lines, AnAttestationIsReadBack) {
  health::Report report;
  report.who = {.host = "n1", .program = "p", .pid = 1, .rank = "0"};
  report.counters.bytes_verified = 1000;
  report.counters.read_bytes_verified = 24;
  read(health::render_json(report));
  report.counters.faults_payload = 1;
  read(health::render_json(report));
  EXPECT_EQ(counts.attestations, 2u);
  const HostData host = builder.build().hosts.at("n1");
  EXPECT_EQ(host.processes, 2u);
  EXPECT_EQ(host.clean, 1u);
  EXPECT_EQ(host.bytes, 2048u);
}

// It names the host of a peer that no record names.
TEST_F(Lines, InterfacesOfAnAttestation) {
  health::Report report;
  report.who = {.host = "n9", .program = "p", .pid = 1, .rank = "0"};
  report.interfaces = {health::interface_text(0xa1), health::interface_text(0xa2)};
  read(health::render_json(report));
  health::FaultRecord r = record();
  r.peer_host.clear();
  r.peer = 0xa2;
  read(health::render_json(r));
  EXPECT_TRUE(builder.build().ways.contains({"n9", "n1", "vtcp/eth0"}));
}

TEST_F(Lines, UserErrorsAndWhatWasNotWritten) {
  read(R"({"event":"type_mismatch","time":1,"sender":{},"receiver":{}})");
  read(health::render_dropped({.host = "n1", .program = "", .pid = 1, .rank = ""}, 0, 77));
  EXPECT_EQ(counts.type_mismatches, 1u);
  const Evidence e = builder.build();
  EXPECT_EQ(e.type_mismatches, 1u);
  EXPECT_EQ(e.dropped, 77u);
  EXPECT_EQ(e.faults, 0u);
}

TEST_F(Lines, UnknownKeysAreLeft) {
  std::string line = health::render_json(record());
  line.insert(1, R"("new_key":{"a":[1,2,{"b":null}]},)");
  read(line);
  EXPECT_EQ(counts.faults, 1u);
}

// A process that is killed, or a full disk.
TEST_F(Lines, CutOffAnywhere) {
  const std::string whole = health::render_json(record());
  for (std::size_t n = 1; n + 2 < whole.size(); ++n) read(whole.substr(0, n));
  EXPECT_EQ(counts.faults, 0u);
  EXPECT_EQ(counts.broken, whole.size() - 3);
}

TEST_F(Lines, OfSomebodyElse) {
  for (const char* line : {"{}", "[]", "1", "null", "\"text\"", R"({"event":"boot"})",
                           R"({"counters":{}})", R"({"counters":{},"trouble":true})"})
    read(line);
  EXPECT_EQ(counts.foreign, 8u);
  for (const char* line : {"Jan 31 n1 kernel: oops", "{", "\xff\xfe", R"({"event":"fault")"})
    read(line);
  EXPECT_EQ(counts.broken, 4u);
  read("");
  read(" \t\r");
  EXPECT_EQ(counts.foreign + counts.broken, 12u);
}

TEST_F(Lines, OfAnotherVersionOrWithoutWhatIsNeeded) {
  for (const char* line :
       {R"({"event":"fault","schema":2,"host":"a","kind":"payload","direction":"received"})",
        R"({"event":"fault","schema":1,"host":"a","kind":"gremlin","direction":"received"})",
        R"({"event":"fault","schema":1,"kind":"payload","direction":"received"})",
        R"({"event":"fault","schema":1,"host":"a","kind":"payload"})",
        R"({"event":"fault","schema":"1","host":{},"kind":7,"direction":[]})",
        R"({"schema":2,"host":"a","counters":{},"trouble":false})"}) {
    read(line);
  }
  EXPECT_EQ(counts.newer, 6u);
  EXPECT_EQ(builder.build().faults, 0u);
}

TEST_F(Lines, WrongTypesAreNothing) {
  read(
      R"({"event":"fault","schema":1,"host":"a","kind":"payload","direction":"received","peer_host":7,"syndrome":[1],"dropped":-3,"time":{}})");
  read(
      R"({"event":"fault","schema":1,"host":"a","kind":"payload","direction":"received","syndrome":{"pattern":1,"again":null},"dropped":1e300})");
  EXPECT_EQ(counts.faults, 2u);
  EXPECT_EQ(builder.build().dropped, 0u);
}

TEST_F(Lines, LongNamesAreCut) {
  read(R"({"event":"fault","schema":1,"host":")" + std::string(100'000, 'x') +
       R"(","kind":"payload","direction":"received"})");
  EXPECT_EQ(builder.build().hosts.begin()->first.size(), 256u);
}

// Deep nesting must not end the stack.
TEST_F(Lines, NestedWithoutEnd) {
  read(std::string(500'000, '['));
  EXPECT_EQ(counts.broken, 1u);
}

}  // namespace
}  // namespace verity::tools
