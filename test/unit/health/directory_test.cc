// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <atomic>
#include <thread>

#include "health/files/interface_rows.h"
#include "unit/health/process.h"

namespace verity::health {
namespace {

constexpr std::uint64_t kHour = 3'600'000'000'000;

TEST(HealthDirectory, AFileIsReadWhileItsProcessRuns) {
  const Folder folder;
  Process process(folder.path);
  ASSERT_EQ(process.problem, "");
  InterfaceRows tcp(*process.table, "vtcp", "eth0", 0);
  tcp.peer("node18", 0).frames_sent = 9;
  const auto names = folder.names();
  ASSERT_EQ(names.size(), 1u);
  const HealthFile file = folder.read(names[0]);
  EXPECT_EQ(file.problem, "");
  EXPECT_EQ(file.life, Life::kRunning);
  EXPECT_EQ(file.snapshot.sum().frames_sent, 9u);
  EXPECT_EQ(file.snapshot.sum().types_checked, 3u);  // counted before there was a file
  EXPECT_EQ(file.owner, geteuid());
  EXPECT_EQ(process.segment.path(), folder.path + "/" + names[0]);
}

TEST(HealthDirectory, AFileIsPrivateUnlessItsModeSaysOtherwise) {
  const Folder folder;
  const mode_t old = umask(077);
  Process mine(folder.path);
  Process open(folder.path, 0644);
  umask(old);
  struct stat info {};
  ASSERT_EQ(stat(mine.segment.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  ASSERT_EQ(stat(open.segment.path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0644u);
}

TEST(HealthDirectory, KilledProcessesKeepWhatTheyCounted) {
  const Folder folder;
  in_child(
      [&] {
        Process process(folder.path);
        InterfaceRows tcp(*process.table, "vtcp", "eth0", 0);
        for (int i = 0; i < 1000; ++i) tcp.peer("node18", 0).frames_sent++;
        kill(getpid(), SIGKILL);
      },
      SIGKILL);
  const auto names = folder.names();
  ASSERT_EQ(names.size(), 1u);
  const HealthFile file = folder.read(names[0]);
  EXPECT_EQ(file.life, Life::kKilled);
  EXPECT_EQ(file.ended_ns, 0u);
  EXPECT_EQ(file.snapshot.sum().frames_sent, 1000u);
}

TEST(HealthDirectory, AProcessThatEndedSaysSo) {
  const Folder folder;
  in_child([&] { Process(folder.path).table->end(123); });
  const HealthFile file = folder.read(folder.names().at(0));
  EXPECT_EQ(file.life, Life::kEnded);
  EXPECT_EQ(file.ended_ns, 123u);
}

// The lock alone shows it, too: in a container the process has another number than outside.
TEST(HealthDirectory, ALockedFileIsARunningProcess) {
  const Folder folder;
  Process process(folder.path);
  auto& header = *reinterpret_cast<FileHeader*>(process.segment.base());
  header.pid = 0x7fffffff;
  const std::string name = folder.names().at(0);
  collect_some(folder.path, name, realtime_ns(), kHour);  // leaves the lock where it is
  Life seen = Life::kRunning;
  in_child([&] { seen = folder.read(name).life, _exit(seen == Life::kRunning ? 0 : 1); });
  header.pid = static_cast<std::uint64_t>(getpid());
  header.start_ticks++;  // a later process with our number
  in_child([&] { seen = folder.read(name).life, _exit(seen == Life::kRunning ? 0 : 1); });
}

// What the file of a process says that now runs another program.
Life life_after_exec() {
  const Folder folder;
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t child = fork();
  if (child == 0) {
    const Process process(folder.path);
    execlp("sleep", "sleep", "100", nullptr);
    _exit(1);
  }
  close(ends[1]);
  char none;
  EXPECT_EQ(read(ends[0], &none, 1), 0);  // until it is another program
  close(ends[0]);
  const Life seen = folder.read(folder.names().at(0)).life;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  return seen;
}

// exec() keeps the process's number and its time of start, and unlocks the file. The mark of its
// stack is the same by chance once in 255 times.
TEST(HealthDirectory, AProcessThatRunsAnotherProgramIsOver) {
  Life seen = Life::kRunning;
  for (int i = 0; i < 4 && seen == Life::kRunning; ++i) seen = life_after_exec();
  EXPECT_EQ(seen, Life::kKilled);
}

TEST(HealthDirectory, AChildDoesNotWriteToItsParentsFile) {
  const Folder folder;
  Process process(folder.path);
  InterfaceRows tcp(*process.table, "vtcp", "eth0", 0);
  tcp.own().frames_sent = 5;
  in_child([&] {
    process.segment.unshare();
    tcp.own().frames_sent += 7;
    for (int i = 0; i < 100; ++i) tcp.peer(std::to_string(i), 0).frames_sent++;
    process.table->end(1);
    _exit(process.table->sum().frames_sent == 107 ? 0 : 1);
  });
  const HealthFile file = folder.read(folder.names().at(0));
  EXPECT_EQ(file.snapshot.sum().frames_sent, 5u);
  EXPECT_EQ(file.life, Life::kRunning);
  EXPECT_EQ(file.snapshot.rows.size(), 2u);
}

// A child forked before there is a file has memory of its own as well.
TEST(HealthDirectory, AChildDoesNotWriteToItsParentsMemory) {
  Segment segment;
  Table table(segment, this_process());
  InterfaceRows tcp(table, "vtcp", "eth0", 0);
  tcp.own().frames_sent = 5;
  in_child([&] {
    segment.unshare();
    tcp.own().frames_sent += 7;
    _exit(table.sum().frames_sent == 7 ? 0 : 1);
  });
  EXPECT_EQ(table.sum().frames_sent, 5u);
}

// The file takes the memory's place while the datatypes' counters, which are the process's, are
// incremented by other threads.
TEST(HealthDirectory, NothingIsLostThatIsCountedWhileTheFileIsMade) {
  const Folder folder;
  for (int i = 0; i < 20; ++i) {
    Segment segment;
    Table table(segment, this_process());
    std::uint64_t& counter = table.process().types_checked;
    std::atomic<bool> done = false;
    std::uint64_t counted = 0;
    std::thread other([&] {
      for (; !done.load(std::memory_order_relaxed); ++counted)
        std::atomic_ref(counter).fetch_add(1, std::memory_order_relaxed);
    });
    while (std::atomic_ref(counter).load(std::memory_order_relaxed) == 0) std::this_thread::yield();
    std::string problem;
    table.with_used([&](std::size_t used) {
      problem = segment.move_to_file({true, folder.path, 0600},
                                     static_cast<std::uint64_t>(getpid()), used);
    });
    done = true;
    other.join();
    ASSERT_EQ(problem, "");
    EXPECT_EQ(counter, counted);
    const std::string name = segment.path().substr(folder.path.size() + 1);
    EXPECT_EQ(folder.read(name).snapshot.sum().types_checked, counted);
  }
}

TEST(HealthDirectory, AFileGrowsWithItsRows) {
  const Folder folder;
  Process process(folder.path);
  InterfaceRows tcp(*process.table, "vtcp", "eth0", 0);
  for (unsigned i = 0; i < Table::kMostPeers; ++i) tcp.peer(std::to_string(i), 0).frames_sent++;
  const HealthFile file = folder.read(folder.names().at(0));
  EXPECT_EQ(file.problem, "");
  EXPECT_EQ(file.snapshot.rows.size(), Table::kMostPeers + 2);
  EXPECT_EQ(file.snapshot.sum().frames_sent, Table::kMostPeers);
}

TEST(HealthDirectory, ALimitOnFilesCostsRowsAndNotTheJob) {
  const Folder folder;
  in_child([&] {
    rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    Process none(folder.path);
    _exit(none.problem.find("File too large") != std::string::npos && none.segment.path().empty()
              ? 0
              : 1);
  });
  in_child([&] {
    Process process(folder.path);
    rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    InterfaceRows tcp(*process.table, "vtcp", "eth0", 0);
    for (unsigned i = 0; i < 300; ++i) tcp.peer(std::to_string(i), 0).frames_sent++;
    _exit(process.table->sum().frames_sent == 300 ? 0 : 1);
  });
  EXPECT_EQ(folder.names().size(), 1u);
  EXPECT_EQ(folder.read(folder.names()[0]).snapshot.sum().frames_sent, 300u);
}

// A program that closes all descriptors it does not know, and opens its own.
TEST(HealthDirectory, ALostDescriptorIsNotTakenForTheFile) {
  const Folder folder;
  in_child([&] {
    Process process(folder.path);
    for (int fd = 3; fd < 100; ++fd) close(fd);
    const int own = open((folder.path + "/data").c_str(), O_RDWR | O_CREAT, 0600);
    InterfaceRows tcp(*process.table, "vtcp", "eth0", 0);
    for (unsigned i = 0; i < 300; ++i) tcp.peer(std::to_string(i), 0).frames_sent++;
    struct stat info {};
    _exit(fstat(own, &info) == 0 && info.st_size == 0 && process.table->sum().frames_sent == 300
              ? 0
              : 1);
  });
}

TEST(HealthDirectory, NoFolderNoFile) {
  const Folder folder;
  EXPECT_NE(Process(folder.path + "/none").problem.find("No such file"), std::string::npos);
  folder.write("plain", "x");
  EXPECT_NE(Process(folder.path + "/plain").problem.find("Not a directory"), std::string::npos);
  chmod(folder.path.c_str(), 0777);
  EXPECT_NE(Process(folder.path).problem.find("chmod +t"), std::string::npos);
  chmod(folder.path.c_str(), 01777);
  EXPECT_EQ(Process(folder.path).problem, "");
}

TEST(HealthDirectory, AnythingMayLieThere) {
  const Folder folder;
  folder.write("1.health", "");
  folder.write("2.health", std::string(5000, 'x'));
  folder.write(".3.health", "hidden");
  folder.write("notes.txt", "no health file");
  ASSERT_EQ(mkfifo((folder.path + "/4.health").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/dev/zero", (folder.path + "/5.health").c_str()), 0);
  ASSERT_EQ(mkdir((folder.path + "/6.health").c_str(), 0700), 0);
  ASSERT_EQ(link((folder.path + "/2.health").c_str(), (folder.path + "/7.health").c_str()), 0);
  ASSERT_EQ(truncate((folder.path + "/1.health").c_str(), 1L << 40), 0);
  const std::string problems[] = {"it is too long: 1099511627776 bytes",
                                  "it has several names",
                                  "it is a pipe",
                                  "it is a symbolic link",
                                  "it is no regular file",
                                  "it has several names"};
  const auto names = folder.names();
  ASSERT_EQ(names.size(), std::size(problems));
  for (std::size_t i = 0; i < names.size(); ++i)
    EXPECT_EQ(folder.read(names[i]).problem, problems[i]) << names[i];
  EXPECT_NE(folder.read("8.health").problem, "");
}

// Out of descriptors: nothing is wrong with the file.
TEST(HealthDirectory, AFileThatCannotBeReadNow) {
  const Folder folder;
  folder.write("1.health", "x");
  Directory directory;
  ASSERT_EQ(directory.open(folder.path), "");
  EXPECT_FALSE(directory.read("1.health").failed);
  EXPECT_FALSE(directory.read("2.health").failed);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{0, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  const HealthFile file = directory.read("1.health");
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(file.failed) << file.problem;
}

}  // namespace
}  // namespace verity::health
