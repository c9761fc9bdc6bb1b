// SPDX-License-Identifier: BSD-3-Clause
// Remote reads whose bytes are damaged on the way, or changed by their owner meanwhile.
#include <set>

#include "sim/rng.h"
#include "unit/rma/pair.h"

namespace verity::test {
namespace {

constexpr unsigned kSegment = 256;
constexpr size_t kChunk = 16 * 1024;  // 64 segments

class RmaRepair : public ::testing::Test, public RmaPair {
 protected:
  RmaRepair() : RmaPair({kChunk, 8, false}) {}

  // Every reading of these bytes brings a wrong one, so many times.
  void hurt(const std::set<uint64_t>& offsets, unsigned times = 1) {
    for (const uint64_t offset : offsets) left[offset] = times;
    reader.damage = [this](uint64_t offset, Message& bytes) {
      for (auto it = left.lower_bound(offset);
           it != left.end() && it->first < offset + bytes.size(); ++it) {
        if (it->second == 0) continue;
        --it->second;
        bytes[it->first - offset] ^= 0x10;
      }
    };
  }
  // How the mismatches of one read were classified: on the wire, ambiguous, source changed,
  // persistent.
  [[nodiscard]] std::vector<uint64_t> classes() const {
    const health::Counters& c = reader_counters;
    return {c.reads_damaged_on_wire, c.reads_ambiguous, c.reads_source_changed, c.reads_persistent};
  }
  void expect_good(const RmaEnd::Result& result) {
    EXPECT_EQ(result.status, RmaStatus::kOk);
    EXPECT_FALSE(result.broken);
    EXPECT_EQ(result.done, memory.size());
    EXPECT_TRUE(target == memory) << "wrong bytes";
    EXPECT_EQ(reader_counters.read_bytes_verified, memory.size());
    EXPECT_FALSE(client.busy());
    EXPECT_FALSE(server.busy());
  }

