// SPDX-License-Identifier: BSD-3-Clause
// Operations on the same bytes over several links: what waits for what, and that nothing else does.
#include <algorithm>

#include "unit/rma/pair.h"

namespace verity::test {
namespace {

using rma::Range;

// Links 0 and 1 lead to one worker, link 2 to another.
class RmaOrder : public ::testing::Test, public RmaPair {
 protected:
  RmaOrder() : RmaPair({4096, 8, false}) {
    for (const unsigned link : {0u, 1u}) {
      peer(link).order = &order;
      order.peers.push_back(static_cast<rma::InOrder&>(peer(link)));
    }
    for (RmaEnd::Line& line : reader.lines) line.late = true;
  }
  ~RmaOrder() override {
    EXPECT_FALSE(order.reads.linked() || order.fetches.linked()) << "something is open";
  }

  void read_part(uint64_t begin, size_t length) {
    rma::Read* r = prepare(std::vector<uint8_t>(length), target, token);
    r->address = base + begin;
    client.start(*r);
  }
  // The first hundred bytes, over link 0.
  void fetch_hundred() {
    rma::Fetch* fetch = client.make_fetch(peer(0));
    fetch->peer = &peer(0);
    fetch->token = token;
    fetch->address = base;
    fetch->length = 100;
    client.start(*fetch);
  }
  void take_all(unsigned link) { reader.lines[link].taken = reader.lines[link].sent; }
  void finish() {
    for (unsigned link : {0u, 1u}) reader.lines[link].late = false;
    run_until_idle();
    for (unsigned link : {0u, 1u}) take_all(link);
    run_until_idle();
  }
  [[nodiscard]] Range part(uint64_t begin, uint64_t length) const { return {base + begin, length}; }

