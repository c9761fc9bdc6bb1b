// SPDX-License-Identifier: BSD-3-Clause
#include "uct/process/fault_guard.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <thread>
#include <vector>

namespace verity::test {
namespace {

using uct::guarded_access;

// What a program may have had before: this one ends with 42 when that is asked for.
bool ends_with_42 = false;
// Where it has put itself in front again: who was before it then, and how often it was called.
struct sigaction before_it = {};
unsigned calls = 0;
bool only_returns = false;

void earlier(int signal) {
  if (ends_with_42) _exit(42);
  ::signal(signal, SIG_DFL);
  raise(signal);
}

void earlier_with_info(int signal, siginfo_t* info, void* context) {
  if (only_returns) {
    if (++calls == 3) _exit(3);
    return;
  }
  if (before_it.sa_sigaction == nullptr) return earlier(signal);
  if (++calls == 3) _exit(3);
  before_it.sa_sigaction(signal, info, context);
}

bool install() {
  struct sigaction theirs = {};
  theirs.sa_handler = earlier;
  EXPECT_EQ(sigaction(SIGBUS, &theirs, nullptr), 0);
  theirs.sa_flags = static_cast<int>(SA_SIGINFO | SA_RESETHAND);
  theirs.sa_sigaction = earlier_with_info;
  EXPECT_EQ(sigaction(SIGSEGV, &theirs, nullptr), 0);
  uct::start_guarding();
  return true;
}

// Two pages of a file.
class FaultGuard : public ::testing::Test {
 protected:
  FaultGuard() {
    [[maybe_unused]] static const bool once = install();
    EXPECT_EQ(ftruncate(file, 2 * static_cast<off_t>(page)), 0);
    void* mapped = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    EXPECT_NE(mapped, MAP_FAILED);
    memory = static_cast<volatile uint8_t*>(mapped);
  }
  ~FaultGuard() override {
    munmap(const_cast<uint8_t*>(memory), 2 * page);
    close(file);
  }

  // Byte by byte, so that it is known how far it came.
  bool fill(size_t offset, size_t length, uint8_t value) {
    struct Job {
      volatile uint8_t* at;
      size_t length;
      uint8_t value;
    } job{memory + offset, length, value};
    const auto write = [](void* arg) {
      const Job& j = *static_cast<Job*>(arg);
      for (size_t i = 0; i < j.length; ++i) j.at[i] = j.value;
    };
    return guarded_access(reinterpret_cast<uint64_t>(memory + offset), length, write, &job);
  }

