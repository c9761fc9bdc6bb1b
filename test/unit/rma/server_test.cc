// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "unit/rma/server_case.h"

namespace verity::test {
namespace {

TEST_F(RmaServer, PutsAreWrittenOnceAndNotAnswered) {
  const uint64_t token = share(memory, rma::kWrite);
  put_now(token, base + 100, bytes_of(50, 2));
  put_now(token, base + memory.size() - 1, {0x42});
  put_now(token, base + memory.size(), {});
  std::vector<uint8_t> wanted = pristine;
  const auto written = bytes_of(50, 2);
  std::copy(written.begin(), written.end(), wanted.begin() + 100);
  wanted.back() = 0x42;
  EXPECT_EQ(memory, wanted);
  EXPECT_TRUE(out().empty());
  EXPECT_EQ(owner_counters.puts_applied, 3u);
  EXPECT_EQ(owner_counters.put_bytes_applied, 51u);
  EXPECT_EQ(owner_counters.rma_refused, 0u);
  EXPECT_FALSE(server.busy());
}

TEST_F(RmaServer, PutsOutsideOfTheTokenAreRefusedAndTheReaderIsTold) {
  const uint64_t token = share(memory, rma::kWrite);
  const uint64_t read_only = share(memory, rma::kRead);
  const uint64_t revoked = share(memory, rma::kWrite);
  regions.revoke(revoked);
  put_now(token, base - 1, {1});
  put_now(token, base + memory.size() - 1, {1, 2});
  put_now(token ^ 1, base, {1});
  put_now(0, base, {1});
  put_now(read_only, base, {1});
  put_now(revoked, base, {1});
  put_now(revoked, base, {});
  put_now(token, ~uint64_t{0}, {1, 2});
  EXPECT_EQ(memory, pristine);
  EXPECT_EQ(owner_counters.rma_refused, 8u);
  EXPECT_EQ(owner_counters.puts_applied, 0u);
  ASSERT_EQ(out().size(), 8u);
  to_reader();
  EXPECT_EQ(reader.lines[0].refusals, 8u);
  EXPECT_EQ(reader.lines[0].revoked, 2u);
  EXPECT_EQ(reader.lines[1].refusals, 0u);
}

TEST_F(RmaServer, PutsTooShortAreRefused) {
  const Message full(sizeof(wire::RmaPut), static_cast<uint8_t>(RmaKind::kPut));
  for (size_t length = 0; length < full.size(); ++length) {
    const std::vector<uint8_t> cut(full.begin(), full.begin() + static_cast<ptrdiff_t>(length));
    server.put(peer(), cut.data(), cut.size());
  }
  EXPECT_EQ(owner_counters.rma_refused, full.size());
  EXPECT_EQ(out().size(), full.size());
}

// The reader takes a put that its link delivered for applied: a refusal must not get lost.

TEST_F(RmaServer, ARefusalWaitsForRoom) {
  owner.lines[0].room = 0;
  put_now(1, base, {1});
  put_now(1, base, {1});
  EXPECT_TRUE(server.busy());
  EXPECT_EQ(server.poll(), 0u);
  EXPECT_TRUE(out().empty());
  owner.lines[0].room = 10;
  poll_all();
  EXPECT_FALSE(server.busy());
  to_reader();
  EXPECT_GE(reader.lines[0].refusals, 1u);
}

// Nor where as many other answers wait as are kept.
TEST_F(RmaServer, ARefusalOfAWriteNeedsNoMemory) {
  const uint64_t revoked = share(memory, rma::kWrite);
  regions.revoke(revoked);
  owner.lines[0].room = 0;
  for (unsigned i = 0; i < 3 * Server::kMaxJobs; ++i) ask(RmaKind::kGet, 0, 1, base, 1, i);
  put_now(revoked, base, {1});
  EXPECT_TRUE(server.must_poll() || server.busy());
  owner.lines[0].room = 1;
  EXPECT_GE(server.poll(), 1u);
  to_reader();
  EXPECT_EQ(reader.lines[0].revoked, 1u);
  owner.lines[0].room = 0;
  put_now(revoked, base, {1});
  put_now(1, base, {1});  // which fails the link, and stands for both
  put_now(revoked, base, {1});
  owner.lines[0].room = 1;
  (void)server.poll();
  to_reader();
  EXPECT_EQ(reader.lines[0].refusals, 2u);
  EXPECT_EQ(reader.lines[0].revoked, 1u);
  put_now(revoked, base, {1});
  server.forget(peer());
  EXPECT_FALSE(server.busy());
}

TEST_F(RmaServer, ALinkThatTakesNothingDoesNotCollectRefusals) {
  owner.lines[0].room = 0;
  for (unsigned i = 0; i < 10'000; ++i) put_now(1, base, {1});
  for (unsigned i = 0; i < 10'000; ++i) ask(RmaKind::kGet, 0, 1, base, 1, i);
  EXPECT_LE(peer().requests, 2 * Server::kMaxJobs);
  server.forget(peer());
  EXPECT_EQ(peer().requests, 0u);
  EXPECT_FALSE(server.busy());
}

TEST_F(RmaServer, GetsAreAnsweredWithTheBytes) {
  const uint64_t token = share(memory, rma::kRead);
  const auto most = static_cast<uint32_t>(owner.most_of_message - sizeof(wire::RmaHeader));
  for (const uint32_t length : {0u, 1u, 4096u, most}) {
    ask(RmaKind::kGet, 0, token, base + memory.size() - length, length, 77 + length);
    EXPECT_FALSE(server.busy()) << "answered at once";
    const Message answer = take();
    EXPECT_EQ(header_of(answer).kind, static_cast<uint8_t>(RmaKind::kGot));
    EXPECT_EQ(header_of(answer).id, 77 + length);
    EXPECT_EQ(status_of(answer), RmaStatus::kOk);
    EXPECT_EQ(body_of(answer), Message(memory.end() - length, memory.end()));
  }
  EXPECT_EQ(owner_counters.gets_served, 4u);
  EXPECT_EQ(owner_counters.get_bytes_served, 0 + 1 + 4096 + most);
}

// One peer's operations are done in the order in which they came, whenever their answers can go.

TEST_F(RmaServer, AGetBringsWhatWasThereBeforeThePutBehindIt) {
  const uint64_t token = share(memory);
  owner.lines[0].room = 0;
  ask(RmaKind::kGet, 0, token, base, 8000, 1);
  put_now(token, base, bytes_of(8000, 2));
  ask(RmaKind::kGet, 0, token, base, 100, 2);
  put_now(token, base, bytes_of(8000, 3));
  EXPECT_EQ(server.poll(), 0u);
  owner.lines[0].room = 10;
  ask(RmaKind::kGet, 0, token, base, 10, 3);
  poll_all();
  const std::vector<uint8_t> wanted[] = {pristine, bytes_of(8000, 2), bytes_of(8000, 3)};
  const ptrdiff_t lengths[] = {8000, 100, 10};
  for (uint32_t i = 0; i < 3; ++i) {
    const Message answer = take();
    EXPECT_EQ(header_of(answer).id, i + 1) << "in the order in which they came";
    EXPECT_EQ(body_of(answer), Message(wanted[i].begin(), wanted[i].begin() + lengths[i])) << i;
  }
  EXPECT_FALSE(server.busy());
  EXPECT_EQ(peer().copied, 0u);
  EXPECT_EQ(owner_counters.gets_served, 3u);
}

TEST_F(RmaServer, GetsAndAtomicOperationsOfAPeerAreAnsweredInOrder) {
  const uint64_t token = share(memory);
  const uint64_t word = (base + 7) & ~uint64_t{7};
  uint64_t before = 0;
  std::memcpy(&before, reinterpret_cast<const void*>(word), sizeof(before));
  const auto swap = [&](uint64_t value, uint32_t id) {
    const auto what =
        static_cast<uint8_t>(static_cast<uint8_t>(wire::AtomicOp::kSwap) | wire::kAtomicFetch);
    const wire::RmaAtomic a{
        {static_cast<uint8_t>(RmaKind::kAtomic), what, 3, 0, id}, token, word, value, 0};
    server.atomic(peer(), reinterpret_cast<const uint8_t*>(&a), sizeof(a));
  };
  for (const unsigned room : {0u, 1u, 100u}) {
    owner.lines[0].room = room;
    uint64_t wanted[6];
    for (uint32_t i = 0; i < 3; ++i) {
      wanted[2 * i] = wanted[2 * i + 1] = before;
      ask(RmaKind::kGet, 0, token, word, 8, 2 * i);
      swap(before = 1000 * room + i, 2 * i + 1);
    }
    owner.lines[0].room = 100;
    poll_all();
    for (uint32_t id = 0; id < 6; ++id) {
      const Message answer = take();
      EXPECT_EQ(header_of(answer).id, id);
      EXPECT_EQ(body_of(answer), Message(reinterpret_cast<uint8_t*>(&wanted[id]),
                                         reinterpret_cast<uint8_t*>(&wanted[id] + 1)));
    }
  }
}

TEST_F(RmaServer, WhatIsKeptForAPeerIsBounded) {
  memory = bytes_of(3 << 20);
  const uint64_t token = share(memory);
  const uint64_t at = address_of(memory.data());
  owner.most_of_message = 8 << 20;
  owner.lines[0].room = 0;
  for (uint32_t id = 0; id < 10; ++id) ask(RmaKind::kGet, 0, token, at, 1 << 20, id);
  EXPECT_EQ(peer().copied, Server::kMaxCopied);
  ask(RmaKind::kGet, 0, token, at, 3 << 20, 10, 13, 1);
  EXPECT_EQ(header_of(take(1)).what, 0u) << "another peer has its own";
  owner.lines[0].room = 100;
  poll_all();
  unsigned busy = 0;
  while (!out().empty()) busy += status_of(take()) == RmaStatus::kBusy;
  EXPECT_EQ(busy, 6u);
  EXPECT_EQ(peer().copied, 0u);
  EXPECT_EQ(peer().answers, 0u);
  owner.lines[0].room = 0;
  ask(RmaKind::kGet, 0, token, at, 100, 11);
  server.forget(peer());
  EXPECT_EQ(peer().copied, 0u);
  EXPECT_EQ(peer().answers, 0u);
}

TEST_F(RmaServer, WritesToMemoryThatIsGoneAreRefused) {
  const uint64_t token = share(memory);
  owner.unreadable = true;
  put_now(token, base, {1, 2, 3});
  EXPECT_EQ(header_of(take()).kind, static_cast<uint8_t>(RmaKind::kRefused));
  for (const uint8_t fetches : {uint8_t{0}, wire::kAtomicFetch}) {
    const auto what = static_cast<uint8_t>(static_cast<uint8_t>(wire::AtomicOp::kAdd) | fetches);
    const wire::RmaAtomic add{
        {static_cast<uint8_t>(RmaKind::kAtomic), what, 3, 0, 7}, token, base, 1, 0};
    server.atomic(peer(), reinterpret_cast<const uint8_t*>(&add), sizeof(add));
    poll_all();
    const wire::RmaHeader answer = header_of(out().front());
    EXPECT_EQ(answer.kind, static_cast<uint8_t>(fetches != 0 ? RmaKind::kGot : RmaKind::kRefused));
    EXPECT_EQ(status_of(take()), RmaStatus::kUnreadable);
  }
  EXPECT_EQ(owner_counters.rma_refused, 3u);
  EXPECT_EQ(owner_counters.puts_applied + owner_counters.atomics_applied, 0u);
  EXPECT_EQ(memory, pristine);
  EXPECT_FALSE(server.busy());
}

// Another thread unmaps it between the probe and the reading.

TEST_F(RmaServer, BusyWaitsForRoom) {
  const uint64_t token = share(memory, rma::kRead);
  owner.lines[0].room = 0;
  for (uint32_t id = 0; id <= Server::kMaxJobs; ++id) ask(RmaKind::kGet, 0, token, base, 1, id);
  owner.lines[0].room = 10'000;
  poll_all();
  ASSERT_EQ(out().size(), Server::kMaxJobs + 1);
  EXPECT_EQ(status_of(out().back()), RmaStatus::kBusy);
  EXPECT_EQ(header_of(out().back()).id, Server::kMaxJobs);
}

}  // namespace
}  // namespace verity::test