  rma::Order order;
  std::vector<uint8_t> memory = bytes_of(20'000);
  std::vector<uint8_t> target;
  const std::vector<uint8_t> pristine = memory;
  const uint64_t base = address_of(memory.data());
  const uint64_t token = share(memory);
};

TEST_F(RmaOrder, WritingWaitsForOpenReadsOfTheSameBytes) {
  read_part(0, 8192);
  for (const unsigned link : {0u, 1u}) {
    EXPECT_FALSE(client.may_write(peer(link), part(0, 1)));
    EXPECT_FALSE(client.may_write(peer(link), part(8191, 100)));
    EXPECT_FALSE(client.may_write(peer(link), part(100, 8)));
    EXPECT_TRUE(client.may_write(peer(link), part(8192, 100)));
    EXPECT_TRUE(client.may_fetch(peer(link), part(0, 100))) << "reads do not conflict";
  }
  EXPECT_TRUE(client.may_write(peer(2), part(0, 1))) << "another process's memory";
  finish();
  EXPECT_TRUE(client.may_write(peer(0), part(0, 1)));
  EXPECT_TRUE(client.may_write(peer(1), part(0, 1)));
  EXPECT_TRUE(std::equal(target.begin(), target.end(), pristine.begin()));
}

TEST_F(RmaOrder, AnAbortedReadIsWaitedForUntilTheLowerTransportLetsGo) {
  read(memory, target, token);
  ASSERT_FALSE(reader.flights.empty());
  client.abort(peer());
  EXPECT_FALSE(client.may_write(peer(1), part(0, 1)));
  land_all();
  EXPECT_TRUE(client.may_write(peer(1), part(0, 1)));
}

TEST_F(RmaOrder, ReadsWaitForWritingOfTheSameBytesOnEveryLink) {
  for (const unsigned link : {0u, 1u}) {
    put(token, base + 100, {1, 2, 3}, link);
    read_part(103, 97);
    EXPECT_EQ(reader.flights.size(), 1u) << "other bytes";
    finish();
    reader.lines[link].late = true;
    put(token, base + 100, {4, 5, 6}, link);
    const size_t before = reader.ended.size();
    read_part(0, memory.size());
    (void)client.poll();
    EXPECT_TRUE(reader.flights.empty()) << "the put is not applied";
    finish();
    ASSERT_EQ(reader.ended.size(), before + 1);
    EXPECT_EQ(target[100], 4);
    EXPECT_EQ(reader_counters.read_chunks_damaged, 0u);
  }
}

TEST_F(RmaOrder, FetchesAndWritingWaitForWritingOfOtherLinks) {
  put(token, base + 100, {1, 2, 3}, 0);
  EXPECT_TRUE(client.may_fetch(peer(0), part(100, 1))) << "a link keeps its own order";
  EXPECT_TRUE(client.may_write(peer(0), part(100, 1)));
  EXPECT_FALSE(client.may_fetch(peer(1), part(100, 1)));
  EXPECT_FALSE(client.may_write(peer(1), part(90, 11)));
  EXPECT_TRUE(client.may_fetch(peer(1), part(103, 8)));
  EXPECT_TRUE(client.may_write(peer(1), part(0, 100)));
  take_all(0);
  EXPECT_TRUE(client.may_fetch(peer(1), part(100, 1)));
  put(token, base + 1000, {1}, 0);
  put(token, base + 2000, {1}, 0);
  EXPECT_TRUE(client.may_write(peer(1), part(100, 1))) << "applied since";
  EXPECT_FALSE(client.may_write(peer(1), part(1500, 1))) << "one range around all";
  finish();
}

TEST_F(RmaOrder, WritingWaitsForFetchesOfOtherLinks) {
  const std::vector<uint8_t> bytes(memory.begin(), memory.begin() + 100);
  fetch_hundred();
  EXPECT_TRUE(client.may_write(peer(0), part(0, 1))) << "a link keeps its own order";
  EXPECT_FALSE(client.may_write(peer(1), part(99, 1)));
  EXPECT_TRUE(client.may_write(peer(1), part(100, 1)));
  finish();
  EXPECT_TRUE(client.may_write(peer(1), part(99, 1)));
  ASSERT_EQ(reader.fetches.size(), 1u);
  EXPECT_EQ(reader.fetches[0].bytes, bytes);
  EXPECT_EQ(order.fetches_open, 0u);
}

// An atomic operation that found no room for its request is writing, too.
TEST_F(RmaOrder, ReadsAndFetchesWaitForAtomicOperationsThatHaveNotLeft) {
  reader.lines[0].room = 0;
  rma::Fetch* atomic = client.make_fetch(peer(0));
  atomic->peer = &peer(0);
  atomic->token = token;
  atomic->address = base;
  atomic->length = 8;
  atomic->is_atomic = true;
  atomic->value = 1;
  client.start(*atomic);
  EXPECT_TRUE(client.may_fetch(peer(0), part(0, 8))) << "a link keeps its own order";
  EXPECT_FALSE(client.may_fetch(peer(1), part(0, 8)));
  EXPECT_TRUE(client.may_fetch(peer(1), part(8, 8)));
  rma::Read* r = prepare(std::vector<uint8_t>(100), target, token, 1, 1);
  r->address = base;
  client.start(*r);
  (void)client.poll();
  EXPECT_TRUE(reader.flights.empty()) << "the atomic operation has not left";
  reader.lines[0].room = ~0u;
  (void)client.poll();
  EXPECT_TRUE(reader.flights.empty()) << "it is not applied";
  take_all(0);
  (void)client.poll();
  EXPECT_EQ(reader.flights.size(), 1u);
  finish();
}

// A fence orders reads behind the puts before it, whichever link carries them.
TEST_F(RmaOrder, AFenceIsForReadsOverEveryLink) {
  put(token, base, {1}, 1);
  client.fence(peer(1));
  read_part(100, 100);
  (void)client.poll();
  EXPECT_TRUE(reader.flights.empty());
  EXPECT_FALSE(client.fenced_puts_done(peer(1)));
  take_all(1);
  (void)client.poll();
  EXPECT_EQ(reader.flights.size(), 1u);
  EXPECT_TRUE(client.fenced_puts_done(peer(1)));
  finish();
}

// A request that found no room goes after a fence that came meanwhile, and is of before it.
TEST_F(RmaOrder, WhatWaitedWhileAFenceCameIsOfBeforeIt) {
  client.fence(peer(0));
  reader.before_fence = true;
  fetch_hundred();
  EXPECT_EQ(peer(0).before, 1u);
  EXPECT_FALSE(client.may_put(peer(0)));
  put(token, base + 1000, {1}, 1);
  EXPECT_FALSE(client.fenced_puts_done(peer(1)));
  reader.before_fence = false;
  client.fence(peer(0));
  EXPECT_EQ(peer(0).before, 1u);
  finish();
  EXPECT_EQ(peer(0).before, 0u);
  EXPECT_TRUE(client.may_put(peer(0)));
  EXPECT_TRUE(client.fenced_puts_done(peer(1)));
}

}  // namespace
}  // namespace verity::test
