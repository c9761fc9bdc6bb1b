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
  EXPECT_TRUE(fetch(memory, token));  // longer than a message
  run_until_idle();
  EXPECT_EQ(reader.fetches[4].status, RmaStatus::kRefused);
  EXPECT_EQ(reader.fetches[5].status, RmaStatus::kRefused);
  EXPECT_TRUE(reader.reads.empty());
  expect_idle();
}

}  // namespace
}  // namespace verity::test
