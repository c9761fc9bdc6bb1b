// SPDX-License-Identifier: BSD-3-Clause
// When old files are removed.
#include <fcntl.h>

#include "unit/health/process.h"

namespace verity::health {
namespace {

constexpr std::uint64_t kHour = 3'600'000'000'000;

class HealthCollect : public ::testing::Test {
 protected:
  std::size_t collect_at(std::uint64_t now) {
    Directory directory;
    EXPECT_EQ(directory.open(folder_.path), "");
    bool more;
    return collect(directory, directory.names(1000, &more), now, kHour);
  }
  const Folder folder_;
  const std::uint64_t now_ = realtime_ns();
};

TEST_F(HealthCollect, EndedOnesGoAfterTheirTime) {
  in_child([&] { Process(folder_.path).table->end(now_); });
  EXPECT_EQ(collect_at(now_ + kHour - 1), 0u);
  EXPECT_EQ(folder_.names().size(), 1u);
  EXPECT_EQ(collect_at(now_ + kHour), 1u);
  EXPECT_EQ(folder_.names().size(), 0u);
}

// It may have run for days: its time begins when it is noticed.
TEST_F(HealthCollect, KilledOnesStayForTheirTimeOnceNoticed) {
  in_child([&] { new Process(folder_.path), kill(getpid(), SIGKILL); }, SIGKILL);
  EXPECT_EQ(collect_at(now_ - 100 * kHour), 0u);
  const HealthFile file = folder_.read(folder_.names().at(0));
  EXPECT_EQ(file.life, Life::kKilled);
  EXPECT_EQ(file.ended_ns, now_ - 100 * kHour);
  EXPECT_EQ(collect_at(now_ - 99 * kHour - 1), 0u);
  EXPECT_EQ(collect_at(now_ - 99 * kHour), 1u);
}

TEST_F(HealthCollect, OnesThatAreNoticedInTheFutureGo) {
  in_child([&] { new Process(folder_.path), kill(getpid(), SIGKILL); }, SIGKILL);
  EXPECT_EQ(collect_at(now_ + 10'000 * kHour), 0u);
  EXPECT_EQ(collect_at(now_), 0u);
  EXPECT_EQ(collect_at(now_ + 2 * kHour), 1u);
}

// The clock was ahead, until the host heard of the time.
TEST_F(HealthCollect, OnesThatEndedInTheFutureGo) {
  in_child([&] { Process(folder_.path).table->end(now_ + 10'000 * kHour); });
  EXPECT_EQ(collect_at(now_), 0u);
  EXPECT_EQ(collect_at(now_ + 2 * kHour), 1u);
  in_child([&] { Process(folder_.path).table->end(now_ + 10'000 * kHour); });
  const timespec to_come[2] = {{4'000'000'000, 0}, {4'000'000'000, 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, (folder_.path + "/" + folder_.names().at(0)).c_str(), to_come, 0),
            0);
  EXPECT_EQ(collect_at(now_), 1u);
}

// A folder that two hosts share, without locks between them: only the other one knows whether its
// process runs. After a restart that host has another boot, and the same name.
TEST_F(HealthCollect, OnesOfAnotherHostStayUntilTheyEnd) {
  const auto leave = [&](const std::string& host, bool ended) {
    in_child(
        [&] {
          Process& process = *new Process(folder_.path);
          auto& header = *reinterpret_cast<FileHeader*>(process.segment.base());
          put_text(header.boot_id, "another");
          put_text(header.host, host);
          if (ended) process.table->end(now_);
          kill(getpid(), SIGKILL);
        },
        SIGKILL);
  };
  leave("elsewhere", false);
  const std::string name = folder_.names().at(0);
  EXPECT_EQ(collect_at(now_), 0u);
  EXPECT_EQ(collect_at(now_ + 100 * kHour), 0u);
  EXPECT_EQ(folder_.read(name).life, Life::kRunning);
  EXPECT_EQ(folder_.read(name).snapshot.state, uint32_t{UCX_VERITY_HEALTH_RUNNING});
  leave("elsewhere", true);
  EXPECT_EQ(collect_at(now_ + kHour), 1u);
  EXPECT_EQ(folder_.names(), std::vector{name});
  leave(host_name({}), false);
  EXPECT_EQ(collect_at(now_), 0u);
  EXPECT_EQ(collect_at(now_ + kHour), 1u);
  EXPECT_EQ(folder_.names(), std::vector{name});
}

TEST_F(HealthCollect, RunningOnesStay) {
  Process process(folder_.path);
  EXPECT_EQ(collect_at(now_ + 100 * kHour), 0u);
  EXPECT_EQ(folder_.names().size(), 1u);
}

TEST_F(HealthCollect, UnreadableOnesGoAndOthersThingsStay) {
  folder_.write("1.health", "cut");
  folder_.write(".2.health", "never finished");
  folder_.write("notes.txt", "not ours");
  ASSERT_EQ(mkfifo((folder_.path + "/4.health").c_str(), 0600), 0);
  EXPECT_EQ(collect_at(now_), 0u);
  EXPECT_EQ(collect_at(now_ + 2 * kHour), 1u);
  EXPECT_FALSE(std::filesystem::exists(folder_.path + "/.2.health"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path + "/notes.txt"));
  EXPECT_TRUE(std::filesystem::exists(folder_.path + "/4.health"));
}

TEST_F(HealthCollect, WhoAddsThemUpIsAskedBefore) {
  in_child([&] { Process(folder_.path).table->end(1); });
  Directory directory;
  ASSERT_EQ(directory.open(folder_.path), "");
  int asked = 0;
  EXPECT_EQ(
      collect(directory, folder_.names(), now_, 0, [&](const HealthFile&) { return ++asked > 1; }),
      0u);
  EXPECT_EQ(
      collect(directory, folder_.names(), now_, 0, [&](const HealthFile&) { return ++asked > 1; }),
      1u);
}

TEST_F(HealthCollect, AStartLooksAtSomeOnly) {
  for (int i = 0; i < 200; ++i) folder_.write(std::to_string(i) + ".health", "stale");
  collect_some(folder_.path, "0.health", now_ + 2 * kHour, kHour);
  EXPECT_EQ(folder_.names().size(), 136u);
  collect_some("/nowhere", "", now_, kHour);
}

// Old ones are found behind any number of younger ones, and those of other users.
TEST_F(HealthCollect, AStartLooksEverywhere) {
  for (int i = 0; i < 100; ++i) folder_.write("old" + std::to_string(i) + ".health", "stale");
  const timespec past[2] = {{1, 0}, {1, 0}};
  for (int i = 0; i < 100; ++i)
    utimensat(AT_FDCWD, (folder_.path + "/old" + std::to_string(i) + ".health").c_str(), past, 0);
  for (int i = 0; i < 5000; ++i) {
    const std::string name = "new" + std::to_string(i) + ".health";
    folder_.write(name, "stale");
    if (geteuid() == 0) (void)!lchown((folder_.path + "/" + name).c_str(), 1, 1);
  }
  for (int i = 0; i < 20; ++i) collect_some(folder_.path, "", now_ + kHour / 2, kHour);
  Directory directory;
  ASSERT_EQ(directory.open(folder_.path), "");
  bool more;
  EXPECT_LT(directory.names(10000, &more).size(), geteuid() == 0 ? 5010u : 5095u);
}

TEST_F(HealthCollect, AStartLeavesFilesOfOthersAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  for (const char* name : {"1.health", ".2.health"}) {
    folder_.write(name, "stale");
    ASSERT_EQ(lchown((folder_.path + "/" + name).c_str(), 1, 1), 0);
  }
  collect_some(folder_.path, "", now_ + 2 * kHour, kHour);
  EXPECT_EQ(access((folder_.path + "/1.health").c_str(), F_OK), 0);
  EXPECT_EQ(access((folder_.path + "/.2.health").c_str(), F_OK), 0);
  EXPECT_EQ(collect_at(now_ + 2 * kHour), 1u) << "on request root removes files of all users";
  EXPECT_NE(access((folder_.path + "/.2.health").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace verity::health
