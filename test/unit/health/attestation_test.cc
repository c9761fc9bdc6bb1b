// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "health/report/attestation_io.h"

namespace verity::health {
namespace {

Report healthy() {
  Report report;
  report.plugin_version = "1.0";
  report.ucx_version = "1.13.1";
  report.mode = "verify";
  report.who = {.host = "node17", .program = "app", .pid = 4242, .rank = "3"};
  report.counters.links_opened = 2;
  report.counters.frames_sent = 1204332;
  report.counters.bytes_sent = 13207024435;
  report.counters.frames_verified = 1;
  report.counters.bytes_verified = 8;
  return report;
}

// Everything at its longest.
Report worst() {
  Report report = healthy();
  for (const CounterInfo& info : kCounterInfo) report.counters.*info.field = 1234567;
  for (int i = 0; i < 200; ++i) {
    report.failed_links.push_back("vrc_mlx5/mlx5_0:1 to node" + std::to_string(i));
    report.raw_lanes.push_back("lane" + std::to_string(i));
    report.mpi_components.push_back("coll/name" + std::to_string(i));
  }
  return report;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(HealthAttestation, HealthyText) {
  EXPECT_EQ(render_text(healthy()),
            "ucx-verity: rank 3, pid 4242 on node17 (mode verify)\n"
            "  verified      1 frame, 8 B received; sent 1,204,332 frames, 12.3 GiB\n"
            "  faults        none\n"
            "  not verified: none known\n");
}

TEST(HealthAttestation, SaysWhyItIsNotInTheReportOfAll) {
  Report report = healthy();
  report.alone = "/dev/shm/.job: No space left on device";
  EXPECT_TRUE(
      render_text(report).ends_with("  not verified: none known\n"
                                    "  by itself     /dev/shm/.job: No space left on device\n"));
}

TEST(HealthAttestation, SharedWindowsHaveNothingToVerify) {
  Report report = healthy();
  report.shared_windows = true;
  EXPECT_TRUE(render_text(report).ends_with(
      "  not verified: none known\n"
      "  windows       MPI_Win_allocate_shared: plain memory, not verified\n"));
  EXPECT_NE(render_json(report).find("\"shared_windows\":true"), std::string::npos);
  EXPECT_FALSE(should_print(report, AttestPolicy::kAuto));
}

TEST(HealthAttestation, RepairedText) {
  Report report = healthy();
  report.counters.faults_payload = 3;
  report.counters.faults_header = 1;
  report.counters.faults_repaired = 4;
  report.counters.gaps = 1;
  report.counters.segments_repaired = 3;
  report.counters.frames_resent = 1;
  report.counters.frame_bytes_resent = 4096;
  report.counters.links_failed = 1;
  report.failed_links = {"vtcp/eth0 to node18"};
  report.links = {{"node5", "node17", "vtcp/eth0", 3}, {"node17", "node17", "vposix/memory", 1}};
  report.raw_lanes = {"tcp", "cma"};
  report.mpi_components = {"osc/rdma"};
  EXPECT_EQ(render_text(report),
            "ucx-verity: rank 3, pid 4242 on node17 (mode verify)\n"
            "  verified      1 frame, 8 B received; sent 1,204,332 frames, 12.3 GiB\n"
            "  faults        payload 3, header 1, repaired 4\n"
            "  by link       node5 -> node17 (vtcp/eth0) 3\n"
            "                within node17 (vposix/memory) 1\n"
            "  retransmitted sent 1 frame, 4.00 KiB; received 3 segments\n"
            "  failed links  1: vtcp/eth0 to node18\n"
            "  not verified: raw UCX transports: tcp, cma\n"
            "                MPI, loaded, may have carried: osc/rdma\n");
}

TEST(HealthAttestation, RemoteMemoryText) {
  Report report = healthy();
  report.counters.read_bytes_verified = 1 << 20;
  report.counters.puts_applied = 3;
  report.counters.put_bytes_applied = 3000;
  report.counters.segments_repaired = 1;
  report.counters.read_segments_repaired = 2;
  report.counters.read_bytes_again = 16384;
  report.counters.reads_ambiguous = 1;
  report.counters.reads_source_changed = 1;
  EXPECT_EQ(render_text(report),
            "ucx-verity: rank 3, pid 4242 on node17 (mode verify)\n"
            "  verified      1 frame, 8 B received; sent 1,204,332 frames, 12.3 GiB\n"
            "  remote reads  1.00 MiB verified\n"
            "  remote writes 2.93 KiB to here, applied after their check\n"
            "  faults        read, ambiguous 1, repaired 1\n"
            "  retransmitted received 1 segment\n"
            "  re-read       2 segments, 16.0 KiB\n"
            "  changed       1 time before a send was complete (a bug) or in a get\n"
            "                in which call: ucx-verity env --typecheck warn\n"
            "  not verified: none known\n");
}

TEST(HealthAttestation, TheWorstTextIsStillReadable) {
  const auto lines = lines_of(render_text(worst()));
  EXPECT_EQ(lines.size(), 14U);
  for (std::size_t i = 7; i <= 13; ++i) EXPECT_LE(lines.at(i).size(), 80U) << lines.at(i);
}

TEST(HealthAttestation, DeliveredFaultsAreSaidLoudly) {
  Report report = healthy();
  report.mode = "observe";
  report.counters.faults_payload = 2;
  report.counters.faults_observed = 2;
  EXPECT_NE(render_text(report).find("DELIVERED     2 faulty frames"), std::string::npos);
}

TEST(HealthAttestation, AutoIsSilentWhenAllIsWell) {
  EXPECT_FALSE(should_print(healthy(), AttestPolicy::kAuto));
  EXPECT_TRUE(should_print(healthy(), AttestPolicy::kAlways));
  EXPECT_FALSE(should_print(worst(), AttestPolicy::kNever));
}

TEST(HealthAttestation, AnyTroubleIsTold) {
  for (const char* name :
       {"segments_repaired", "segments_resent", "faults_sent", "frames_resent", "faults_payload",
        "faults_header", "faults_length", "faults_observed", "gaps", "source_changed",
        "source_faults", "read_chunks_damaged", "rma_refused", "links_failed"}) {
    Report report = healthy();
    const auto info = std::find_if(kCounterInfo.begin(), kCounterInfo.end(),
                                   [&](const CounterInfo& i) { return i.name == name; });
    ASSERT_NE(info, kCounterInfo.end()) << name;
    report.counters.*info->field = 1;
    EXPECT_TRUE(should_print(report, AttestPolicy::kAuto)) << name;
  }
}

// A peer that computes for a minute: probes, late copies, single acknowledgements are no trouble.
TEST(HealthAttestation, SilenceIsNoTrouble) {
  Report report = healthy();
  report.counters.probes_sent = 10;
  report.counters.acks_sent = 10;
  report.counters.late_copies = 10;
  EXPECT_FALSE(should_print(report, AttestPolicy::kAuto));
}

TEST(HealthAttestation, OnlyTheFirstRankTellsWhatWentPast) {
  Report report = healthy();
  report.raw_lanes = {"tcp"};
  EXPECT_FALSE(should_print(report, AttestPolicy::kAuto));
  report.who.rank = "0";
  EXPECT_TRUE(should_print(report, AttestPolicy::kAuto));
  report.who.rank = "";
  EXPECT_TRUE(should_print(report, AttestPolicy::kAuto));
  report.counters.links_opened = 0;  // ucx_info and the like
  EXPECT_FALSE(should_print(report, AttestPolicy::kAuto));
}

TEST(HealthAttestation, JsonHoldsEverything) {
  const Report report = worst();
  const auto json = nlohmann::json::parse(render_json(report));
  EXPECT_EQ(json["schema"], kAttestationSchema);
  EXPECT_EQ(json["mode"], "verify");
  EXPECT_EQ(json["host"], "node17");
  EXPECT_EQ(json["pid"], 4242);
  EXPECT_EQ(json["rank"], "3");
  EXPECT_EQ(json["trouble"], true);
  EXPECT_EQ(json["counters"].size(), kCounterInfo.size());
  EXPECT_EQ(json["counters"]["gaps"], 1234567);
  EXPECT_EQ(json["raw_lanes"].size(), 200U);
  EXPECT_EQ(json["failed_links"][1], "vrc_mlx5/mlx5_0:1 to node1");
  EXPECT_EQ(render_json(report).find('\n'), render_json(report).size() - 1);
}

TEST(HealthAttestation, JsonOfOddNames) {
  Report report = healthy();
  report.who = {.host = "a\"b\\c\n\x01", .program = "\xff\xc3\xa9", .pid = 1, .rank = ""};
  const auto json = nlohmann::json::parse(render_json(report));
  EXPECT_EQ(json["host"], "a\"b\\c\n\x01");
  EXPECT_EQ(json["program"], "\xef\xbf\xbd\xc3\xa9");
  EXPECT_TRUE(json["rank"].is_null());
}

// What is not repaired, though no link failed, came after all that was waited for.
TEST(HealthAttestation, FaultsAreBalanced) {
  Report report = healthy();
  report.counters.faults_payload = 38;
  report.counters.faults_header = 2;
  report.counters.faults_repaired = 39;
  EXPECT_NE(render_text(report).find(
                "  faults        payload 38, header 2, repaired 39, no longer needed 1\n"),
            std::string::npos);
  report.counters.links_failed = 1;
  EXPECT_NE(render_text(report).find("repaired 39, not repaired 1\n"), std::string::npos);
}

TEST(HealthAttestation, UnusedIsOneLineOfTheFirstRank) {
  Report report = healthy();
  report.active = false;
  report.unused = "pml/ob1";
  EXPECT_EQ(render_text(report),
            "ucx-verity: NOTHING VERIFIED: no message used the plugin (pml/ob1)\n");
  EXPECT_FALSE(should_print(report, AttestPolicy::kAlways));
  report.who.rank = "0";
  EXPECT_TRUE(should_print(report, AttestPolicy::kAuto));
  EXPECT_TRUE(should_print(report, AttestPolicy::kAlways));
  EXPECT_FALSE(should_print(report, AttestPolicy::kNever));
}

class AttestationFile : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(mkdtemp(folder_.data()), nullptr); }
  void TearDown() override {
    unlink(path().c_str());
    rmdir(folder_.c_str());
  }
  std::string path() const { return folder_ + "/out.json"; }

  std::string folder_ = "/tmp/verity-attest-XXXXXX";
};

TEST_F(AttestationFile, TwoProcessesShareAFile) {
  EXPECT_EQ(append_to_file(path(), render_json(healthy())), "");
  EXPECT_EQ(append_to_file(path(), render_json(worst())), "");
  std::ifstream stream(path());
  std::string line;
  int objects = 0;
  while (std::getline(stream, line)) {
    EXPECT_EQ(nlohmann::json::parse(line)["schema"], 1);
    ++objects;
  }
  EXPECT_EQ(objects, 2);
}

TEST_F(AttestationFile, UnwritablePathIsOneLine) {
  testing::internal::CaptureStderr();
  publish(healthy(), AttestPolicy::kAuto, folder_ + "/none/%p.json");
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "ucx-verity: cannot write the attestation to " + folder_ +
                "/none/4242.json: No such file or directory\n");
}

TEST_F(AttestationFile, FileIsWrittenWithoutAnyTextOnStderr) {
  testing::internal::CaptureStderr();
  publish(healthy(), AttestPolicy::kNever, path());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(access(path().c_str(), R_OK), 0);
}

}  // namespace
}  // namespace verity::health