  std::vector<uint8_t> memory = bytes_of(4 * kChunk);
  std::vector<uint8_t> target;
  uint64_t token = share(memory);
  std::map<uint64_t, unsigned> left;
};

TEST_F(RmaRepair, OneDamagedSegmentCostsItsBytesAndTwoRounds) {
  hurt({kChunk + 5000});
  expect_good(run(memory, target, token));
  ASSERT_EQ(reader.reads.size(), 5u);
  const uint64_t segment = kChunk + 5000 / kSegment * kSegment;
  EXPECT_EQ(reader.reads[4], (std::pair<uint64_t, uint64_t>(segment, kSegment)));
  EXPECT_EQ(reader_counters.read_bytes_again, kSegment);
  EXPECT_EQ(reader_counters.read_chunks_damaged, 1u);
  EXPECT_EQ(reader_counters.read_segments_damaged, 1u);
  EXPECT_EQ(reader_counters.read_segments_repaired, 1u);
  EXPECT_EQ(reader_counters.read_chunks_verified, 4u);
  EXPECT_EQ(owner_counters.digests_served, 5u);
  EXPECT_EQ(owner_counters.gets_served, 0u);
  EXPECT_EQ(reader.mismatches.size(), 1u);
}

TEST_F(RmaRepair, TheFirstAndTheLastShortSegment) {
  memory = bytes_of(2 * kChunk + 1000);  // in place: its registration is renewed
  token = share(memory);
  hurt({0, memory.size() - 1});
  expect_good(run(memory, target, token, 3));
  EXPECT_EQ(reader_counters.read_bytes_again, kSegment + 1000 % kSegment);
  EXPECT_EQ(reader_counters.read_segments_repaired, 2u);
}

TEST_F(RmaRepair, AThousandDamagedSegmentsAtOnce) {
  memory = bytes_of(16 * kChunk);
  token = share(memory);
  std::set<uint64_t> offsets;
  for (uint64_t i = 0; i < 1000; ++i) offsets.insert(i * kSegment + i % kSegment);
  hurt(offsets);
  read(memory, target, token);
  EXPECT_LE(run_until_idle(), 20u);
  expect_good(reader.ended.back());
  EXPECT_EQ(reader_counters.read_segments_damaged, 1000u);
  EXPECT_EQ(reader_counters.read_segments_repaired, 1000u);
  EXPECT_EQ(reader_counters.read_bytes_again, 1000u * kSegment);
  EXPECT_EQ(owner_counters.digests_served, 32u);
  EXPECT_EQ(reader.reads.size(), 32u) << "neighbours are read together";
}

TEST_F(RmaRepair, EverySecondSegmentOfAChunk) {
  std::set<uint64_t> offsets;
  for (uint64_t i = 0; i < kChunk / kSegment; i += 2) offsets.insert(i * kSegment);
  hurt(offsets);
  expect_good(run(memory, target, token, 5));
  EXPECT_EQ(reader.reads.size(), 4u + 32u);
  EXPECT_EQ(reader_counters.read_bytes_again, kChunk / 2);
}

// The port checks the shortest length.
TEST_F(RmaRepair, NothingIsReadAgainShorterThanTheLowerTransportReads) {
  memory = bytes_of(2 * kChunk + 1500);
  token = share(memory);
  for (const uint64_t least :
       {uint64_t{1}, uint64_t{255}, uint64_t{256}, uint64_t{257}, uint64_t{1000}, uint64_t{5000}}) {
    for (const uint64_t at :
         {uint64_t{0}, uint64_t{300}, uint64_t{kChunk - 1}, uint64_t{kChunk}, memory.size() - 1}) {
      rma::Read* r = prepare(memory, target, token);
      r->least = least;
      hurt({at});
      client.start(*r);
      run_until_idle();
      EXPECT_EQ(reader.ended.back().done, memory.size());
      EXPECT_TRUE(target == memory) << least << " " << at;
    }
  }
  EXPECT_EQ(reader_counters.read_segments_damaged, 30u);
  EXPECT_EQ(reader_counters.read_segments_repaired, 30u);
}

// What is read again only because the lower transport reads no less was good: it may be damaged
// now.
TEST_F(RmaRepair, GoodBytesThatAreReadAgainAreCheckedAgain) {
  for (const uint64_t at : {uint64_t{0}, uint64_t{5000}, uint64_t{kChunk - 1}}) {
    rma::Read* r = prepare(memory, target, token);
    r->least = 2000;
    hurt({at});
    unsigned harmed = 0;
    reader.before_read = [&] { ++harmed; };
    const auto once = reader.damage;
    reader.damage = [&, once](uint64_t offset, Message& bytes) {
      once(offset, bytes);
      if (harmed == 5) {  // the first reading again
        bytes.front() ^= 1;
        bytes.back() ^= 1;
      }
    };
    client.start(*r);
    run_until_idle();
    EXPECT_TRUE(target == memory) << at;
    EXPECT_EQ(reader.ended.back().done, memory.size());
    EXPECT_EQ(reader.faults.back().fault.segments, 2u) << "one of them was good at first";
  }
  EXPECT_EQ(reader_counters.read_segments_damaged, 6u);
  EXPECT_EQ(reader_counters.read_segments_repaired, 6u);
}

TEST_F(RmaRepair, ADigestBeforeTheReadMeansDamageOnTheWire) {
  hurt({100});
  unsigned asked = 0;
  reader.answers = [&](uint64_t, uint64_t) {
    return ++asked <= 12 ? Started::kBusy : Started::kUnderWay;
  };
  expect_good(run(memory, target, token));
  EXPECT_EQ(classes(), (std::vector<uint64_t>{1, 0, 0, 0}));
}

TEST_F(RmaRepair, ADigestAfterTheReadIsAmbiguous) {
  hurt({100});
  read(memory, target, token);
  land_all();
  run_until_idle();
  expect_good(reader.ended.back());
  EXPECT_EQ(classes(), (std::vector<uint64_t>{0, 1, 0, 0}));
}

TEST_F(RmaRepair, DamageTwiceIsTheWiresEvenWhenTheDigestCameLate) {
  unsigned times = 0;
  reader.damage = [&](uint64_t offset, Message& bytes) {
    if (offset == 0 && ++times <= 2) bytes[0] = static_cast<uint8_t>(bytes[0] + times);
  };
  read(memory, target, token);
  land_all();
  run_until_idle();
  expect_good(reader.ended.back());
  EXPECT_EQ(times, 3u);
  EXPECT_EQ(reader_counters.read_bytes_again, 2 * kSegment);
  EXPECT_EQ(classes(), (std::vector<uint64_t>{1, 0, 0, 0}));
}

TEST_F(RmaRepair, ASourceChangedBetweenReadAndDigestIsAmbiguous) {
  read(memory, target, token);
  land_all();
  memory[300] ^= 1;
  run_until_idle();
  expect_good(reader.ended.back());
  EXPECT_EQ(reader_counters.read_bytes_again, kSegment);
  EXPECT_EQ(classes(), (std::vector<uint64_t>{0, 1, 0, 0}));
}

TEST_F(RmaRepair, ASourceChangedBetweenDigestAndReadIsKnownAsChanged) {
  read(memory, target, token);
  to_owner();
  while (server.poll() != 0 || hashes()) {}
  memory[300] ^= 1;
  run_until_idle();
  expect_good(reader.ended.back());
  EXPECT_EQ(reader_counters.read_bytes_again, 0u)
      << "the second digest says that the bytes are right";
  EXPECT_EQ(classes(), (std::vector<uint64_t>{0, 0, 1, 0}));
  EXPECT_EQ(owner.changed,
            (std::vector<std::pair<uint64_t, uint32_t>>{{address_of(memory.data()), kChunk}}))
      << "the owner sees it too";
}

TEST_F(RmaRepair, AReadIsToldOnceThatItsSourceChanged) {
  read(memory, target, token);
  to_owner();
  while (server.poll() != 0 || hashes()) {}
  for (size_t at = 300; at < memory.size(); at += kChunk) memory[at] ^= 1;
  run_until_idle();
  expect_good(reader.ended.back());
  EXPECT_EQ(classes(), (std::vector<uint64_t>{0, 0, 4, 0})) << "all four parts";
  EXPECT_EQ(reader.changes_by_program, 1u);
  EXPECT_EQ(owner.changed.size(), 4u);
}

TEST_F(RmaRepair, TheOwnerTakesDamageOnTheWayForNoChange) {
  hurt({300, kChunk + 7}, 2);
  expect_good(run(memory, target, token));
  EXPECT_EQ(owner.changed.size(), 0u);
  EXPECT_EQ(reader.changes_by_program, 0u);
}

TEST_F(RmaRepair, ASourceThatChangesAllTheTimeEndsInFrames) {
  owner.before_look = reader.before_read = [this] { ++memory[300]; };
  expect_good(run(memory, target, token));
  EXPECT_EQ(classes(), (std::vector<uint64_t>{0, 0, 1, 0}));
  EXPECT_EQ(owner_counters.gets_served, 1u);
  EXPECT_EQ(reader_counters.read_bytes_again, (Client::kRereads + 1) * kSegment);
}

TEST_F(RmaRepair, ASegmentThatIsRightInTheSecondLookIsNotReadOnceMore) {
  // The first reading again is newer than its digest; the digest after it is right.
  reader.before_read = [this] {
    if (reader.reads.size() == 5) ++memory[300];
  };
  hurt({300});
  reader.immediate = true;
  expect_good(run(memory, target, token));
  EXPECT_EQ(reader.reads.size(), 5u);
  EXPECT_EQ(reader_counters.read_bytes_again, kSegment);
  EXPECT_EQ(reader_counters.read_segments_repaired, 1u);
}

TEST_F(RmaRepair, TheSameWrongBytesTwiceComeInFrames) {
  hurt({kChunk + 1, 3 * kChunk}, ~0u);
  expect_good(run(memory, target, token, 4));
  EXPECT_EQ(classes(), (std::vector<uint64_t>{0, 0, 0, 2}));
  EXPECT_EQ(owner_counters.gets_served, 2u);
  EXPECT_EQ(owner_counters.get_bytes_served, 2 * kSegment);
  EXPECT_EQ(reader_counters.read_bytes_again, 2 * (Client::kRereads + 1) * kSegment);
  EXPECT_EQ(reader_counters.read_segments_damaged, 2u);
  EXPECT_EQ(reader_counters.read_segments_repaired, 2u);
}

TEST_F(RmaRepair, AWholeReadInFramesOfAnySize) {
  memory = bytes_of(kChunk + 777);
  token = share(memory);
  for (const size_t most : {size_t{64}, size_t{300}, size_t{8192}}) {
    reader.most_of_message = owner.most_of_message = most;
    reader.damage = [](uint64_t, Message& bytes) {
      for (uint8_t& byte : bytes) byte ^= 0xff;
    };
    reader_counters = {};
    expect_good(run(memory, target, token, 16));
    EXPECT_EQ(reader_counters.read_segments_repaired, reader_counters.read_segments_damaged);
    EXPECT_EQ(reader_counters.read_segments_damaged, kChunk / kSegment + 4);
  }
}

TEST_F(RmaRepair, ATokenRevokedDuringTheRepairEndsTheRead) {
  for (const uint64_t digests :
       {4u, 5u, 6u, 7u}) {  // roots; then before each LEAVES and before the frames
    const uint64_t mortal = share(memory);
    hurt({300}, ~0u);
    read(memory, target, mortal);
    bool revoked = false;
    const uint64_t before = owner_counters.digests_served;
    for (unsigned i = 0; i < 1000 && reader.lines[0].peer.open != 0; ++i) {
      (void)client.poll();
      land_all();
      if (!revoked && owner_counters.digests_served - before >= digests)
        regions.revoke(mortal), revoked = true;
      to_owner();
      (void)server.poll();
      to_reader();
    }
    ASSERT_EQ(reader.lines[0].peer.open, 0u);
    EXPECT_EQ(reader.ended.back().status, RmaStatus::kRefused) << digests;
    EXPECT_FALSE(client.busy());
  }
}

TEST_F(RmaRepair, ReadingAgainCanBeBusyOrFail) {
  hurt({300, 1000, 3000, kChunk + 1});
  unsigned calls = 0;
  reader.answers = [&](uint64_t, uint64_t) {
    return ++calls % 3 != 0 ? Started::kBusy : Started::kUnderWay;
  };
  expect_good(run(memory, target, token));
  EXPECT_EQ(reader_counters.read_bytes_again, 4u * kSegment);

  // One of three rereads cannot be started: the read ends only when the others have landed.
  hurt({300, 1000, 3000});
  reader.answers = [&](uint64_t offset, uint64_t length) {
    return offset == 3000 / kSegment * kSegment && length == kSegment ? Started::kFailed
                                                                      : Started::kUnderWay;
  };
  const RmaEnd::Result result = run(memory, target, token);
  EXPECT_TRUE(result.broken);
  EXPECT_TRUE(reader.flights.empty());
}

TEST_F(RmaRepair, ObservingCountsAndRepairsNothing) {
  RmaPair pair({kChunk, 8, true});
  const uint64_t shared = pair.share(memory);
  pair.reader.damage = [](uint64_t offset, Message& bytes) {
    if (offset == kChunk) bytes[7] ^= 1;
  };
  const RmaEnd::Result result = pair.run(memory, target, shared);
  EXPECT_EQ(result.status, RmaStatus::kOk);
  EXPECT_EQ(result.done, memory.size());
  EXPECT_EQ(pair.reader.reads.size(), 4u);
  EXPECT_EQ(pair.reader_counters.faults_observed, 1u);
  EXPECT_EQ(pair.reader_counters.read_chunks_damaged, 1u);
  EXPECT_EQ(pair.reader_counters.read_chunks_verified, 3u);
  EXPECT_EQ(pair.owner_counters.digests_served, 4u);
  std::vector<uint8_t> wanted = memory;
  wanted[kChunk + 7] ^= 1;
  EXPECT_TRUE(target == wanted);
}

// Anything that may go wrong and be repaired, together: the bytes are the owner's in the end.
TEST_F(RmaRepair, WhateverHappensTheBytesAreRight) {
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    sim::Rng rng(seed);
    RmaPair pair({256u << rng.below(8), static_cast<unsigned>(8 + rng.below(3)), false});
    const auto source = bytes_of(1 + rng.below(60'000), static_cast<unsigned>(seed));
    const uint64_t shared = pair.share(source);
    const double harm = rng.chance(0.5) ? 0.05 : 0.7;
    pair.reader.most_of_message = rng.between(64, 3000);
    pair.owner.most_of_message = rng.chance(0.5) ? pair.reader.most_of_message : 64;
    pair.reader.damage = [&](uint64_t, Message& bytes) {
      while (rng.chance(harm))
        bytes[rng.below(bytes.size())] ^= static_cast<uint8_t>(1 + rng.below(255));
    };
    pair.reader.answers = [&](uint64_t, uint64_t) {
      pair.reader.immediate = rng.chance(0.3);
      return rng.chance(0.3) ? Started::kBusy : Started::kDone;
    };
    std::vector<uint8_t> into;
    rma::Read* r = pair.prepare(source, into, shared, static_cast<unsigned>(1 + rng.below(16)));
    r->least = 1 + rng.below(rng.chance(0.5) ? 100 : 1500);
    pair.client.start(*r);
    for (unsigned i = 0; i < 100'000 && pair.reader.ended.empty(); ++i) {
      (void)pair.client.poll();
      if (rng.chance(0.5)) pair.to_owner();
      if (rng.chance(0.5)) (void)pair.server.poll();
      if (rng.chance(0.5)) pair.to_reader();
      if (rng.chance(0.5) && !pair.reader.flights.empty()) {
        std::swap(pair.reader.flights.front(),
                  pair.reader.flights[rng.below(pair.reader.flights.size())]);
        pair.land();
      }
    }
    ASSERT_EQ(pair.reader.ended.size(), 1u) << "seed " << seed;
    ASSERT_EQ(pair.reader.ended[0].status, RmaStatus::kOk) << "seed " << seed;
    ASSERT_TRUE(into == source) << "seed " << seed;
    EXPECT_EQ(pair.reader_counters.read_bytes_verified, source.size());
  }
}

}  // namespace
}  // namespace verity::test
