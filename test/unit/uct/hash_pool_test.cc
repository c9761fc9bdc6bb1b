// SPDX-License-Identifier: BSD-3-Clause
// The threads that hash, with memory that comes and goes under them.
#include "uct/idle/hash_pool.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

namespace verity::test {
namespace {

using rma::HashSlice;
using uct::HashPool;
using wire::RmaStatus;

constexpr uint32_t kLength = 64 * 1024;
constexpr uint32_t kSegment = 8 * 1024;

rma::Regions& regions() {
  static rma::Regions all;
  return all;
}

std::atomic<bool> closed = false;  // the gate that every slice waits at
std::atomic<unsigned> inside = 0;

RmaStatus make(const HashSlice& slice, std::vector<uint8_t>&) {
  return rma::make(slice, regions(), [&](const auto& use) {
    ++inside;
    while (closed) std::this_thread::yield();
    use(reinterpret_cast<const uint8_t*>(slice.address));
    --inside;
    return true;
  });
}

// Registered memory and a slice for each part of it.
struct Work {
  explicit Work(uint32_t parts)
      : bytes(size_t{parts} * kLength, 0x5c),
        leaves(parts * (kLength / kSegment)),
        slices(new HashSlice[parts]),
        count(parts) {
    token = regions().add(reinterpret_cast<uint64_t>(bytes.data()), bytes.size(), rma::kRead);
    for (uint32_t i = 0; i < count; ++i) {
      slices[i].token = token;
      slices[i].address = reinterpret_cast<uint64_t>(bytes.data()) + uint64_t{i} * kLength;
      slices[i].length = kLength;
      slices[i].segment_size = kSegment;
      slices[i].leaves = leaves.data() + size_t{i} * (kLength / kSegment);
    }
  }
  [[nodiscard]] bool give(HashPool& pool) { return pool.submit({slices.get(), count}); }
  [[nodiscard]] bool done() const {
    for (uint32_t i = 0; i < count; ++i) {
      if (!slices[i].done.load(std::memory_order_acquire)) return false;
    }
    return true;
  }
  void wait() const {
    while (!done()) std::this_thread::yield();
  }
  void expect(RmaStatus status) const {
    const util::Piece piece{bytes.data(), kSegment};
    for (uint32_t i = 0; i < count; ++i) EXPECT_EQ(slices[i].status, status);
    if (status != RmaStatus::kOk) return;
    for (const merkle::Digest leaf : leaves)
      EXPECT_EQ(leaf, merkle::hash_range({&piece, 1}, 0, kSegment));
  }

