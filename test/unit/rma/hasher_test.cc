// SPDX-License-Identifier: BSD-3-Clause
// The owner's side with other threads that hash: here a list of what they were given, made when the
// test says so.
#include "rma/hasher.h"

#include <gtest/gtest.h>

#include "unit/rma/pair.h"

namespace verity::test {
namespace {

class LateHasher final : public rma::Hasher {
 public:
  explicit LateHasher(rma::Regions& regions) : regions_(regions) {}

  bool submit(std::span<rma::HashSlice> slices) noexcept override {
    if (refuses) return false;
    for (rma::HashSlice& slice : slices) given.push_back(&slice);
    return true;
  }
  void withdraw(rma::HashSlice& slice) noexcept override {
    withdrawn += static_cast<unsigned>(std::erase(given, &slice));
  }
  void give_way() noexcept override { ++ways; }
  void make(size_t i) {
    rma::HashSlice& slice = *given[i];
    given.erase(given.begin() + static_cast<ptrdiff_t>(i));
    slice.status = rma::make(slice, regions_, [&](const auto& use) {
      if (!unreadable) use(reinterpret_cast<const uint8_t*>(slice.address));
      return !unreadable;
    });
    slice.done = true;
  }

  std::vector<rma::HashSlice*> given;
  unsigned withdrawn = 0;
  unsigned ways = 0;
  bool refuses = false;
  bool unreadable = false;

 private:
  rma::Regions& regions_;
};

class RmaHasher : public ::testing::Test, public RmaPair {
 protected:
  RmaHasher() : RmaPair({uint64_t{512} << 10, 13, false}) { owner.pool = &hasher; }

  void request_root(uint32_t id, uint32_t length, unsigned link = 0) {
    ask(RmaKind::kHash, wire::kRoot, token, address_of(memory.data()), length, id, 13, link);
  }
  RmaStatus answer(unsigned link = 0) {
    if (owner.lines[link].out.empty()) {
      ADD_FAILURE() << "no answer";
      return RmaStatus::kBusy;
    }
    const Message message = owner.lines[link].out.front();
    owner.lines[link].out.pop_front();
    wire::RmaHeader header{};
    EXPECT_TRUE(wire::read_message(message.data(), message.size(), &header));
    answered = header.id;
    if (message.size() == sizeof(header) + sizeof(digest))
      std::memcpy(&digest, message.data() + sizeof(header), sizeof(digest));
    return static_cast<RmaStatus>(header.what);
  }
  merkle::Digest root_of(size_t length) {
    const util::Piece piece{memory.data(), length};
    return merkle::root({length, 8192}, {&piece, 1});
  }

