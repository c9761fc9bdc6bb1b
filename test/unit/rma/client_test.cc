// SPDX-License-Identifier: BSD-3-Clause
// The reader's side of remote memory access, without faults on the wire: see repair_test.cc for
// those, and fetch_test.cc for fetches.
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "unit/rma/pair.h"

namespace verity::test {
namespace {

constexpr size_t kSegment = 256;
constexpr size_t kChunk = 4096;

class RmaClient : public ::testing::Test, public RmaPair {
 protected:
  RmaClient() : RmaPair({kChunk, 8, false}) {}

  std::vector<uint8_t> memory = bytes_of(8 * kChunk);
  std::vector<uint8_t> target;
  uint64_t token = share(memory);
};

TEST_F(RmaClient, ReadsOfEverySize) {
  for (const bool immediate : {false, true}) {
    reader.immediate = immediate;
    for (const size_t size : {size_t{1}, kSegment - 1, kSegment, kSegment + 1, kChunk - 1, kChunk,
                              kChunk + 1, 3 * kChunk + 5, 50 * kChunk, 129 * kChunk + 77}) {
      for (const unsigned pieces : {1u, 2u, 16u}) {
        const auto source = bytes_of(size, pieces);
        const RmaEnd::Result result = run(source, target, share(source), pieces);
        EXPECT_EQ(result.status, RmaStatus::kOk);
        EXPECT_EQ(result.done, size);
        EXPECT_TRUE(target == source) << size << " " << pieces;
      }
    }
  }
  EXPECT_EQ(reader_counters.read_chunks_damaged, 0u);
  EXPECT_EQ(reader_counters.read_chunks_verified, owner_counters.digests_served);
  expect_idle();
}

TEST_F(RmaClient, AReadOfNothingEnds) {
  const RmaEnd::Result result = run({}, target, token);
  EXPECT_EQ(result.status, RmaStatus::kOk);
  EXPECT_TRUE(reader.reads.empty());
  expect_idle();
}

// The port checks both limits.
TEST_F(RmaClient, NoReadIsShorterOrLongerThanTheLowerTransportReads) {
  for (const uint64_t least : {uint64_t{1}, uint64_t{100}, uint64_t{900}, uint64_t{5000}}) {
    for (const uint64_t most : {2 * least, 3 * least + 1, uint64_t{kChunk}, ~uint64_t{0}}) {
      if (most < 2 * least) continue;
      for (const uint64_t extra : {uint64_t{0}, uint64_t{1}, least - 1, least, least + 1}) {
        const auto source = bytes_of(least + 3 * std::min<uint64_t>(most, 2 * kChunk) + extra);
        rma::Read* r = prepare(source, target, share(source));
        r->least = least;
        r->most = most;
        client.start(*r);
        run_until_idle();
        EXPECT_TRUE(target == source) << least << " " << most << " " << extra;
      }
    }
  }
  expect_idle();
}

TEST_F(RmaClient, APollHashesASliceOnly) {
  RmaPair pair({uint64_t{1} << 20, 16, false});
  const auto source = bytes_of(6 << 20);
  pair.reader.immediate = true;
  pair.read(source, target, pair.share(source));
  pair.to_owner();
  while (pair.server.poll() != 0 || pair.hashes()) {}
  pair.to_reader();
  unsigned polls = 0;
  for (; pair.reader.ended.empty(); ++polls) {
    const uint64_t before = pair.reader_counters.read_bytes_verified;
    ASSERT_NE(pair.client.poll(), 0u);
    EXPECT_LE(pair.reader_counters.read_bytes_verified - before, 1u << 20);
  }
  // The first slice was hashed when it was read, still in the cache.
  EXPECT_EQ(polls + 1, source.size() / Client::kSlice);
}

TEST_F(RmaClient, RefusedAndUnreadableMemory) {
  EXPECT_EQ(run(memory, target, token ^ 1).status, RmaStatus::kRefused);
  EXPECT_EQ(run(memory, target, share(memory, rma::kWrite)).status, RmaStatus::kRefused);
  owner.unreadable = true;
  const RmaEnd::Result result = run(memory, target, token);
  EXPECT_EQ(result.status, RmaStatus::kUnreadable);
  EXPECT_FALSE(result.broken);
  EXPECT_TRUE(fetch(memory, token));
  owner.most_of_message = reader.most_of_message = 1 << 16;
  run_until_idle();
  EXPECT_EQ(reader.fetches.back().status, RmaStatus::kUnreadable);
  expect_idle();
}

TEST_F(RmaClient, AFailingLowerTransportBreaksTheRead) {
  reader.answers = [](uint64_t offset, uint64_t) {
    return offset == 2 * kChunk ? Started::kFailed : Started::kUnderWay;
  };
  EXPECT_TRUE(run(memory, target, token).broken);
  reader.answers = [](uint64_t, uint64_t) { return Started::kFailed; };
  EXPECT_TRUE(run(memory, target, token).broken);
  reader.answers = nullptr;
  read(memory, target, token);
  land();
  land(false);
  EXPECT_EQ(reader.ended.size(), 2u) << "over before the others landed";
  run_until_idle();
  ASSERT_EQ(reader.ended.size(), 3u);
  EXPECT_TRUE(reader.ended.back().broken);
  expect_idle();
}

// More of them than are kept for the next ones: what ended is freed at once.
TEST_F(RmaClient, ALowerTransportThatFailsAtOnceEndsManyReads) {
  reader.answers = [](uint64_t, uint64_t) { return Started::kBusy; };
  constexpr unsigned kReads = 90;
  std::vector<std::vector<uint8_t>> targets(kReads);
  for (auto& to : targets) read(memory, to, token);
  reader.answers = [](uint64_t, uint64_t) { return Started::kFailed; };
  run_until_idle();
  EXPECT_EQ(reader.ended.size(), kReads);
  expect_idle();
}

TEST_F(RmaClient, ABusyLowerTransportAndALinkWithoutRoomAreTriedAgain) {
  unsigned calls = 0;
  reader.answers = [&](uint64_t, uint64_t) {
    return ++calls % 5 != 0 ? Started::kBusy : Started::kUnderWay;
  };
  EXPECT_EQ(run(memory, target, token).status, RmaStatus::kOk);
  EXPECT_TRUE(target == memory);
  reader.lines[0].room = 0;
  read(memory, target, token, 1, 0);
  std::vector<uint8_t> second;
  read(memory, second, token, 1, 1);
  run_until_idle();
  EXPECT_EQ(reader.ended.size(), 2u) << "the other link's does not wait";
  EXPECT_TRUE(second == memory);
  EXPECT_TRUE(client.busy());
  reader.lines[0].room = 1000;
  run_until_idle();
  EXPECT_EQ(reader.ended.size(), 3u);
  EXPECT_TRUE(target == memory);
  expect_idle();
}

TEST_F(RmaClient, ManyReadsAtOnce) {
  constexpr unsigned kReads = 300;  // of up to 8 chunks each
  std::vector<std::vector<uint8_t>> targets(kReads);
  std::vector<std::vector<uint8_t>> sources;
  for (unsigned i = 0; i < kReads; ++i) sources.push_back(bytes_of(1 + i * 111, i));
  for (unsigned i = 0; i < kReads; ++i) {
    read(sources[i], targets[i], share(sources[i]), 1, i & 1);
    EXPECT_LE(reader.flights.size(), size_t{Client::kMaxChunks});
    EXPECT_LE(out(0).size() + out(1).size(), size_t{Client::kMaxChunks});
  }
  EXPECT_GE(reader.flights.size(), size_t{Client::kMaxChunks} * 2 / 3);
  EXPECT_TRUE(client.busy());
  run_until_idle();
  EXPECT_EQ(reader.ended.size(), kReads);
  for (unsigned i = 0; i < kReads; ++i) EXPECT_TRUE(targets[i] == sources[i]) << i;
  EXPECT_EQ(owner_counters.rma_refused, 0u);
  expect_idle();
}

TEST_F(RmaClient, OneReadDoesNotTakeAllChunks) {
  memory = bytes_of(200 * kChunk);
  token = share(memory);
  read(memory, target, token);
  EXPECT_EQ(reader.flights.size(), size_t{Client::kChunksOfRead});
  run_until_idle();
  EXPECT_TRUE(target == memory);
}

// Digests depend on the progress of the peer: one that makes none must leave something for the
// others.
TEST_F(RmaClient, APeerThatDoesNotAnswerDoesNotHoldUpTheOthers) {
  std::vector<std::vector<uint8_t>> targets(20);
  for (auto& into : targets) read(memory, into, token);
  land_all();
  while (client.poll() != 0) land_all();
  std::vector<uint8_t> others;
  read(memory, others, token, 1, 1);
  for (unsigned i = 0; i < 20; ++i) {
    (void)client.poll();
    land_all();
    to_owner(1);
    (void)server.poll();
    to_reader(1);
  }
  EXPECT_EQ(reader.ended.size(), 1u);
  EXPECT_TRUE(others == memory);
  run_until_idle();
  EXPECT_EQ(reader.ended.size(), 21u);
  expect_idle();
}

TEST_F(RmaClient, NorDoTwoOrThree) {
  std::vector<std::vector<uint8_t>> targets(60);
  for (unsigned silent : {0u, 1u, 2u}) {
    for (unsigned i = 0; i < 20; ++i) read(memory, targets[20 * silent + i], token, 1, silent);
    land_all();
    while (client.poll() != 0) land_all();
    EXPECT_GT(peer(silent).chunks, 0u);
  }
  std::vector<uint8_t> others;
  read(memory, others, token, 1, 3);
  for (unsigned i = 0; i < 20; ++i) {
    (void)client.poll();
    land_all();
    to_owner(3);
    (void)server.poll();
    to_reader(3);
  }
  EXPECT_EQ(reader.ended.size(), 1u);
  EXPECT_TRUE(others == memory);
  for (unsigned rounds = 0; rounds < 100; ++rounds) {
    run_until_idle();
    to_owner(2);
    (void)server.poll();
    to_reader(2);
  }
  EXPECT_EQ(reader.ended.size(), 61u);
  expect_idle();
}

// What waits for a link's window is woken by an acknowledgement; what waits for the lower transport
// must be tried again.
TEST_F(RmaClient, WhoWaitsForRoomMaySleep) {
  reader.lines[0].room = 0;
  read(memory, target, token);
  EXPECT_TRUE(fetch({1, 2, 3}, token));
  (void)client.poll();
  EXPECT_TRUE(client.busy());
  EXPECT_FALSE(client.must_poll());
  EXPECT_FALSE(client.must_retry());
  reader.lines[0].room = 1000;
  EXPECT_TRUE(client.must_poll());
  reader.answers = [](uint64_t, uint64_t) { return Started::kBusy; };
  (void)client.poll();
  EXPECT_FALSE(client.must_poll());
  EXPECT_TRUE(client.must_retry());
  reader.answers = nullptr;
  (void)client.poll();
  EXPECT_FALSE(client.must_poll()) << "all is under way";
  EXPECT_FALSE(client.must_retry());
  land();
  EXPECT_TRUE(client.must_poll()) << "to be hashed";
  // A digest that is not the right one: the leaves are to be asked for, and there is no room.
  reader.damage = [](uint64_t offset, Message& bytes) { bytes[0] ^= offset == 2 * kChunk; };
  land_all();
  while (client.poll() != 0) {}
  reader.lines[0].room = 0;
  to_owner();
  while (server.poll() != 0 || hashes()) {}
  to_reader();
  EXPECT_FALSE(client.must_poll());
  reader.lines[0].room = 1000;
  EXPECT_TRUE(client.must_poll());
  run_until_idle();
  EXPECT_TRUE(target == memory);
  expect_idle();
}

TEST_F(RmaClient, AsManyReadsAndFetchesAsAllowed) {
  reader.lines[0].room = 0;
  std::vector<std::vector<uint8_t>> targets(Client::kMaxReads);
  const std::vector<uint8_t> one(1, 7);
  const uint64_t shared = share(one);
  for (auto& into : targets) {
    EXPECT_TRUE(client.has_room(peer()));
    read(one, into, shared);
  }
  EXPECT_FALSE(client.has_room(peer()));
  EXPECT_EQ(client.make_read(), nullptr);
  reader.lines[0].room = 1'000'000;
  run_until_idle();
  EXPECT_EQ(reader.ended.size(), targets.size());
  for (const auto& into : targets) EXPECT_EQ(into, one);

  reader.lines[0].room = 3;
  for (unsigned i = 0; i < Client::kMaxFetchesPerPeer; ++i) EXPECT_TRUE(fetch(one, shared));
  EXPECT_FALSE(client.has_room(peer()));
  EXPECT_FALSE(fetch(one, shared));
  reader.lines[0].room = 1'000'000;
  run_until_idle();
  EXPECT_EQ(reader.fetches.size(), size_t{Client::kMaxFetchesPerPeer});
  for (const RmaEnd::Fetched& f : reader.fetches) EXPECT_EQ(f.bytes, one);
  expect_idle();
}

TEST_F(RmaClient, ItGoesWithWhatIsOpen) {
  RmaPair pair({kChunk, 8, false});
  for (unsigned i = 0; i < 100; ++i)
    pair.read(memory, target, pair.share(memory));  // the port writes nothing any more
  EXPECT_TRUE(pair.fetch(memory, token));
  pair.to_owner();
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define VERITY_ADDRESS_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define VERITY_ADDRESS_SANITIZER
#endif

TEST_F(RmaClient, MemoryDoesNotGrow) {
#ifdef VERITY_ADDRESS_SANITIZER
  GTEST_SKIP() << "the sanitizer keeps freed memory; it finds leaks itself";
#endif
  const auto resident = [] {
    std::ifstream file("/proc/self/statm");
    size_t total = 0;
    size_t pages = 0;
    file >> total >> pages;
    return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  };
  reader.immediate = true;
  reader.damage = [](uint64_t offset, Message& bytes) { bytes[0] ^= offset == 0; };
  const auto rounds = [&](unsigned n) {
    for (; n != 0; --n) {
      ASSERT_EQ(run(memory, target, token).status, RmaStatus::kOk);
      ASSERT_TRUE(fetch(target, token ^ 1));
      run_until_idle();
      for (auto* end : {&reader, &owner})
        end->reads.clear(), end->ended.clear(), end->fetches.clear(), end->mismatches.clear();
    }
  };
  rounds(100);
  const size_t before = resident();
  rounds(2000);
  EXPECT_LT(resident(), before + (4u << 20));
}

}  // namespace
}  // namespace verity::test
