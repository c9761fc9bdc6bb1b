// SPDX-License-Identifier: BSD-3-Clause
#include "health/process_id.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace verity::health {
namespace {

TEST(HealthProcessId, TellsProcessesApart) {
  const auto ticks = [](std::string_view stat) { return parse_stat(stat, StatField::kStartTicks); };
  const std::string stat =
      "1 (a) b) (c) S 1 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 1 0 8413 1 1 2 3 4 140737 1";
  EXPECT_EQ(ticks(stat), 8413u);
  EXPECT_EQ(parse_stat(stat, StatField::kStackStart), 140737u);
  EXPECT_EQ(parse_stat(stat, StatField::kFlags), 4194560u);
  EXPECT_EQ(ticks("1 (a) S 1 1"), 0u);
  EXPECT_EQ(ticks("1 (a) Z 1 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 1 0 8413 1 1"), 0u);
  EXPECT_EQ(ticks(""), 0u);
  EXPECT_NE(start_ticks(static_cast<std::uint64_t>(getpid())), 0u);
  EXPECT_NE(stack_start(static_cast<std::uint64_t>(getpid())), 0u);
  EXPECT_FALSE(is_exiting(static_cast<std::uint64_t>(getpid())));
  EXPECT_EQ(start_ticks(0), 0u);
}

TEST(HealthProcessId, UsersOfContainersHaveANumberOutside) {
  EXPECT_EQ(user_outside(1000, "         0          0 4294967295\n"), 1000u);
  const char* rootless = "         0       1000          1\n         1     100000      65536\n";
  EXPECT_EQ(user_outside(0, rootless), 1000u);
  EXPECT_EQ(user_outside(1, rootless), 100000u);
  EXPECT_EQ(user_outside(1001, rootless), 101000u);
  EXPECT_EQ(user_outside(65534, "0 1000 1\n"), 65534u) << "it has none";
  EXPECT_EQ(user_outside(1000, "0 1 1000\n1000 0 1\n"), 1000u) << "within another namespace";
  EXPECT_EQ(user_outside(7, ""), 7u);
  EXPECT_EQ(user_outside(7, "x\n0 1000"), 7u) << "cut off";
}

TEST(HealthProcessId, LongHostNamesKeepADifference) {
  EXPECT_EQ(short_name("node17", 20), "node17");
  EXPECT_EQ(short_name("exactly-twenty-chars", 20), "exactly-twenty-chars");
  const std::string one = short_name("gke-cluster-default-pool-0001", 20);
  const std::string two = short_name("gke-cluster-default-pool-0002", 20);
  EXPECT_EQ(one.size(), 20u);
  EXPECT_EQ(one.substr(0, 13), "gke-cluster-~");
  EXPECT_NE(one, two);
  EXPECT_EQ(name_hash("node17"),
            0x5b096179u);  // addresses have it: it must not change within a version of the protocol
  EXPECT_EQ(host_name("given"), "given");
  EXPECT_EQ(without_domain("node17.cluster.example.org"), "node17");
  EXPECT_EQ(without_domain("17node"), "17node");
  EXPECT_EQ(without_domain("10.1.2.3"), "10.1.2.3") << "not all hosts are called 10";
}

}  // namespace
}  // namespace verity::health
