// SPDX-License-Identifier: BSD-3-Clause
#include "health/files/belief.h"

#include <gtest/gtest.h>

namespace verity::health {
namespace {

constexpr std::uint32_t kAlice = 1001, kBob = 1002;

Snapshot honest() {
  Snapshot snapshot;
  snapshot.boot_id = "boot";
  snapshot.pid = 7;
  snapshot.rows.resize(2);
  for (SnapshotRow& row : snapshot.rows) {
    row.counters.bytes_verified = std::uint64_t{1} << 50;
    row.counters.faults_payload = 100;
  }
  return snapshot;
}

FileFacts facts() {
  return {.owner = kAlice,
          .folder_owner = kAlice,
          .born_ns = 1'000'000'000'000'000,
          .uptime_ns = 86'400'000'000'000,
          .boot_id = "boot"};
}

TEST(Belief, HonestFile) { EXPECT_EQ(doubt(honest(), facts(), 0), ""); }

TEST(Belief, Folders) {
  FileFacts in = facts();
  in.folder_owner = 0;
  EXPECT_EQ(doubt(honest(), in, 0), "") << "the site's";
  in.folder_owner = kBob;
  EXPECT_EQ(doubt(honest(), in, 0), "its folder belongs to user 1002");
  in = facts();
  in.folder_open = true;
  EXPECT_NE(doubt(honest(), in, 0), "");
}

TEST(Belief, OtherBoots) {
  Snapshot other = honest();
  other.boot_id = "before";
  EXPECT_NE(doubt(other, facts(), 0), "");
  other.boot_id = "";
  EXPECT_NE(doubt(other, facts(), 0), "");
}

TEST(Belief, Copies) {
  Snapshot ended = honest();
  ended.ended_ns = facts().born_ns - kClockStep - 1;
  EXPECT_EQ(doubt(ended, facts(), 0), "its process ended before the file was made: a copy");
  ended.ended_ns = facts().born_ns - 1'000'000'000;
  EXPECT_EQ(doubt(ended, facts(), 0), "") << "a clock that was set";
  FileFacts unknown = facts();
  unknown.born_ns = 0;
  ended.ended_ns = 1;
  EXPECT_EQ(doubt(ended, unknown, 0), "") << "a file system that does not say";
}

TEST(Belief, Rates) {
  Snapshot huge = honest();
  huge.rows[0].counters.faults_payload = ~std::uint64_t{0};
  EXPECT_EQ(doubt(huge, facts(), 0),
            "faults_payload is more than this host can have done since it was booted");
  huge = honest();
  huge.rows.resize(16384);
  for (SnapshotRow& row : huge.rows) row.counters.bytes_sent = std::uint64_t{1} << 50;
  EXPECT_NE(doubt(huge, facts(), 0), "") << "the sum counts";
}

TEST(Belief, RootAndOneselfAreBelieved) {
  Snapshot odd = honest();
  odd.boot_id = "before";
  FileFacts of_root = facts();
  of_root.owner = of_root.folder_owner = 0;
  EXPECT_EQ(doubt(odd, of_root, 0), "");
  EXPECT_EQ(doubt(odd, facts(), kAlice), "");
}

}  // namespace
}  // namespace verity::health