  LateHasher hasher{regions};
  std::vector<uint8_t> memory = bytes_of(1 << 20);
  uint64_t token = share(memory);
  uint32_t answered = 0;
  merkle::Digest digest = 0;
};

TEST_F(RmaHasher, ResultsThatComeOutOfOrderMakeTheSameDigest) {
  for (const uint32_t length : {Server::kShareAbove + 1, size_t{300'000}, size_t{1} << 20}) {
    request_root(1, length);
    EXPECT_EQ(server.poll(), 0u);
    ASSERT_EQ(hasher.given.size(), (length + Server::kSharedSlice - 1) / Server::kSharedSlice);
    while (!hasher.given.empty()) {
      EXPECT_EQ(server.poll(), 0u);
      EXPECT_TRUE(server.awaits_hasher());
      hasher.make(hasher.given.size() / 2);
    }
    EXPECT_EQ(server.poll(), 1u);
    EXPECT_EQ(answer(), RmaStatus::kOk);
    EXPECT_EQ(digest, root_of(length));
    EXPECT_FALSE(server.awaits_hasher());
  }
  EXPECT_EQ(owner_counters.digest_bytes, Server::kShareAbove + 1 + 300'000 + (1 << 20));
  expect_idle();
}

TEST_F(RmaHasher, ShortOnesAndThoseThatItRefusesAreMadeByPoll) {
  request_root(1, Server::kShareAbove);
  EXPECT_EQ(server.poll(), 1u);
  EXPECT_TRUE(hasher.given.empty());
  hasher.refuses = true;
  request_root(2, 1 << 20);
  while (server.busy()) (void)server.poll();
  EXPECT_EQ(answer(), RmaStatus::kOk);
  EXPECT_EQ(answer(), RmaStatus::kOk);
  EXPECT_EQ(digest, root_of(1 << 20));
}

TEST_F(RmaHasher, ALateOneHoldsUpNobody) {
  request_root(1, 1 << 20);
  request_root(2, 1000);
  request_root(3, 1 << 20, 1);
  ask(RmaKind::kGet, 0, token, address_of(memory.data()), 100, 4);
  EXPECT_EQ(server.poll(), 1u);
  EXPECT_EQ(answer(), RmaStatus::kOk);
  EXPECT_EQ(answered, 4u);
  EXPECT_EQ(answer(), RmaStatus::kOk);
  EXPECT_EQ(answered, 2u);
  while (hasher.given.size() > 16) hasher.make(16);  // the third's
  EXPECT_EQ(server.poll(), 1u);
  EXPECT_EQ(answer(1), RmaStatus::kOk);
  while (!hasher.given.empty()) hasher.make(0);
  EXPECT_EQ(server.poll(), 1u);
  EXPECT_EQ(answer(), RmaStatus::kOk);
  expect_idle();
}

// Else a thread of fixed priority would keep those from running that it waits for.
TEST_F(RmaHasher, WhoLooksInVainForLongGivesWay) {
  request_root(1, 1 << 20);
  for (unsigned i = 0; i < 10'000; ++i) EXPECT_EQ(server.poll(), 0u);
  EXPECT_GE(hasher.ways, 10u);
  EXPECT_LE(hasher.ways, 100u) << "it costs time";
  while (!hasher.given.empty()) hasher.make(0);
  EXPECT_EQ(server.poll(), 1u);
  EXPECT_EQ(answer(), RmaStatus::kOk);
}

// What was not begun is not begun any more; the sanitizer sees whoever still reads there.
TEST_F(RmaHasher, DeregistrationEndsADigestInTheMiddle) {
  request_root(1, 1 << 20);
  (void)server.poll();
  hasher.make(0);
  regions.revoke(token);
  std::vector<uint8_t>().swap(memory);
  while (!hasher.given.empty()) hasher.make(0);
  EXPECT_EQ(server.poll(), 1u);
  EXPECT_EQ(answer(), RmaStatus::kRefused);
  EXPECT_EQ(owner_counters.rma_refused, 1u);
  expect_idle();
}

TEST_F(RmaHasher, MemoryThatIsGoneIsUnreadable) {
  request_root(1, 1 << 20);
  (void)server.poll();
  while (hasher.given.size() > 3) hasher.make(0);
  hasher.unreadable = true;
  while (!hasher.given.empty()) hasher.make(0);
  (void)server.poll();
  EXPECT_EQ(answer(), RmaStatus::kUnreadable);
  expect_idle();
}

TEST_F(RmaHasher, ForgottenPeersAndAServerThatGoesTakeBackWhatTheyGave) {
  request_root(1, 1 << 20);
  request_root(2, 1 << 20, 1);
  (void)server.poll();
  hasher.make(20);
  server.forget(owner.lines[1].peer);
  EXPECT_EQ(hasher.given.size(), 16u);
  EXPECT_EQ(hasher.withdrawn, 15u);
  server.forget(owner.lines[0].peer);
  EXPECT_TRUE(hasher.given.empty());
  EXPECT_FALSE(server.awaits_hasher());
  RmaPair other;
  LateHasher others{other.regions};
  other.owner.pool = &others;
  {
    Server server_that_goes(other.owner, other.regions, other.owner_counters);
    const uint64_t key = other.share(memory);
    const wire::RmaRequest r{{static_cast<uint8_t>(RmaKind::kHash), wire::kRoot, 5, 0, 1},
                             key,
                             address_of(memory.data()),
                             1 << 20,
                             0};
    server_that_goes.request(other.owner.lines[0].peer, reinterpret_cast<const uint8_t*>(&r),
                             sizeof(r));
    (void)server_that_goes.poll();
    EXPECT_EQ(others.given.size(), 16u);
  }
  EXPECT_TRUE(others.given.empty());
}

TEST_F(RmaHasher, ReadsEndWell) {
  std::vector<uint8_t> target;
  read(memory, target, token);
  for (unsigned i = 0; i < 100 && reader.ended.empty(); ++i) {
    run_until_idle();
    if (!hasher.given.empty()) hasher.make(i % hasher.given.size());
  }
  EXPECT_EQ(reader.ended.size(), 1u);
  EXPECT_TRUE(target == memory);
  expect_idle();
}

}  // namespace
}  // namespace verity::test
