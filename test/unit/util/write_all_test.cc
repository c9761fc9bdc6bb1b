// SPDX-License-Identifier: BSD-3-Clause
// Lines for readers that are there, and for those that are not.
#include "util/write_all.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace verity::test {
namespace {

// A pipe; its reader ends when the test says so.
struct Pipe {
  Pipe() { EXPECT_EQ(::pipe(ends), 0); }
  ~Pipe() {
    ::close(ends[1]);
    if (reads) ::close(ends[0]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void end_reader() {
    ::close(ends[0]);
    reads = false;
  }
  int ends[2] = {-1, -1};
  bool reads = true;
};

bool is_pending() {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, SIGPIPE) == 1;
}

TEST(WriteAll, WritesAll) {
  Pipe pipe;
  EXPECT_TRUE(util::write_all(pipe.ends[1], "a line"));
  char read[16];
  ASSERT_EQ(::read(pipe.ends[0], read, sizeof(read)), 6);
  EXPECT_EQ(std::string_view(read, 6), "a line");
}

TEST(WriteAll, ReaderHasGone) {
  Pipe pipe;
  pipe.end_reader();
  EXPECT_FALSE(util::write_all(pipe.ends[1], "a line"));  // and the process lives
  EXPECT_EQ(errno, EPIPE);
  EXPECT_FALSE(is_pending());
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  EXPECT_EQ(sigismember(&now, SIGPIPE), 0);
}

// The program's own signal, that it has blocked, stays for it.
TEST(WriteAll, LeavesTheProgramsOwnSignal) {
  sigset_t pipe_signal;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  raise(SIGPIPE);
  Pipe pipe;
  pipe.end_reader();
  EXPECT_FALSE(util::write_all(pipe.ends[1], "a line"));
  EXPECT_TRUE(is_pending());
  const timespec none{0, 0};
  EXPECT_EQ(sigtimedwait(&pipe_signal, nullptr, &none), SIGPIPE);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// A terminal that is non-blocking for one program is so for all that share it.
TEST(WriteAll, WaitsForRoomInANonBlockingPipe) {
  Pipe pipe;
  ASSERT_EQ(fcntl(pipe.ends[1], F_SETFL, O_NONBLOCK), 0);
  const std::string text(1 << 20, 'x');  // a pipe holds 64 KiB
  std::size_t received = 0;
  std::thread reader([&] {
    char part[5000];
    for (ssize_t n = 0; (n = ::read(pipe.ends[0], part, sizeof(part))) > 0;)
      received += static_cast<std::size_t>(n);
  });
  EXPECT_TRUE(util::write_all(pipe.ends[1], text));
  ::close(std::exchange(pipe.ends[1], -1));
  reader.join();
  EXPECT_EQ(received, text.size());
}

// A profiler's timer, a batch system's warning, a terminal's new size: poll() ends for each.
TEST(WriteAll, WaitsForRoomWhileSignalsCome) {
  Pipe pipe;
  ASSERT_EQ(fcntl(pipe.ends[1], F_SETFL, O_NONBLOCK), 0);
  struct sigaction counts {};
  struct sigaction before {};
  static std::atomic<int> signals;
  counts.sa_handler = [](int) { ++signals; };
  ASSERT_EQ(sigaction(SIGUSR1, &counts, &before), 0);
  std::thread reader([&, writer = pthread_self()] {
    std::vector<char> part(1 << 16);
    do {
      for (const int begin = signals; signals < begin + 5; std::this_thread::yield())
        pthread_kill(writer, SIGUSR1);
    } while (::read(pipe.ends[0], part.data(), part.size()) > 0);
  });
  EXPECT_TRUE(util::write_all(pipe.ends[1], std::string(1 << 20, 'x')));
  ::close(std::exchange(pipe.ends[1], -1));
  reader.join();
  EXPECT_EQ(sigaction(SIGUSR1, &before, nullptr), 0);
}

TEST(WriteAll, DoesNotWaitWithoutPatience) {
  Pipe pipe;
  ASSERT_EQ(fcntl(pipe.ends[1], F_SETFL, O_NONBLOCK), 0);
  EXPECT_FALSE(util::write_all(pipe.ends[1], std::string(1 << 20, 'x'), 0));
  EXPECT_EQ(errno, EAGAIN);
}

TEST(WriteAll, DoesNotWaitForEver) {
  Pipe pipe;
  ASSERT_EQ(fcntl(pipe.ends[1], F_SETFL, O_NONBLOCK), 0);
  EXPECT_FALSE(util::write_all(pipe.ends[1], std::string(1 << 20, 'x')));
  EXPECT_EQ(errno, EAGAIN);
}

// A shared log may be longer than the limit of the job's files.
TEST(WriteAll, AFileBeyondItsLimitRaisesNoSignal) {
  const auto write = [] {
    std::FILE* file = std::tmpfile();
    const rlimit limit{10, 10};
    if (file == nullptr || setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    const bool written = util::write_all(fileno(file), "more than ten bytes");
    _exit(!written && errno == EFBIG ? 0 : 1);
  };
  EXPECT_EXIT(write(), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace verity::test
