// SPDX-License-Identifier: BSD-3-Clause
// Ends of remote reads that are no success: wrong answers, aborts; and the fences that reads and
// puts wait for.
#include <algorithm>

#include "unit/rma/pair.h"

namespace verity::test {
namespace {

constexpr size_t kChunk = 4096;

class RmaEnds : public ::testing::Test, public RmaPair {
 protected:
  RmaEnds() : RmaPair({kChunk, 8, false}) {}

  uint32_t id_of(const Message& message) {
    wire::RmaHeader header{};
    EXPECT_TRUE(wire::read_message(message.data(), message.size(), &header));
    return header.id;
  }
  // An answer made by the test.
  void answer(RmaKind kind, RmaStatus status, uint32_t id, const Message& body = {},
              unsigned link = 0) {
    const wire::RmaHeader header{static_cast<uint8_t>(kind), static_cast<uint8_t>(status), 0, 0,
                                 id};
    const auto message = std::make_unique<uint8_t[]>(sizeof(header) + body.size());
    std::memcpy(message.get(), &header, sizeof(header));
    if (!body.empty()) std::memcpy(message.get() + sizeof(header), body.data(), body.size());
    client.answer(peer(link), message.get(), sizeof(header) + body.size());
  }

  std::vector<uint8_t> memory = bytes_of(8 * kChunk);
  std::vector<uint8_t> target;
  uint64_t token = share(memory);
};

TEST_F(RmaEnds, AnswersThatBelongToNothingAreIgnored) {
  const std::vector<uint8_t> source(memory.begin(), memory.begin() + 1000);
  read(source, target, share(source));
  EXPECT_TRUE(fetch(source, share(source)));
  const uint32_t chunk = id_of(out()[0]);
  const uint32_t get = id_of(out()[1]);
  for (const uint32_t id :
       {0u, chunk + 1, chunk + 1024, chunk - 1024, chunk ^ 0x80000000u, 191u, 192u, 1023u, ~0u}) {
    if (id == get) continue;
    answer(RmaKind::kHashed, RmaStatus::kRefused, id);
    answer(RmaKind::kGot, RmaStatus::kRefused, id);
  }
  answer(RmaKind::kHashed, RmaStatus::kRefused, chunk, {}, 1);  // another peer's
  answer(RmaKind::kGot, RmaStatus::kRefused, get, {}, 1);
  answer(RmaKind::kGot, RmaStatus::kRefused, chunk);  // the wrong kind
  answer(RmaKind::kHashed, RmaStatus::kRefused, get);
  for (const uint8_t kind : {0, 1, 2, 4, 7, 255}) {  // no answers at all
    answer(static_cast<RmaKind>(kind), RmaStatus::kRefused, chunk);
    answer(static_cast<RmaKind>(kind), RmaStatus::kRefused, get);
  }
  for (const size_t length : {0u, 1u, 7u}) {
    const Message cut(length, static_cast<uint8_t>(RmaKind::kHashed));
    client.answer(peer(), cut.data(), cut.size());
  }
  for (const size_t length : {0u, 7u, 9u, 4096u})
    answer(RmaKind::kHashed, RmaStatus::kOk, chunk, Message(length));
  EXPECT_TRUE(reader.ended.empty());
  EXPECT_TRUE(reader.fetches.empty());
  run_until_idle();
  ASSERT_EQ(reader.ended.size(), 1u);
  EXPECT_EQ(reader.ended[0].status, RmaStatus::kOk);
  EXPECT_TRUE(target == source);
  EXPECT_EQ(reader.fetches[0].bytes, source);
  EXPECT_EQ(reader_counters.read_chunks_damaged, 0u);
  // Late ones, when all is over and when others have taken the places.
  answer(RmaKind::kHashed, RmaStatus::kRefused, chunk);
  answer(RmaKind::kGot, RmaStatus::kRefused, get);
  read(source, target, share(source));
  answer(RmaKind::kHashed, RmaStatus::kRefused, chunk);
  run_until_idle();
  EXPECT_EQ(reader.ended.back().status, RmaStatus::kOk);
  expect_idle();
}

TEST_F(RmaEnds, WrongAnswersEndWithAnError) {
  // Bytes of a wrong length, and a status that does not exist.
  for (const size_t length : {size_t{0}, size_t{999}, size_t{1001}}) {
    const std::vector<uint8_t> source(1000);
    EXPECT_TRUE(fetch(source, token));
    answer(RmaKind::kGot, RmaStatus::kOk, id_of(out().back()), Message(length));
    EXPECT_EQ(reader.fetches.back().status, RmaStatus::kRefused);
  }
  EXPECT_TRUE(fetch(memory, token));
  answer(RmaKind::kGot, static_cast<RmaStatus>(255), id_of(out().back()));
  EXPECT_NE(reader.fetches.back().status, RmaStatus::kOk);
  out().clear();

  // Leaves from a wrong place, none, too many, not whole ones.
  const std::vector<uint8_t> source(memory.begin(), memory.begin() + 1000);
  const auto leaves = [](uint64_t first, size_t bytes) {
    Message body(sizeof(first) + bytes, 0x5a);
    std::memcpy(body.data(), &first, sizeof(first));
    return body;
  };
  reader.immediate = true;
  for (const Message& body :
       {leaves(1, 8), leaves(0, 0), leaves(0, 40), leaves(0, 7), leaves(0, 33),
        leaves(~uint64_t{0}, 8), leaves(uint64_t{1} << 32, 8), Message(), Message(7)}) {
    read(source, target, token);
    answer(RmaKind::kHashed, RmaStatus::kOk, id_of(out().back()), Message(8, 1));
    (void)client.poll();
    answer(RmaKind::kHashed, RmaStatus::kOk, id_of(out().back()), body);
    EXPECT_EQ(reader.ended.back().status, RmaStatus::kRefused);
    EXPECT_EQ(peer().open, 0u);
    out().clear();
    release();
  }
  EXPECT_EQ(reader.ended.size(), 9u);
  expect_idle();
}

TEST_F(RmaEnds, BytesOfAWrongLengthEndTheSnapshot) {
  const std::vector<uint8_t> source(memory.begin(), memory.begin() + 1000);
  for (const size_t length : {size_t{0}, size_t{255}, size_t{257}, size_t{4096}}) {
    const uint64_t shared = share(source);
    reader.damage = [](uint64_t offset, Message& bytes) {
      bytes[offset == 0 ? 0 : 300 - std::min<uint64_t>(offset, 300)] ^= 1;
    };
    read(source, target, shared);
    uint32_t get = 0;
    for (unsigned i = 0; i < 100 && get == 0; ++i) {
      (void)client.poll();
      land_all();
      for (const Message& message : out()) {
        if (message[0] == static_cast<uint8_t>(RmaKind::kGet)) get = id_of(message);
      }
      if (get == 0) to_owner();
      (void)server.poll();
      to_reader();
    }
    ASSERT_NE(get, 0u);
    answer(RmaKind::kGot, RmaStatus::kOk, get, Message(length));
    EXPECT_EQ(reader.ended.back().status, RmaStatus::kRefused);
    run_until_idle();
  }
  expect_idle();
}

TEST_F(RmaEnds, AbortEndsWhatIsOpenWhenTheLowerTransportLetsGo) {
  std::vector<uint8_t> others;
  read(memory, target, token);
  read(memory, others, token, 1, 1);
  EXPECT_TRUE(fetch({1, 2, 3}, token));
  land();
  client.abort(peer());
  ASSERT_EQ(reader.fetches.size(), 1u);
  EXPECT_TRUE(reader.fetches[0].broken);
  EXPECT_TRUE(reader.ended.empty()) << "seven reads still write to its memory";
  client.abort(peer());
  to_owner();
  while (server.poll() != 0 || hashes()) {}
  to_reader();  // answers to the dead
  for (unsigned i = 0; i < 7; ++i) {
    EXPECT_TRUE(reader.ended.empty());
    land(i % 2 == 0);
  }
  ASSERT_EQ(reader.ended.size(), 1u);
  EXPECT_TRUE(reader.ended[0].broken);
  EXPECT_EQ(peer().open, 0u);
  run_until_idle();
  EXPECT_EQ(reader.ended.size(), 2u);
  EXPECT_FALSE(reader.ended[1].broken);
  EXPECT_TRUE(others == memory);
  expect_idle();
}

TEST_F(RmaEnds, AbortOfOneOwner) {
  int owners[2];
  std::vector<uint8_t> into[3];
  for (unsigned i = 0; i < 3; ++i) {
    rma::Read* r = prepare(memory, into[i], token);
    r->owner = &owners[i / 2];
    client.start(*r);
  }
  client.abort(peer(), &owners[0]);
  run_until_idle();
  ASSERT_EQ(reader.ended.size(), 3u);
  for (const RmaEnd::Result& result : reader.ended)
    EXPECT_EQ(result.broken, result.owner == &owners[0]);
  EXPECT_TRUE(into[2] == memory);
  expect_idle();
}

// The endpoint of a read may have to go while the lower transport still writes for it.
TEST_F(RmaEnds, OwnerGoesBeforeItsReads) {
  int owners[2];
  int heir;
  std::vector<uint8_t> into[2];
  for (unsigned i = 0; i < 2; ++i) {
    rma::Read* r = prepare(memory, into[i], token);
    r->owner = &owners[i];
    r->upper = &owners[i];
    client.start(*r);
  }
  client.abort(peer(), &owners[0]);
  ASSERT_FALSE(reader.flights.empty());
  EXPECT_TRUE(reader.ended.empty());
  EXPECT_EQ(client.disown(&owners[0], &heir), 1u);
  EXPECT_EQ(client.disown(&owners[0], &heir), 0u);
  run_until_idle();
  ASSERT_EQ(reader.ended.size(), 2u);
  for (const RmaEnd::Result& result : reader.ended) {
    EXPECT_NE(result.owner, &owners[0]);
    EXPECT_EQ(result.broken, result.owner == &heir);
  }
  EXPECT_TRUE(into[1] == memory);
  expect_idle();
}

// Requests of what was aborted wait at the owner all the same: they are no reason to refuse others.
TEST_F(RmaEnds, AbortsAtASlowOwnerLeaveRoomForWhatFollows) {
  constexpr unsigned kTimes = 3 * Server::kMaxJobs / 32;
  std::vector<uint8_t> into[4];
  for (unsigned i = 0; i < kTimes; ++i) {
    for (std::vector<uint8_t>& one : into) read(memory, one, token);
    client.abort(peer());
    land_all();
    to_owner();
  }
  release();
  EXPECT_EQ(reader.ended.size(), 4 * kTimes);
  read(memory, target, token);
  to_owner();
  run_until_idle();
  ASSERT_EQ(reader.ended.size(), 4 * kTimes + 1);
  EXPECT_EQ(reader.ended.back().status, RmaStatus::kOk);
  EXPECT_TRUE(target == memory);
  EXPECT_EQ(owner_counters.rma_refused, 0u);
  EXPECT_EQ(peer().unclaimed, 0u);
  expect_idle();
}

// Nor are copies that wait for room on the link to be sent.
TEST_F(RmaEnds, AbortedFetchesLeaveRoomForWhatFollows) {
  const std::vector<uint8_t> source(memory.begin(), memory.begin() + 8000);
  const uint64_t its_token = share(source);
  constexpr unsigned kTimes = 2 * Server::kMaxCopied / 8000;
  unsigned begun = 0;
  owner.lines[0].room = 0;
  for (unsigned i = 0; i < kTimes; ++i) {
    begun += fetch(source, its_token);
    to_owner();
    client.abort(peer());
  }
  EXPECT_GT(begun, 0u);
  EXPECT_LT(begun, Server::kMaxJobs);
  EXPECT_FALSE(fetch(source, its_token));
  owner.lines[0].room = ~0u;
  run_until_idle();
  EXPECT_EQ(owner_counters.rma_refused, 0u);
  EXPECT_EQ(peer().unclaimed_bytes, 0u);
  EXPECT_TRUE(fetch(source, its_token));
  run_until_idle();
  EXPECT_TRUE(reader.fetches.back().bytes == source);
  expect_idle();
}

// An answer whose leaves come in several messages is one.
TEST_F(RmaEnds, AbortAmongTheLeavesOfOneAnswer) {
  const std::vector<uint8_t> source(memory.begin(), memory.begin() + kChunk);
  const uint64_t its_token = share(source);
  reader.most_of_message = owner.most_of_message = 64;
  reader.damage = [](uint64_t, Message& bytes) { bytes[0] ^= 1; };
  for (const bool has_begun : {false, true}) {
    const size_t damaged = reader_counters.read_chunks_damaged;
    read(source, target, its_token);
    auto& out = owner.lines[0].out;
    for (int i = 0; i < 50 && out.size() < 2; ++i) {
      land_all();
      to_reader();
      (void)client.poll();
      to_owner();
      (void)server.poll();
    }
    ASSERT_GT(out.size(), 1u) << "the leaves";
    ASSERT_EQ(reader_counters.read_chunks_damaged, damaged + 1);
    if (has_begun) {
      const Message first = std::move(out.front());
      out.pop_front();
      client.answer(peer(), first.data(), first.size());
    }
    client.abort(peer());
    EXPECT_EQ(peer().unclaimed, has_begun ? 0u : 1u);
    run_until_idle();
    EXPECT_EQ(peer().unclaimed, 0u);
  }
  expect_idle();
}

TEST_F(RmaEnds, AbortInEveryStage) {
  memory = bytes_of(3 * kChunk);
  token = share(memory);
  for (unsigned stage = 0; stage < 60; ++stage) {
    reader.damage = [](uint64_t, Message& bytes) { bytes[bytes.size() / 2] ^= 1; };
    const size_t before = reader.ended.size();
    read(memory, target, token);
    const auto step = [&](unsigned i) {
      switch (i % 5) {
        case 0: (void)client.poll(); break;
        case 1: to_owner(); break;
        case 2: (void)server.poll(); break;
        case 3: to_reader(); break;
        default:
          if (!reader.flights.empty()) land();
          break;
      }
    };
    for (unsigned i = 0; i < stage; ++i) step(i);
    const bool was_over = reader.ended.size() > before;
    client.abort(peer());
    run_until_idle();
    ASSERT_EQ(reader.ended.size(), before + 1) << stage;
    EXPECT_EQ(reader.ended.back().broken, !was_over) << stage;
    expect_idle();
  }
}

TEST_F(RmaEnds, ReadsAfterAFenceWaitForThePutsBefore) {
  reader.lines[0].late = true;
  put(token, address_of(memory.data()), {9, 9});
  client.fence(peer());
  EXPECT_FALSE(client.puts_done(peer()));
  read(memory, target, token);
  std::vector<uint8_t> others;
  read(memory, others, token, 1, 1);
  run_until_idle();
  EXPECT_EQ(reader.ended.size(), 1u) << "another link's need not wait";
  EXPECT_EQ(reader.lines[0].sent, 1u);
  EXPECT_TRUE(client.busy());
  put(token, address_of(memory.data()), {9, 9});  // a later put is none of the fence's
  reader.lines[0].taken = 1;
  run_until_idle();
  EXPECT_EQ(reader.ended.size(), 2u);
  EXPECT_TRUE(target == memory);
  EXPECT_EQ(target[0], 9);
  EXPECT_FALSE(client.puts_done(peer()));
  reader.lines[0].taken = reader.lines[0].sent;
  EXPECT_TRUE(client.puts_done(peer()));
  client.fence(peer());
  EXPECT_EQ(run(memory, target, token).status, RmaStatus::kOk);
  expect_idle();
}

TEST_F(RmaEnds, AFenceAcrossTheWrapOfMarks) {
  reader.lines[0].sent = reader.lines[0].taken = ~0u;
  reader.lines[0].late = true;
  put(token, address_of(memory.data()), {9});
  client.fence(peer());
  read(memory, target, token);
  run_until_idle();
  EXPECT_TRUE(reader.ended.empty());
  ++reader.lines[0].taken;
  run_until_idle();
  EXPECT_EQ(reader.ended.size(), 1u);
}

TEST_F(RmaEnds, PutsAfterAFenceWaitForTheReadsBefore) {
  EXPECT_TRUE(client.may_put(peer()));
  read(memory, target, token);
  EXPECT_TRUE(fetch(std::vector<uint8_t>(10), token));
  EXPECT_TRUE(client.may_put(peer())) << "there was no fence";
  client.fence(peer());
  EXPECT_FALSE(client.may_put(peer()));
  EXPECT_TRUE(client.may_put(peer(1)));
  land_all();
  EXPECT_FALSE(client.may_put(peer()));
  run_until_idle();
  EXPECT_TRUE(client.may_put(peer()));
  read(memory, target, token);
  EXPECT_TRUE(client.may_put(peer())) << "the reads before the fence are over";
  client.fence(peer());
  client.abort(peer());
  EXPECT_FALSE(client.may_put(peer()));
  run_until_idle();
  EXPECT_TRUE(client.may_put(peer()));
}

TEST_F(RmaEnds, ReadsThatWaitForAFenceCanBeAborted) {
  reader.lines[0].late = true;
  put(token, address_of(memory.data()), {9});
  client.fence(peer());
  read(memory, target, token);
  client.abort(peer());
  ASSERT_EQ(reader.ended.size(), 1u);
  EXPECT_TRUE(reader.ended[0].broken);
  reader.lines[0].taken = reader.lines[0].sent;
  release();
  run_until_idle();
  expect_idle();
}

}  // namespace
}  // namespace verity::test