  const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const int file = memfd_create("fault_guard_test", 0);
  volatile uint8_t* memory = nullptr;
};

TEST_F(FaultGuard, MemoryThatIsThereIsWritten) {
  EXPECT_TRUE(fill(10, 20, 7));
  EXPECT_EQ(memory[9], 0);
  EXPECT_EQ(memory[10], 7);
  EXPECT_EQ(memory[29], 7);
  EXPECT_EQ(memory[30], 0);
  EXPECT_TRUE(fill(0, 0, 7));
}

TEST_F(FaultGuard, AnAccessEndsWhereMemoryIsUnmappedProtectedOrCutShort) {
  for (int round = 0; round < 100; ++round) {  // the signal is not left blocked
    const auto value = static_cast<uint8_t>(round);
    void* second = const_cast<uint8_t*>(memory + page);
    switch (round % 3) {
      case 0: ASSERT_EQ(mprotect(second, page, PROT_READ), 0); break;
      case 1: ASSERT_EQ(ftruncate(file, static_cast<off_t>(page)), 0); break;
      case 2: ASSERT_EQ(munmap(second, page), 0); break;
    }
    EXPECT_FALSE(fill(page - 10, 20, value));
    EXPECT_EQ(memory[page - 1], value);
    EXPECT_TRUE(fill(page - 10, 10, value));
    ASSERT_EQ(ftruncate(file, 2 * static_cast<off_t>(page)), 0);
    ASSERT_EQ(mmap(second, page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                   static_cast<off_t>(page)),
              second);
    EXPECT_TRUE(fill(page - 10, 20, value));
  }
}

TEST_F(FaultGuard, ThreadsDoNotDisturbEachOther) {
  ASSERT_EQ(mprotect(const_cast<uint8_t*>(memory + page), page, PROT_NONE), 0);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < 2000; ++i)
        EXPECT_EQ(fill(t * 64, (i + t) % 2 == 0 ? 64 : page + 1, 1), (i + t) % 2 == 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_F(FaultGuard, AFileThatIsCutGetsOtherPages) {
  struct File {
    void* memory;
    size_t length;
    unsigned cut;
  } mapped{const_cast<uint8_t*>(memory), 2 * page, 0};
  const auto replace = [](void* arg) {
    auto& it = *static_cast<File*>(arg);
    ++it.cut;
    return mmap(it.memory, it.length, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == it.memory;
  };
  uct::guard_file(mapped.memory, mapped.length, replace, &mapped);
  memory[page] = 7;
  EXPECT_EQ(mapped.cut, 0U);
  ASSERT_EQ(ftruncate(file, 0), 0);
  memory[page] = 8;
  memory[0] = 9;
  EXPECT_EQ(mapped.cut, 1U);
  EXPECT_EQ(memory[page], 8);
  EXPECT_EQ(memory[page + 1], 0);
  uct::guard_file(nullptr, 0, nullptr, nullptr);
}

class FaultGuardDeathTest : public FaultGuard {
 protected:
  // An access during which the program's own fault comes.
  void fault_elsewhere() {
    volatile uint8_t* elsewhere = memory + page;
    (void)guarded_access(
        reinterpret_cast<uint64_t>(memory), page,
        [](void* arg) { *static_cast<volatile uint8_t*>(arg) = 1; },
        const_cast<uint8_t*>(elsewhere));
  }
};

TEST_F(FaultGuardDeathTest, FaultsOfTheProgramEndItAsEver) {
  ASSERT_EQ(mprotect(const_cast<uint8_t*>(memory + page), page, PROT_NONE), 0);
  const auto ends = ::testing::KilledBySignal(SIGSEGV);
  EXPECT_EXIT((memory[page] = 1), ends, "");
  EXPECT_EXIT(fault_elsewhere(), ends, "");
  EXPECT_EXIT(raise(SIGSEGV), ends, "");
}

TEST_F(FaultGuardDeathTest, AnEarlierHandlerHearsOfThem) {
  ASSERT_EQ(mprotect(const_cast<uint8_t*>(memory + page), page, PROT_NONE), 0);
  ends_with_42 = true;
  EXPECT_EXIT(fault_elsewhere(), ::testing::ExitedWithCode(42), "");
  EXPECT_EXIT(raise(SIGBUS), ::testing::ExitedWithCode(42), "");
  ends_with_42 = false;
}

TEST_F(FaultGuardDeathTest, AnEarlierHandlerThatIsCalledOnceIsCalledOnce) {
  ASSERT_EQ(mprotect(const_cast<uint8_t*>(memory + page), page, PROT_NONE), 0);
  only_returns = true;
  const auto ends = ::testing::KilledBySignal(SIGSEGV);
  EXPECT_EXIT(fault_elsewhere(), ends, "");
  EXPECT_EXIT((raise(SIGSEGV), raise(SIGSEGV), raise(SIGSEGV)), ends, "");
  only_returns = false;
}

void put_earlier_in_front() {
  struct sigaction theirs = {};
  theirs.sa_flags = SA_SIGINFO;
  theirs.sa_sigaction = earlier_with_info;
  (void)sigaction(SIGSEGV, &theirs, &before_it);
}

TEST_F(FaultGuardDeathTest, HandlersThatCallEachOtherComeToAnEnd) {
  ASSERT_EQ(mprotect(const_cast<uint8_t*>(memory + page), page, PROT_NONE), 0);
  const auto ends = ::testing::KilledBySignal(SIGSEGV);
  EXPECT_EXIT(
      {
        put_earlier_in_front();
        memory[page] = 1;
      },
      ends, "");
  EXPECT_EXIT(
      {
        put_earlier_in_front();
        raise(SIGSEGV);
      },
      ends, "");
}

// --- a program that protects its pages to learn what is written to them ---

uint8_t* tracked = nullptr;
unsigned opened = 0;
bool hands_on = false;

void open_page(int signal, siginfo_t* info, void* context) {
  if (hands_on) return before_it.sa_sigaction(signal, info, context);
  if (info->si_addr < tracked || info->si_addr >= tracked + 4096 || ++opened == 3) _exit(3);
  (void)mprotect(tracked, 4096, PROT_READ | PROT_WRITE);
}

// In a process that guarded nothing before. What the access was, and the page then.
[[noreturn]] void write_to_tracked(bool hands_it_on) {
  tracked = static_cast<uint8_t*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  struct sigaction theirs = {};
  theirs.sa_flags = SA_SIGINFO;
  theirs.sa_sigaction = open_page;
  (void)sigaction(SIGSEGV, &theirs, nullptr);
  uct::start_guarding();
  hands_on = hands_it_on;
  if (hands_on) (void)sigaction(SIGSEGV, &theirs, &before_it);
  bool good = true;
  for (int round = 0; round < 2; ++round) {
    (void)mprotect(tracked, 4096, PROT_READ);
    const auto write = [](void* at) { *static_cast<volatile uint8_t*>(at) = 7; };
    const bool written =
        guarded_access(reinterpret_cast<uint64_t>(tracked), 4096, write, tracked + 10);
    good = good && written != hands_on && tracked[10] == (hands_on ? 0 : 7);
    if (!hands_on) tracked[10] = 0;
  }
  _exit(good && opened == (hands_on ? 0 : 2) ? 0 : 1);
}

TEST(FaultGuardInItsOwnProcessDeathTest, AnEarlierHandlerOpensThePageThatItProtected) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(write_to_tracked(false), ::testing::ExitedWithCode(0), "");
}

TEST(FaultGuardInItsOwnProcessDeathTest, OneThatHandsItOnEndsTheAccess) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(write_to_tracked(true), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace verity::test
