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
#include <filesystem>
#include <fstream>
#include <optional>

#include "health/report/job_log.h"
#include "unit/health/file.h"

namespace verity::health {
namespace {

Report rank(const std::string& number) {
  Report report;
  report.who.rank = number;
  return report;
}

TEST(HealthJobLog, FilesOfOneProcess) {
  const Folder folder;
  JobLog log;
  ASSERT_TRUE(log.join(folder.path, "launch 1", "0", 2));
  Assembled all;
  EXPECT_EQ(log.leave(rank("0"), JobLog::Exit::kSuccess, &all), JobLog::Outcome::kReports);
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
  const auto file = *std::filesystem::directory_iterator(folder.path);
  struct stat info {};
  ASSERT_EQ(stat(file.path().c_str(), &info), 0);
  EXPECT_LT(info.st_size, 4096);
  EXPECT_GE(info.st_blocks * 512, 64 * 4096);
}

// Files of this process may have so many bytes only, in the life of this.
struct FileLimit {
  rlimit before{};
  explicit FileLimit(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit shorter{bytes, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &shorter);
  }
  ~FileLimit() { setrlimit(RLIMIT_FSIZE, &before); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
};

TEST(HealthJobLog, TheLastOneThatCannotWriteReportsTheOthers) {
  const Folder folder;
  JobLog first, second;
  ASSERT_TRUE(first.join(folder.path, "launch 1", "0", 2));
  ASSERT_TRUE(second.join(folder.path, "launch 1", "1", 2));
  Assembled all;
  EXPECT_EQ(first.leave(rank("0"), JobLog::Exit::kSuccess, &all), JobLog::Outcome::kOthersLive);
  {
    const FileLimit limit(1000);
    EXPECT_EQ(second.leave(rank("1"), JobLog::Exit::kSuccess, &all), JobLog::Outcome::kReports);
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
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      JobLog log;
      Assembled all;
      bool good = log.join(folder.path, "launch 1", number, 3);
      const FileLimit limit(1000);
      good =
          good && log.leave(rank(number), JobLog::Exit::kSuccess, &all) == JobLog::Outcome::kNoLog;
      _exit(good && log.error() == EFBIG ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  Assembled all;
  EXPECT_EQ(last.leave(rank("0"), JobLog::Exit::kSuccess, &all), JobLog::Outcome::kReports);
  EXPECT_EQ(all.reports.size(), 1U);
  EXPECT_EQ(all.registered, 3U);
  EXPECT_EQ(all.unwritten, 2U);
  EXPECT_EQ(all.error, EFBIG);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
}

// All end at once, and only some of them can write: each is in one report, its own or the last
// one's.
TEST(HealthJobLog, WhoCannotWriteIsInOneReport) {
  constexpr unsigned kRanks = 6;
  constexpr unsigned kPrograms = 100;
  struct Shared {
    std::atomic<unsigned> begun[kPrograms], ended[kPrograms], reported[kPrograms];
  };
  const Folder folder;
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* shared = static_cast<Shared*>(memory);
  const auto run = [&](unsigned number) {
    const std::string name = std::to_string(number);
    for (unsigned p = 0; p < kPrograms; ++p) {
      JobLog log;
      Assembled all;
      const std::string launch = "launch " + std::to_string(p);
      if (!log.join(folder.path, launch, name, kRanks)) _exit(1);
      for (++shared->begun[p]; shared->begun[p] < kRanks;) sched_yield();
      std::optional<FileLimit> limit;
      if (number % 3 != 0) limit.emplace(1000);
      const auto outcome = log.leave(rank(name), JobLog::Exit::kSuccess, &all);
      if (outcome == JobLog::Outcome::kNoLog) ++shared->reported[p];
      if (outcome == JobLog::Outcome::kReports)
        shared->reported[p] += static_cast<unsigned>(all.reports.size());
      for (++shared->ended[p]; shared->ended[p] < kRanks;) sched_yield();
    }
    _exit(0);
  };
  for (unsigned i = 0; i < kRanks; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) run(i);
  }
  for (int status = -1; wait(&status) > 0;) EXPECT_EQ(status, 0);
  for (unsigned p = 0; p < kPrograms; ++p) EXPECT_EQ(shared->reported[p], kRanks) << p;
  munmap(memory, sizeof(Shared));
}

// A part of a record at the end of the file, as of a full file system: the others' are read.
TEST(HealthJobLog, TheLastOneReportsTheOthersBeforeAPartOfARecord) {
  const Folder folder;
  JobLog first, second;
  ASSERT_TRUE(first.join(folder.path, "launch 1", "0", 2));
  ASSERT_TRUE(second.join(folder.path, "launch 1", "1", 2));
  Assembled all;
  EXPECT_EQ(first.leave(rank("0"), JobLog::Exit::kSuccess, &all), JobLog::Outcome::kOthersLive);
  std::ofstream(first.path(), std::ios::app) << begin_record({}).substr(0, 20);
  {
    const FileLimit limit(1000);
    EXPECT_EQ(second.leave(rank("1"), JobLog::Exit::kSuccess, &all), JobLog::Outcome::kReports);
  }
  EXPECT_EQ(all.reports.size(), 2U);
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
  EXPECT_EQ(first.leave(rank("0"), JobLog::Exit::kSuccess, &all), JobLog::Outcome::kOthersLive);
  ASSERT_EQ(close(next), 0);
  const int others = open("/dev/null", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(second.leave(rank("1"), JobLog::Exit::kSuccess, &all), JobLog::Outcome::kReports);
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
  EXPECT_EQ(first[0].leave(rank("0"), JobLog::Exit::kSuccess, &all), JobLog::Outcome::kOthersLive);
  join(second[0], "0");
  EXPECT_EQ(first[1].leave(rank("1"), JobLog::Exit::kSuccess, &all), JobLog::Outcome::kReports);
  EXPECT_EQ(all.registered, 2U);
  join(second[1], "1");
  EXPECT_EQ(second[0].leave(rank("0"), JobLog::Exit::kSuccess, &all), JobLog::Outcome::kOthersLive);
  EXPECT_EQ(second[1].leave(rank("1"), JobLog::Exit::kSuccess, &all), JobLog::Outcome::kReports);
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
      for (++begun[p]; begun[p] < kCount;) sched_yield();
      if (!joined ||
          log.leave(rank(number), JobLog::Exit::kSuccess, &all) != JobLog::Outcome::kReports)
        continue;
      ++reports[p];
      reported[p] += static_cast<unsigned>(all.reports.size());
    }
  }
};

TEST(HealthJobLog, TheNextProgramBeginsWhileTheLastOneEnds) {
  const Folder folder;
  void* memory =
      mmap(nullptr, sizeof(Ranks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* ranks = static_cast<Ranks*>(memory);
  for (unsigned i = 0; i < Ranks::kCount; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ranks->run(folder.path, std::to_string(i));
      _exit(0);
    }
  }
  while (wait(nullptr) > 0) {}
  for (unsigned p = 0; p < Ranks::kPrograms; ++p) {
    EXPECT_EQ(ranks->reports[p], 1U) << p;
    EXPECT_EQ(ranks->reported[p], Ranks::kCount) << p;
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path));
  munmap(memory, sizeof(Ranks));
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
  EXPECT_EQ(log.leave(rank("1"), JobLog::Exit::kSuccess, &all), JobLog::Outcome::kReports);
  EXPECT_EQ(all.registered, 2U);
  EXPECT_EQ(all.reports.size(), 1U);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

// A launcher kills the one that stays when the other is seen to fail: so that one reports.
TEST(HealthJobLog, WhoFailsAtOnceReportsForThoseThatStay) {
  const Folder folder;
  JobLog other;  // works on
  ASSERT_TRUE(other.join(folder.path, "launch 1", "2", 3));
  const auto run = [&](const std::string& number, JobLog::Exit exit) {
    JobLog log;
    Assembled all;
    if (!log.join(folder.path, "launch 1", number, 3)) return 9;
    usleep(exit == JobLog::Exit::kError ? 400'000 : 200'000);
    const auto outcome = log.leave(rank(number), exit, &all);
    return outcome == JobLog::Outcome::kReports ? static_cast<int>(all.reports.size()) : 0;
  };
  pid_t children[2];
  for (const int i : {0, 1}) {
    children[i] = fork();
    ASSERT_GE(children[i], 0);
    if (children[i] == 0)
      _exit(run(std::to_string(i), i == 0 ? JobLog::Exit::kErrorAtEnd : JobLog::Exit::kError));
  }
  const int reports[2] = {0, 2};
  for (const int i : {0, 1}) {
    int status = -1;
    waitpid(children[i], &status, 0);
    EXPECT_EQ(status, reports[i] << 8) << i;
  }
}

// All ranks of a program end with an error after MPI_Finalize: one report, of all of them.
TEST(HealthJobLog, ThoseThatFailTogetherHaveOneReport) {
  const Folder folder;
  constexpr unsigned kRanks = 4;
  void* memory =
      mmap(nullptr, sizeof(Ranks), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* ranks = static_cast<Ranks*>(memory);
  for (unsigned i = 0; i < kRanks; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child != 0) continue;
    JobLog log;
    Assembled all;
    const bool joined = log.join(folder.path, "launch 1", std::to_string(i), kRanks);
    for (++ranks->begun[0]; ranks->begun[0] < kRanks;) sched_yield();
    usleep(i * 20000);
    if (joined && log.leave(rank(std::to_string(i)), JobLog::Exit::kErrorAtEnd, &all) ==
                      JobLog::Outcome::kReports) {
      ++ranks->reports[0];
      ranks->reported[0] += static_cast<unsigned>(all.reports.size());
    }
    _exit(0);
  }
  for (unsigned i = 0; i < kRanks; ++i) wait(nullptr);
  EXPECT_EQ(ranks->reports[0], 1U);
  EXPECT_EQ(ranks->reported[0], kRanks);
  munmap(memory, sizeof(Ranks));
}

// One that fails waits for no rank that has work to do still.
TEST(HealthJobLog, WhoFailsReportsSoon) {
  const Folder folder;
  JobLog first, second;
  ASSERT_TRUE(first.join(folder.path, "launch 1", "0", 2));
  ASSERT_TRUE(second.join(folder.path, "launch 1", "1", 2));
  Assembled all;
  EXPECT_EQ(first.leave(rank("0"), JobLog::Exit::kErrorAtEnd, &all), JobLog::Outcome::kReports);
  EXPECT_EQ(all.reports.size(), 1U);
}

TEST(HealthJobLog, FoldersThatCannotBeUsed) {
  const Folder folder;
  JobLog log;
  EXPECT_FALSE(log.join(folder.path + "/none", "launch 1", "0", 2));
  Assembled all;
  EXPECT_EQ(log.leave(rank("0"), JobLog::Exit::kSuccess, &all), JobLog::Outcome::kNoLog);
}

}  // namespace
}  // namespace verity::health
