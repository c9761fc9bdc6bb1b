// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "unit/rma/server_case.h"

namespace verity::test {
namespace {

class RmaServerDigests : public RmaServer {};

TEST_F(RmaServerDigests, GetsAndDigestsOutsideOfTheTokenAreRefused) {
  const uint64_t token = share(memory, rma::kRead);
  const uint64_t write_only = share(memory, rma::kWrite);
  const uint64_t revoked = share(memory);
  regions.revoke(revoked);
  struct Case {
    uint64_t token;
    uint64_t address;
    uint32_t length;
  };
  const Case cases[] = {{token ^ 1, base, 1},
                        {revoked, base, 1},
                        {write_only, base, 1},
                        {token, base - 1, 2},
                        {token, base + memory.size() - 1, 2},
                        {token, ~uint64_t{0}, 64},
                        {0, base, 1}};
  for (const RmaKind kind : {RmaKind::kGet, RmaKind::kHash}) {
    for (const Case& c : cases) {
      ask(kind, 0, c.token, c.address, c.length, 5);
      EXPECT_EQ(server.poll(), kind == RmaKind::kHash ? 1u : 0u);
      const Message answer = take();
      EXPECT_EQ(header_of(answer).kind,
                static_cast<uint8_t>(kind == RmaKind::kGet ? RmaKind::kGot : RmaKind::kHashed));
      EXPECT_EQ(status_of(answer), RmaStatus::kRefused);
      EXPECT_EQ(header_of(answer).id, 5u);
      EXPECT_EQ(answer.size(), sizeof(wire::RmaHeader)) << "bytes with a refusal";
    }
  }
  EXPECT_EQ(owner_counters.rma_refused, 2 * std::size(cases));
}

TEST_F(RmaServerDigests, RequestsThatMakeNoSenseAreRefused) {
  const uint64_t token = share(memory, rma::kRead);
  ask(RmaKind::kGet, 0, token, base, Server::kMaxGet + 1, 1);
  ask(RmaKind::kGet, 0, token, base, ~0u, 2);
  ask(RmaKind::kHash, wire::kRoot, token, base, 0, 3);
  ask(RmaKind::kHash, wire::kLeaves + 1, token, base, 100, 4);
  ask(RmaKind::kHash, wire::kRoot, token, base, 100, 5, 17);
  ask(RmaKind::kHash, wire::kRoot, token, base, 100, 6, 8 + 255);
  ask(RmaKind::kHash, wire::kRoot, token, base, 512 * 256 + 1, 7, 8);
  poll_all();
  for (uint32_t id = 1; id <= 7; ++id) {
    const Message answer = take();
    EXPECT_EQ(header_of(answer).id, id);
    EXPECT_EQ(status_of(answer), RmaStatus::kRefused);
  }
  EXPECT_TRUE(out().empty());
  for (const uint8_t kind : {0, 1, 3, 5, 6, 7, 255})
    ask(static_cast<RmaKind>(kind), wire::kRoot, token, base, 100, kind);
  poll_all();
  for (const Message& answer : out()) EXPECT_EQ(status_of(answer), RmaStatus::kRefused);
  EXPECT_EQ(out().size(), 7u);
  out().clear();
  // Too short for a request: it names no request to answer.
  const Message cut(sizeof(wire::RmaRequest) - 1, static_cast<uint8_t>(RmaKind::kHash));
  server.request(peer(), cut.data(), cut.size());
  EXPECT_FALSE(server.busy());
  EXPECT_TRUE(out().empty());
  EXPECT_EQ(owner_counters.rma_refused, 15u);
}

// The upper layer's endpoint fails, as with what is not registered.

TEST_F(RmaServerDigests, MemoryThatIsGoneIsUnreadable) {
  const uint64_t token = share(memory, rma::kRead);
  owner.unreadable = true;
  ask(RmaKind::kGet, 0, token, base, 100, 1);
  ask(RmaKind::kHash, wire::kRoot, token, base, 100'000, 2);
  poll_all();
  EXPECT_EQ(status_of(take()), RmaStatus::kUnreadable);
  EXPECT_EQ(status_of(take()), RmaStatus::kUnreadable);
  EXPECT_FALSE(server.busy());
}

TEST_F(RmaServerDigests, RootsAreThoseOfTheMemory) {
  const uint64_t token = share(memory, rma::kRead);
  for (const unsigned log2 : {8u, 13u, 16u}) {
    for (const uint32_t length : {1u, (1u << log2) - 1, 1u << log2, (1u << log2) + 1, 131'072u}) {
      ask(RmaKind::kHash, wire::kRoot, token, base, length, 9, log2);
      poll_all();
      const Message answer = take();
      EXPECT_EQ(status_of(answer), RmaStatus::kOk);
      const merkle::Digest root = root_of({memory.begin(), memory.begin() + length}, log2);
      ASSERT_EQ(answer.size(), sizeof(wire::RmaHeader) + sizeof(root));
      EXPECT_EQ(std::memcmp(answer.data() + sizeof(wire::RmaHeader), &root, sizeof(root)), 0)
          << log2 << " " << length;
    }
  }
}

TEST_F(RmaServerDigests, LeavesComeInAsManyMessagesAsNeeded) {
  const uint64_t token = share(memory, rma::kRead);
  const uint32_t length = 100'001;
  const uint32_t count = 391;
  std::vector<merkle::Digest> wanted(count);
  const util::Piece piece{memory.data(), length};
  merkle::leaf_digests({length, 256}, {&piece, 1}, wanted);
  for (const size_t most : {size_t{64}, size_t{200}, size_t{8192}}) {
    owner.most_of_message = most;
    const auto per_message =
        static_cast<uint32_t>((most - sizeof(wire::RmaLeaves)) / sizeof(merkle::Digest));
    owner.lines[0].room = 2;  // and with breaks in between
    ask(RmaKind::kHash, wire::kLeaves, token, base, length, 9, 8);
    uint32_t heard = 0;
    while (heard < count) {
      poll_all();
      while (!out().empty()) {
        const Message message = take();
        wire::RmaLeaves head{};
        ASSERT_TRUE(wire::read_message(message.data(), message.size(), &head));
        EXPECT_EQ(status_of(message), RmaStatus::kOk);
        EXPECT_EQ(head.header.id, 9u);
        ASSERT_EQ(head.first, heard);
        const size_t n = (message.size() - sizeof(head)) / sizeof(merkle::Digest);
        ASSERT_EQ(n, std::min(per_message, count - heard));
        EXPECT_EQ(
            std::memcmp(message.data() + sizeof(head), &wanted[heard], n * sizeof(merkle::Digest)),
            0);
        heard += static_cast<uint32_t>(n);
      }
      owner.lines[0].room = 2;
    }
    EXPECT_FALSE(server.busy());
  }
}

TEST_F(RmaServerDigests, APollIsBounded) {
  memory = bytes_of(4 << 20);
  const uint64_t token = share(memory, rma::kRead);
  for (const unsigned log2 : {8u, 13u, 16u}) {
    const uint32_t length =
        511u << log2 > memory.size() ? static_cast<uint32_t>(memory.size()) : 511u << log2;
    const uint64_t at = address_of(memory.data());
    for (uint32_t id = 0; id < 3; ++id)
      ask(RmaKind::kHash, wire::kRoot, token, at, length - id * 777, id, log2);
    for (uint32_t id = 3; id < 60; ++id) ask(RmaKind::kGet, 0, token, at, 8000, id, log2);
    for (unsigned polls = 0; server.busy(); ++polls) {
      ASSERT_LT(polls, 1000u);
      const uint64_t before = owner_counters.digest_bytes + owner_counters.get_bytes_served;
      (void)server.poll();
      const uint64_t bytes = owner_counters.digest_bytes + owner_counters.get_bytes_served - before;
      EXPECT_LE(bytes, Server::kSlice + (1u << log2) + 8000) << log2;
    }
    EXPECT_EQ(out().size(), 60u);
    out().clear();
  }
}

TEST_F(RmaServerDigests, ALinkWithoutRoomDoesNotHoldUpTheOthers) {
  const uint64_t token = share(memory, rma::kRead);
  owner.lines[0].room = 0;
  for (uint32_t id = 0; id < 100; ++id) ask(RmaKind::kGet, 0, token, base, 8000, id, 13, 0);
  for (uint32_t id = 100; id < 120; ++id) ask(RmaKind::kHash, 0, token, base, 200'000, id, 13, 0);
  ask(RmaKind::kGet, 0, token, base, 8000, 1000, 13, 1);
  ask(RmaKind::kHash, 0, token, base, 200'000, 1001, 13, 1);
  for (unsigned polls = 0; polls < 60; ++polls) (void)server.poll();
  EXPECT_EQ(out(1).size(), 2u);
  EXPECT_TRUE(out(0).empty());
  owner.lines[0].room = 1000;
  poll_all();
  EXPECT_EQ(out(0).size(), 120u);
  EXPECT_FALSE(server.busy());
  EXPECT_EQ(owner_counters.digest_bytes, 21u * 200'000)
      << "a digest that waits for room is made once";
}

TEST_F(RmaServerDigests, AnswersThatWaitForRoomNeedNoPolling) {
  const uint64_t token = share(memory, rma::kRead);
  owner.lines[0].room = 0;
  ask(RmaKind::kGet, 0, token, base, 8000, 1);
  EXPECT_TRUE(server.busy());
  EXPECT_FALSE(server.must_poll());
  ask(RmaKind::kHash, 0, token, base, 200'000, 2);
  EXPECT_TRUE(server.must_poll()) << "it can be hashed meanwhile";
  while (server.poll() != 0 || hashes()) {}
  EXPECT_FALSE(server.must_poll());
  put_now(token, base, {1});  // refused: read-only
  EXPECT_FALSE(server.must_poll());
  ask(RmaKind::kHash, 0, token, base, 8, 3, 13, 1);
  EXPECT_TRUE(server.must_poll());
  (void)server.poll();
  EXPECT_FALSE(server.must_poll());
  owner.lines[0].room = 10;
  EXPECT_TRUE(server.must_poll());
  poll_all();
  EXPECT_FALSE(server.busy());
}

TEST_F(RmaServerDigests, MoreRequestsThanKeptAreBusy) {
  const uint64_t token = share(memory, rma::kRead);
  owner.lines[0].room = 0;
  for (uint32_t id = 0; id < Server::kMaxJobs; ++id) ask(RmaKind::kGet, 0, token, base, 1, id);
  EXPECT_TRUE(out().empty());
  owner.lines[0].room = 10'000;
  ask(RmaKind::kGet, 0, token, base, 1, 5000);
  ask(RmaKind::kHash, 0, token, base, 1, 5001);
  EXPECT_EQ(status_of(out()[0]), RmaStatus::kBusy);
  EXPECT_EQ(header_of(take()).kind, static_cast<uint8_t>(RmaKind::kGot));
  EXPECT_EQ(header_of(out()[0]).id, 5001u);
  EXPECT_EQ(header_of(take()).kind, static_cast<uint8_t>(RmaKind::kHashed));
  ask(RmaKind::kGet, 0, token, base, 1, 1, 13, 1);  // the limit is each peer's own
  poll_all();
  EXPECT_EQ(out(0).size(), Server::kMaxJobs);
  EXPECT_EQ(status_of(take(1)), RmaStatus::kOk);
}

// The reader waits for each answer: that one too must not get lost.

TEST_F(RmaServerDigests, ARevokedTokenEndsADigestInTheMiddle) {
  memory = bytes_of(1 << 20);
  const uint64_t token = share(memory, rma::kRead);
  ask(RmaKind::kHash, wire::kRoot, token, address_of(memory.data()), 1 << 20, 9);
  (void)server.poll();
  EXPECT_LT(owner_counters.digest_bytes, memory.size());
  EXPECT_GT(owner_counters.digest_bytes, 0u);
  regions.revoke(token);
  std::vector<uint8_t>().swap(memory);  // the sanitizer sees whoever still reads there
  poll_all();
  EXPECT_EQ(status_of(take()), RmaStatus::kRefused);
}

TEST_F(RmaServerDigests, ForgottenPeersGetNoAnswer) {
  const uint64_t token = share(memory, rma::kRead);
  for (uint32_t id = 0; id < 10; ++id) ask(RmaKind::kHash, 0, token, base, 200'000, id, 13, id & 1);
  (void)server.poll();
  server.forget(peer(0));
  EXPECT_EQ(peer(0).requests, 0u);
  EXPECT_EQ(peer(1).requests, 5u);
  out(0).clear();
  poll_all();
  EXPECT_TRUE(out(0).empty());
  EXPECT_EQ(out(1).size(), 5u);
  server.forget(peer(0));
  EXPECT_EQ(peer(0).requests, 0u);
}

}  // namespace
}  // namespace verity::test
