// SPDX-License-Identifier: BSD-3-Clause
// Fetches, the reads whose bytes come in frames: how many, and what they bring.
#include "unit/rma/pair.h"

namespace verity::test {
namespace {

class RmaFetch : public ::testing::Test, public RmaPair {};

TEST_F(RmaFetch, APeerThatDoesNotAnswerLeavesSomeToOthers) {
  const std::vector<uint8_t> one(1, 7);
  const uint64_t shared = share(one);
  unsigned silent = 0;
  while (silent < Client::kMaxFetches && fetch(one, shared, 0)) ++silent;
  EXPECT_FALSE(client.has_room(peer(0)));
  unsigned others = 0;
  while (others < Client::kMaxFetches && fetch(one, shared, 1)) ++others;
  EXPECT_GE(others, Client::kMaxFetches / 4);
  to_owner(1);
  while (server.poll() != 0) {}
  to_reader(1);
  EXPECT_EQ(reader.fetches.size(), size_t{others});
  EXPECT_TRUE(client.has_room(peer(1)));
  run_until_idle();
  EXPECT_EQ(reader.fetches.size(), size_t{silent + others});
  expect_idle();
}

// The owner may have to keep the answers: it gets no request for more than it keeps.
TEST_F(RmaFetch, AreBoundedInBytes) {
  reader.most_of_message = owner.most_of_message = 4 << 20;
  const std::vector<uint8_t> source = bytes_of(Client::kMaxFetchBytes, 3);
  const uint64_t shared = share(source);
  owner.lines[0].room = 0;
  unsigned started = 0;
  while (started < 100 && fetch(source, shared)) ++started;
  EXPECT_EQ(started, Client::kMaxFetching / Client::kMaxFetchBytes);
  EXPECT_FALSE(client.has_room(peer()));
  EXPECT_TRUE(fetch(source, shared, 1)) << "each peer has its own";
  to_owner();
  EXPECT_LE(owner.lines[0].peer.copied,
            Server::kMaxCopied - Client::kMaxChunks * Client::kMaxGetBytes);
  owner.lines[0].room = 1'000'000;
  run_until_idle();
  EXPECT_EQ(reader.fetches.size(), started + 1);
  for (const RmaEnd::Fetched& f : reader.fetches) EXPECT_TRUE(f.bytes == source);
  EXPECT_EQ(peer().fetching, 0u);
  expect_idle();
}

TEST_F(RmaFetch, BringTheBytesInFrames) {
  const std::vector<uint8_t> memory = bytes_of(4 * reader.most_of_message);
  const uint64_t token = share(memory);
  for (const size_t size :
       {size_t{0}, size_t{1}, size_t{8000}, reader.most_of_message - sizeof(wire::RmaHeader)}) {
    const std::vector<uint8_t> source(memory.begin(),
                                      memory.begin() + static_cast<ptrdiff_t>(size));
    EXPECT_TRUE(fetch(source, share(source)));
    run_until_idle();
    EXPECT_EQ(reader.fetches.back().status, RmaStatus::kOk);
    EXPECT_EQ(reader.fetches.back().bytes, source);
  }
  EXPECT_TRUE(fetch(memory, token ^ 1));
  run_until_idle();
  EXPECT_EQ(reader.fetches[4].status, RmaStatus::kRefused);
  EXPECT_TRUE(reader.reads.empty());
  expect_idle();
}

// The two sides have other settings.
TEST_F(RmaFetch, LongerThanAMessageOfTheOwnerComeInParts) {
  const std::vector<uint8_t> source = bytes_of(8000);
  const uint64_t token = share(source);
  for (const size_t most : {size_t{64}, size_t{100}, size_t{7999}, size_t{8007}, size_t{8008}}) {
    owner.most_of_message = most;
    owner.lines[0].room = 1;  // and the next only when that has arrived
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(fetch(source, token));
    to_owner();
    std::vector<uint8_t> behind(source.begin(), source.begin() + 10);
    EXPECT_TRUE(fetch(behind, share(behind)));
    to_owner();
    for (unsigned i = 0; i < 1000 && peer().open != 0; ++i) {
      (void)server.poll();
      to_reader();
      owner.lines[0].room = 1;
    }
    ASSERT_EQ(reader.fetches.size(), 3u) << most;
    for (const RmaEnd::Fetched& fetched : reader.fetches) EXPECT_EQ(fetched.status, RmaStatus::kOk);
    EXPECT_EQ(reader.fetches[0].bytes, source);
    EXPECT_EQ(reader.fetches[1].bytes, source);
    EXPECT_EQ(reader.fetches[2].bytes, behind) << "in the order of the requests";
    EXPECT_EQ(owner.lines[0].peer.copied, 0u);
    reader.fetches.clear();
    expect_idle();
  }
}

TEST_F(RmaFetch, AbortedAmongThePartsOfTheirAnswer) {
  const std::vector<uint8_t> source = bytes_of(8000);
  owner.most_of_message = 100;
  const uint64_t token = share(source);
  for (const unsigned arrived : {0u, 1u, 5u}) {
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(fetch(source, token));
    to_owner();
    owner.lines[0].room = arrived;
    (void)server.poll();
    to_reader();
    client.abort(peer());
    EXPECT_EQ(peer().unclaimed, arrived == 0 ? 2u : 1u);
    owner.lines[0].room = ~0u;
    run_until_idle();
    EXPECT_EQ(peer().unclaimed, 0u);
    expect_idle();
  }
}

TEST_F(RmaFetch, PartsThatDoNotFollowEndWithAnError) {
  const std::vector<uint8_t> source(100);
  struct Case {
    uint64_t first;
    size_t bytes;
  };
  for (const Case c :
       {Case{1, 10}, Case{0, 101}, Case{~uint64_t{0}, 1}, Case{uint64_t{1} << 32, 9}}) {
    EXPECT_TRUE(fetch(source, share(source)));
    wire::RmaHeader request;
    ASSERT_TRUE(wire::read_message(out().back().data(), out().back().size(), &request));
    const wire::RmaPart part{{static_cast<uint8_t>(RmaKind::kGot), 0, wire::kPart, 0, request.id},
                             c.first};
    Message message(sizeof(part) + c.bytes);
    std::memcpy(message.data(), &part, sizeof(part));
    client.answer(peer(), message.data(), message.size());
    EXPECT_EQ(reader.fetches.back().status, RmaStatus::kRefused);
    out().clear();
  }
  expect_idle();
}

}  // namespace
}  // namespace verity::test
