// SPDX-License-Identifier: BSD-3-Clause
// The file in which a job's ranks on one host find each other.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "health/report/job_log.h"
#include "unit/health/file.h"
#include "unit/health/job.h"
#include "unit/health/process.h"

namespace verity::health {
namespace {

TEST(HealthJobLog, FilesOfOneProcess) {
  const Folder folder;
  JobLog log;
  ASSERT_TRUE(log.join(folder.path, "launch 1", "0", 2));
  Assembled all;
  EXPECT_EQ(log.leave(rank("0"), Exit::kSuccess, &all), JobLog::Outcome::kReports);
  EXPECT_EQ(all.registered, 1U);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

// Others may fill the file system before the ranks end.
TEST(HealthJobLog, TheSpaceOfAllAccountsIsTakenAtTheStart) {
  const Folder folder;
  const int probe = open(folder.path.c_str(), O_RDWR | O_TMPFILE, 0600);
  const bool can_take = fallocate(probe, FALLOC_FL_KEEP_SIZE, 0, 4096) == 0;
  close(probe);
  if (!can_take) GTEST_SKIP() << "not in the file system of " << folder.path;
  JobLog log;
  ASSERT_TRUE(log.join(folder.path, "launch 1", "0", 64));
  struct stat info {};
  ASSERT_EQ(stat(log.path().c_str(), &info), 0);
  EXPECT_LT(info.st_size, 4096);
  EXPECT_GE(info.st_blocks * 512, 64 * 4096);
  JobLog logs[64];  // of a launcher that does not say how many there are
  for (JobLog& one : logs) ASSERT_TRUE(one.join(folder.path, "launch 2", "0", 0));
  ASSERT_EQ(stat(logs[0].path().c_str(), &info), 0);
  EXPECT_GE(info.st_blocks * 512, 64 * 4096);
}

TEST(HealthJobLog, TheLastOneThatCannotWriteReportsTheOthers) {
  const Folder folder;
  TwoRanks ranks(folder);
  auto& [first, second] = ranks;
  Assembled all;
  EXPECT_EQ(first.leave(rank("0"), Exit::kSuccess, &all), JobLog::Outcome::kOthersLive);
  {
    const FileLimit limit(1000);
    EXPECT_EQ(second.leave(rank("1"), Exit::kSuccess, &all), JobLog::Outcome::kReports);
  }
  EXPECT_EQ(all.reports.size(), 2U);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

TEST(HealthJobLog, WhoCannotBeginLeavesNoFile) {
  const Folder folder;
  JobLog log;
  {
    const FileLimit limit(10);
    EXPECT_FALSE(log.join(folder.path, "launch 1", "0", 2));
  }
  EXPECT_EQ(log.error(), EFBIG);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
  JobLog first;  // nor is one removed in which another one has begun
  ASSERT_TRUE(first.join(folder.path, "launch 1", "0", 2));
  {
    const FileLimit limit(10);
    EXPECT_FALSE(log.join(folder.path, "launch 1", "1", 2));
  }
  EXPECT_FALSE(std::filesystem::is_empty(folder.path));
}

// It has printed a report of its own, as others lived, and is no rank that died.
TEST(HealthJobLog, WhoCannotWriteSaysWhy) {
  const Folder folder;
  JobLog last;
  ASSERT_TRUE(last.join(folder.path, "launch 1", "0", 3));
  for (const std::string number : {"1", "2"}) {
    const unsigned good = run_ranks(1, [&](unsigned) {
      JobLog log;
      Assembled all;
      ASSERT_TRUE(log.join(folder.path, "launch 1", number, 3));
      const FileLimit limit(1000);
      EXPECT_EQ(log.leave(rank(number), Exit::kSuccess, &all), JobLog::Outcome::kNoLog);
      EXPECT_EQ(log.error(), EFBIG);
    });
    EXPECT_EQ(good, 1U);
  }
  Assembled all;
  EXPECT_EQ(last.leave(rank("0"), Exit::kSuccess, &all), JobLog::Outcome::kReports);
  EXPECT_EQ(all.reports.size(), 1U);
  EXPECT_EQ(all.registered, 3U);
  EXPECT_EQ(all.unwritten, 2U);
  EXPECT_EQ(all.error, EFBIG);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

TEST(HealthJobLog, WhoMayWriteNothingSaysWhy) {
  const Folder folder;
  TwoRanks ranks(folder);
  auto& [log, other] = ranks;
  Assembled all;
  {
    const FileLimit limit(0);  // a write would be SIGXFSZ
    EXPECT_EQ(log.leave(rank("0"), Exit::kSuccess, &all), JobLog::Outcome::kNoLog);
  }
  EXPECT_EQ(other.leave(rank("1"), Exit::kSuccess, &all), JobLog::Outcome::kReports);
  EXPECT_EQ(all.unwritten, 1U);
  EXPECT_EQ(all.error, EFBIG);
}

// All end at once, and only some of them can write: each is in one report, its own or the last
// one's.
TEST(HealthJobLog, WhoCannotWriteIsInOneReport) {
  constexpr unsigned kRanks = 6;
  constexpr unsigned kPrograms = 100;
  struct Programs {
    std::atomic<unsigned> begun[kPrograms], ended[kPrograms], reported[kPrograms];
  };
  const Folder folder;
  const Shared<Programs> shared;
  const unsigned good = run_ranks(kRanks, [&](unsigned number) {
    const std::string name = std::to_string(number);
    for (unsigned p = 0; p < kPrograms; ++p) {
      JobLog log;
      Assembled all;
      ASSERT_TRUE(log.join(folder.path, "launch " + std::to_string(p), name, kRanks));
      meet(shared->begun[p], kRanks);
      std::optional<FileLimit> limit;
      if (number % 3 != 0) limit.emplace(1000);
      const auto outcome = log.leave(rank(name), Exit::kSuccess, &all);
      if (outcome == JobLog::Outcome::kNoLog) ++shared->reported[p];
      if (outcome == JobLog::Outcome::kReports)
        shared->reported[p] += static_cast<unsigned>(all.reports.size());
      meet(shared->ended[p], kRanks);
    }
  });
  EXPECT_EQ(good, kRanks);
  for (unsigned p = 0; p < kPrograms; ++p) EXPECT_EQ(shared->reported[p], kRanks) << p;
}

// A part of a record in the file, as of a full file system, in which there may be room again.
TEST(HealthJobLog, TheLastOneReportsTheOthersBesideAPartOfARecord) {
  const Folder folder;
  for (const rlim_t limit : {rlim_t{1000}, RLIM_INFINITY}) {
    TwoRanks ranks(folder);
    auto& [first, second] = ranks;
    Assembled all;
    EXPECT_EQ(first.leave(rank("0"), Exit::kSuccess, &all), JobLog::Outcome::kOthersLive);
    std::ofstream(first.path(), std::ios::app) << begin_record({}).substr(0, 20);
    const FileLimit for_second(limit);
    EXPECT_EQ(second.leave(rank("1"), Exit::kSuccess, &all), JobLog::Outcome::kReports);
    EXPECT_EQ(all.reports.size(), 2U);
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

// As by a program that closes all descriptors that it does not know.
TEST(HealthJobLog, TheLastOneWhoseDescriptorWasClosedReportsTheOthers) {
  const Folder folder;
  JobLog first, second;
  ASSERT_TRUE(first.join(folder.path, "launch 1", "0", 2));
  const int next = dup(0);
  close(next);  // of the second one's file
  ASSERT_TRUE(second.join(folder.path, "launch 1", "1", 2));
  Assembled all;
  EXPECT_EQ(first.leave(rank("0"), Exit::kSuccess, &all), JobLog::Outcome::kOthersLive);
  ASSERT_EQ(close(next), 0);
  const int others = open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(second.leave(rank("1"), Exit::kSuccess, &all), JobLog::Outcome::kReports);
  EXPECT_EQ(all.reports.size(), 2U);
  EXPECT_EQ(others, next);
  EXPECT_EQ(close(others), 0);  // it is open still
}

TEST(HealthJobLog, TheNextProgramOfALaunchHasOneFileToo) {
  const Folder folder;
  JobLog first[2], second[2];
  const auto join = [&](JobLog& log, const std::string& number) {
    ASSERT_TRUE(log.join(folder.path, "launch 1", number, 2));
  };
  Assembled all;
  join(first[0], "0");
  join(first[1], "1");
  EXPECT_EQ(first[0].leave(rank("0"), Exit::kSuccess, &all), JobLog::Outcome::kOthersLive);
  join(second[0], "0");
  EXPECT_EQ(first[1].leave(rank("1"), Exit::kSuccess, &all), JobLog::Outcome::kReports);
  EXPECT_EQ(all.registered, 2U);
  join(second[1], "1");
  EXPECT_EQ(second[0].leave(rank("0"), Exit::kSuccess, &all), JobLog::Outcome::kOthersLive);
  EXPECT_EQ(second[1].leave(rank("1"), Exit::kSuccess, &all), JobLog::Outcome::kReports);
  EXPECT_EQ(all.registered, 2U);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

// Several ranks run programs one after the other, which all begin and end at once. Each program has
// one report, of all ranks.
struct Ranks {
  static constexpr unsigned kCount = 4;
  static constexpr unsigned kPrograms = 100;
  std::atomic<unsigned> begun[kPrograms];
  std::atomic<unsigned> reports[kPrograms];
  std::atomic<unsigned> reported[kPrograms];  // ranks in them

  void run(const std::string& folder, const std::string& number) {
    for (unsigned p = 0; p < kPrograms; ++p) {
      JobLog log;
      Assembled all;
      const bool joined = log.join(folder, "launch 1", number, kCount);
      meet(begun[p], kCount);
      if (!joined || log.leave(rank(number), Exit::kSuccess, &all) != JobLog::Outcome::kReports)
        continue;
      ++reports[p];
      reported[p] += static_cast<unsigned>(all.reports.size());
    }
  }
};

TEST(HealthJobLog, TheNextProgramBeginsWhileTheLastOneEnds) {
  const Folder folder;
  const Shared<Ranks> ranks;
  run_ranks(Ranks::kCount, [&](unsigned i) { ranks->run(folder.path, std::to_string(i)); });
  for (unsigned p = 0; p < Ranks::kPrograms; ++p) {
    EXPECT_EQ(ranks->reports[p], 1U) << p;
    EXPECT_EQ(ranks->reported[p], Ranks::kCount) << p;
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

// A rank that runs something else by exec() after its program: it is the same process.
TEST(HealthJobLog, WhoRunsAnotherProgramIsNotWaitedFor) {
  const Folder folder;
  int until_exec[2];
  ASSERT_EQ(pipe2(until_exec, O_CLOEXEC), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    JobLog log;
    if (log.join(folder.path, "launch 1", "0", 2)) execlp("sleep", "sleep", "60", nullptr);
    _exit(1);
  }
  close(until_exec[1]);
  char byte;
  EXPECT_EQ(read(until_exec[0], &byte, 1), 0);
  close(until_exec[0]);
  JobLog log;
  EXPECT_TRUE(log.join(folder.path, "launch 1", "1", 2));
  Assembled all;
  EXPECT_EQ(log.leave(rank("1"), Exit::kSuccess, &all), JobLog::Outcome::kReports);
  EXPECT_EQ(all.registered, 2U);
  EXPECT_EQ(all.reports.size(), 1U);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

// One that was killed holds its lock until its memory is freed.
TEST(HealthJobLog, WhoIsKilledIsNotWaitedForWhileItsMemoryIsFreed) {
  const Folder folder;
  constexpr std::size_t kBytes = 256 << 20;
  JobLog log;
  ASSERT_TRUE(log.join(folder.path, "launch 1", "0", 2));
  int until_ready[2];
  ASSERT_EQ(pipe(until_ready), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    void* memory =
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED && madvise(memory, kBytes, MADV_NOHUGEPAGE) == 0)
      std::memset(memory, 1, kBytes);
    JobLog other;
    if (other.join(folder.path, "launch 1", "1", 2) && write(until_ready[1], "", 1) == 1) pause();
    _exit(1);
  }
  char byte;
  EXPECT_EQ(read(until_ready[0], &byte, 1), 1);
  close(until_ready[0]);
  close(until_ready[1]);
  kill(child, SIGKILL);
  const auto pid = static_cast<std::uint64_t>(child);
  while (!is_exiting(pid) && waitpid(child, nullptr, WNOHANG) == 0) {}
  Assembled all;
  EXPECT_EQ(log.leave(rank("0"), Exit::kSuccess, &all), JobLog::Outcome::kReports);
  EXPECT_EQ(all.registered, 2U);
  EXPECT_EQ(all.reports.size(), 1U);
  waitpid(child, nullptr, 0);
}

// What such a process prints all the same goes to the files with the streams' numbers.
TEST(HealthJobLog, NoFileIsAStandardStream) {
  const Folder folder;
  in_child([&] {
    for (const int stream : {0, 1, 2}) close(stream);
    const Process process(folder.path);
    JobLog log;
    if (!process.problem.empty() || !log.join(folder.path, "launch 1", "0", 2)) _exit(1);
    for (const int stream : {0, 1, 2}) (void)!write(stream, "hello", 5);
    Assembled all;
    if (log.leave(rank("0"), Exit::kSuccess, &all) != JobLog::Outcome::kReports) _exit(2);
    struct stat info {};
    for (const int stream : {0, 1, 2}) {
      if (fstat(stream, &info) == 0) _exit(3);
    }
  });
  ASSERT_EQ(folder.names().size(), 1U);
  EXPECT_EQ(folder.read(folder.names().front()).problem, "");
}

TEST(HealthJobLog, FoldersThatCannotBeUsed) {
  const Folder folder;
  JobLog log;
  EXPECT_FALSE(log.join(folder.path + "/none", "launch 1", "0", 2));
  Assembled all;
  EXPECT_EQ(log.leave(rank("0"), Exit::kSuccess, &all), JobLog::Outcome::kNoLog);
}

}  // namespace
}  // namespace verity::health