  std::vector<uint8_t> bytes;
  std::vector<merkle::Digest> leaves;
  std::unique_ptr<HashSlice[]> slices;
  uint32_t count;
  uint64_t token;
};

TEST(HashPool, TakesNothingBeforeItIsOpenAndAfterItIsClosed) {
  HashPool pool(make);
  Work work(1);
  EXPECT_FALSE(work.give(pool));
  pool.close();
  pool.open(2);
  pool.open(1);
  pool.close();
  EXPECT_TRUE(work.give(pool));
  work.wait();
  work.expect(RmaStatus::kOk);
  pool.close();
  Work late(1);
  EXPECT_FALSE(late.give(pool));
}

TEST(HashPool, ManyThreadsGiveAndTake) {
  HashPool pool(make);
  pool.open(3);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&pool] {
      for (unsigned round = 0; round < 20; ++round) {
        Work work(1 + round % 5);
        ASSERT_TRUE(work.give(pool));
        if (round % 3 == 0) {
          for (uint32_t i = 0; i < work.count; ++i) pool.withdraw(work.slices[i]);
        } else {
          work.wait();
          work.expect(RmaStatus::kOk);
        }
        regions().revoke(work.token);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  pool.close();
}

// Deregistration waits for the threads that are inside of that memory, and for nothing that has not
// begun.
TEST(HashPool, MemoryThatIsDeregisteredIsLeftAlone) {
  HashPool pool(make);
  pool.open(2);
  Work work(10);
  Work other(1);
  closed = true;
  ASSERT_TRUE(work.give(pool));
  while (inside != 2) std::this_thread::yield();
  std::atomic<bool> revoked = false;
  std::thread program([&] {
    regions().revoke(work.token);
    revoked = true;
    std::vector<uint8_t>().swap(work.bytes);  // the sanitizer sees whoever still reads there
  });
  while (rma::Regions::User(regions()).with(work.token, work.slices[0].address, 1, rma::kRead,
                                            [] { return RmaStatus::kOk; }) == RmaStatus::kOk) {
    std::this_thread::yield();
  }
  regions().revoke(other.token);  // of other memory: need not wait
  EXPECT_FALSE(revoked);
  EXPECT_FALSE(work.done());
  closed = false;
  program.join();
  work.wait();
  unsigned refused = 0;
  for (uint32_t i = 0; i < work.count; ++i) refused += work.slices[i].status == RmaStatus::kRefused;
  EXPECT_EQ(refused, 8u);
  pool.close();
}

TEST(HashPool, WithdrawingWaitsForWhoIsAtIt) {
  HashPool pool(make);
  pool.open(1);
  auto work = std::make_unique<Work>(2);
  closed = true;
  ASSERT_TRUE(work->give(pool));
  while (inside != 1) std::this_thread::yield();
  std::thread opener([] { closed = false; });
  for (uint32_t i = 0; i < 2; ++i) pool.withdraw(work->slices[1 - i]);
  opener.join();
  EXPECT_TRUE(work->slices[0].done);
  work.reset();
  pool.close();
}

// As when one interface closes and another one opens and closes in another thread meanwhile.
TEST(HashPool, ThreadsThatAreToldToEndDoSoWhoeverOpensMeanwhile) {
  HashPool pool(make);
  pool.open(1);
  Work work(1);
  closed = true;
  ASSERT_TRUE(work.give(pool));
  while (inside != 1) std::this_thread::yield();
  std::thread closer([&] { pool.close(); });
  for (bool taken = true; taken; std::this_thread::yield()) {  // until the closer is at it
    Work probe(1);
    taken = probe.give(pool);
    if (taken) pool.withdraw(probe.slices[0]);
  }
  pool.open(1);
  pool.close();
  closed = false;
  closer.join();
  work.expect(RmaStatus::kOk);
}

// Its threads are not there.
TEST(HashPool, AChildMadeByForkWaitsForNobody) {
  HashPool pool(make);
  pool.open(1);
  Work work(2);
  closed = true;
  ASSERT_TRUE(work.give(pool));
  while (inside != 1) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(300);  // in place of waiting for ever
    HashPool own(make);
    own.open(1);
    for (uint32_t i = 0; i < work.count; ++i) own.withdraw(work.slices[i]);
    own.close();
    _exit(0);
  }
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  EXPECT_EQ(status, 0);
  closed = false;
  work.wait();
  work.expect(RmaStatus::kOk);
  pool.close();
}

TEST(HashPool, ItsThreadsHaveANameAndNoSignalsOfTheProgram) {
  HashPool pool(make);
  pool.open(1);
  Work work(1);
  closed = true;
  ASSERT_TRUE(work.give(pool));
  while (inside != 1) std::this_thread::yield();
  unsigned named = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    std::string line;
    bool ours = false;
    while (std::getline(status, line)) {
      if (line == "Name:\tverity-hash") ours = true;
      if (!ours || !line.starts_with("SigBlk:")) continue;
      const uint64_t blocked = std::stoull(line.substr(7), nullptr, 16);
      for (const int signal : {SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD})
        EXPECT_NE(blocked & uint64_t{1} << (signal - 1), 0u) << signal;
      EXPECT_EQ(blocked & uint64_t{1} << (SIGSEGV - 1), 0u);
      ++named;
    }
  }
  EXPECT_GE(named, 1u);
  sigset_t mine;
  pthread_sigmask(SIG_SETMASK, nullptr, &mine);
  EXPECT_EQ(sigismember(&mine, SIGINT), 0);
  closed = false;
  work.wait();
  pool.close();
}

}  // namespace
}  // namespace verity::test
