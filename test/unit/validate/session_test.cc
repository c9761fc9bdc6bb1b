// SPDX-License-Identifier: BSD-3-Clause
#include "validate/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <random>

namespace verity::validate {
namespace {

constexpr uint32_t kSegment = 1024;

std::vector<uint8_t> random_bytes(size_t size, unsigned seed = 3) {
  std::mt19937_64 random(seed);
  std::vector<uint8_t> bytes((size + 7) / 8 * 8);
  for (size_t i = 0; i < bytes.size(); i += 8) {
    const uint64_t word = random();
    std::memcpy(bytes.data() + i, &word, sizeof(word));
  }
  bytes.resize(size);
  return bytes;
}

Buffer plain_buffer(std::vector<uint8_t>& bytes) {
  return {bytes.data(), plain_layout(bytes.size()), 1};
}

Kind kind_of(const Bytes& bytes) { return static_cast<Kind>(bytes[5]); }

using Damage = std::function<void(Bytes&)>;

// One validation over a channel that may damage what it carries.
struct Validation {
  Validation(std::vector<uint8_t> right_bytes, std::vector<uint8_t> wrong_bytes, Limits limits = {},
             const Damage& damage = {})
      : right(std::move(right_bytes)), wrong(std::move(wrong_bytes)) {
    const Buffer owned = plain_buffer(right);
    const Buffer held = plain_buffer(wrong);
    const merkle::Tree tree = hash_buffer(owned, kSegment);
    Owner o(owned, tree, 1, limits);
    Holder h(held, 1, limits);
    Bytes message = o.start();
    for (bool to_holder = true; !message.empty() && messages < 10'000;
         to_holder = !to_holder, ++messages) {
      ++kinds[kind_of(message)];
      bytes_carried += message.size();
      if (damage) damage(message);
      Message parsed;
      const Reading reading = read(message, &parsed);
      message = to_holder ? h.receive(reading, parsed) : o.receive(reading, parsed);
    }
    owner = o.result();
    holder = h.result();
    owner_outcome = o.outcome();
    outcome = h.outcome();
  }

  std::vector<uint8_t> right, wrong;
  Result owner, holder;
  Outcome owner_outcome{}, outcome{};
  unsigned messages = 0;
  uint64_t bytes_carried = 0;
  std::map<Kind, unsigned> kinds;
};

TEST(ValidateSession, EqualBuffersTakeTwoMessages) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{kSegment}, size_t{kSegment} * 40 + 5}) {
    const Validation run(random_bytes(size), random_bytes(size));
    EXPECT_EQ(run.outcome, Outcome::kEqual);
    EXPECT_EQ(run.owner_outcome, Outcome::kEqual);
    EXPECT_EQ(run.messages, 2u) << size;
    EXPECT_EQ(run.holder.rounds, 0u);
  }
}

TEST(ValidateSession, RepairsInOneRoundAndSendsOnlyWhatDiffers) {
  constexpr size_t kLeaves = 32768, kDamaged = 1000;
  const std::vector<uint8_t> right = random_bytes(kLeaves * kSegment - 100);
  std::vector<uint8_t> wrong = right;
  std::mt19937 random(5);
  std::vector<bool> hit(kLeaves);
  for (size_t n = 0; n < kDamaged;) {
    const size_t leaf = random() % kLeaves;
    if (hit[leaf]) continue;
    hit[leaf] = true;
    ++n;
    wrong[leaf * kSegment + random() % (leaf == kLeaves - 1 ? kSegment - 100 : kSegment)] ^=
        static_cast<uint8_t>(1 + random() % 255);
  }
  const Validation run(right, wrong);
  EXPECT_EQ(run.outcome, Outcome::kEqual);
  EXPECT_EQ(run.wrong, right);
  EXPECT_EQ(run.holder.damaged, kDamaged);
  EXPECT_EQ(run.holder.rounds, 1u);
  EXPECT_LE(run.owner.bytes_sent_again, kDamaged * kSegment);
  EXPECT_EQ(run.owner.bytes_sent_again, run.holder.bytes_sent_again);
  // With what is needed to find them: a digest for each leaf near a damaged one.
  EXPECT_LT(run.bytes_carried, kDamaged * (kSegment + 32 * 8 + 32) + 10'000);
}

TEST(ValidateSession, OneSegmentThatDiffers) {
  for (const size_t size :
       {size_t{1}, size_t{kSegment}, size_t{kSegment} + 1, size_t{kSegment} * 33}) {
    const std::vector<uint8_t> right = random_bytes(size);
    std::vector<uint8_t> wrong = right;
    wrong.back() ^= 0x80;
    const Validation run(right, wrong);
    EXPECT_EQ(run.wrong, right);
    EXPECT_EQ(run.holder.damaged, 1u);
    EXPECT_LE(run.holder.bytes_sent_again, kSegment);
  }
}

TEST(ValidateSession, LargeRepairsComeInSeveralMessages) {
  const std::vector<uint8_t> right = random_bytes(100 * kSegment);
  Limits limits;
  limits.max_message = 7 * kSegment;
  const Validation run(right, std::vector<uint8_t>(right.size()), limits);
  EXPECT_EQ(run.wrong, right);
  EXPECT_EQ(run.holder.rounds, 1u);
  EXPECT_EQ(run.kinds.at(Kind::kSegments), 14u);
  EXPECT_EQ(run.kinds.at(Kind::kLastSegments), 1u);
}

TEST(ValidateSession, LengthsThatDiffer) {
  const Validation run(random_bytes(5000), random_bytes(5001));
  EXPECT_EQ(run.outcome, Outcome::kUnequalLength);
  EXPECT_EQ(run.owner_outcome, Outcome::kUnequalLength);
}

// Whatever kind of message is damaged once, and wherever: the buffer is right in the end, and both
// sides know it.
TEST(ValidateSession, SurvivesDamageToItsOwnMessages) {
  const std::vector<uint8_t> right = random_bytes(2000 * kSegment);
  std::vector<uint8_t> wrong = right;
  for (size_t i = 0; i < 50; ++i) wrong[i * 37 * kSegment + i] ^= 1;
  for (const Kind kind :
       {Kind::kRoot, Kind::kGood, Kind::kDigests, Kind::kDifferences, Kind::kLastSegments}) {
    for (const double place : {0.0, 0.3, 0.99}) {
      bool done = false;
      const Validation run(right, wrong, {}, [&](Bytes& message) {
        if (done || kind_of(message) != kind) return;
        done = true;
        message[static_cast<size_t>(static_cast<double>(message.size() - 1) * place)] ^= 4;
      });
      ASSERT_TRUE(done);
      EXPECT_EQ(run.wrong, right) << static_cast<int>(kind) << " " << place;
      EXPECT_EQ(run.outcome, Outcome::kEqual) << static_cast<int>(kind) << " " << place;
      EXPECT_EQ(run.owner_outcome, Outcome::kEqual) << static_cast<int>(kind) << " " << place;
    }
  }
}

// The holder does not learn whether its last message arrived.
TEST(ValidateSession, SurvivesDamageToTheLastMessage) {
  const std::vector<uint8_t> right = random_bytes(10 * kSegment);
  const auto damage_once = [](Kind kind, size_t first, size_t count) {
    return [=](Bytes& message) {
      if (kind_of(message) != kind) return;
      for (size_t i = first; i < std::min(first + count, message.size()); ++i) message[i] ^= 0x41;
    };
  };
  // A cache line at once, wherever; and one byte in each copy.
  for (const size_t first : {0u, 1u, 6u, 30u, 47u, 48u, 63u, 64u, 84u, 128u}) {
    const Validation equal(right, right, {}, damage_once(Kind::kGood, first, 64));
    EXPECT_EQ(equal.outcome, Outcome::kEqual) << first;
    EXPECT_EQ(equal.owner_outcome, Outcome::kEqual) << first;
    const Validation unequal(right, random_bytes(9), {}, damage_once(Kind::kUnequal, first, 64));
    EXPECT_EQ(unequal.owner_outcome, Outcome::kUnequalLength) << first;
  }
  const Validation scattered(right, right, {}, [](Bytes& message) {
    if (kind_of(message) != Kind::kGood) return;
    for (const size_t place : {7u, 64u + 8, 2 * 64u + 9}) message[place % message.size()] ^= 1;
  });
  EXPECT_EQ(scattered.owner_outcome, Outcome::kEqual);
  const Validation lost(right, right, {}, damage_once(Kind::kGood, 5, 10'000));
  EXPECT_EQ(lost.outcome, Outcome::kEqual);
  EXPECT_EQ(lost.owner_outcome, Outcome::kGivenUp);
  EXPECT_EQ(lost.messages, 2u);
}

// Whichever side gives up, and whatever becomes of the message that says so.
TEST(ValidateSession, BothSidesGiveUp) {
  const std::vector<uint8_t> right = random_bytes(10 * kSegment);
  for (const Kind kind : {Kind::kDigests, Kind::kLastSegments}) {
    for (const bool damages_the_end : {false, true}) {
      unsigned ends = 0;
      const Validation run(right, std::vector<uint8_t>(right.size()), {}, [&](Bytes& message) {
        if (kind_of(message) == kind) message[20] ^= 1;
        if (kind_of(message) == Kind::kGiveUp && damages_the_end && ends++ < 2) message[20] ^= 1;
      });
      EXPECT_EQ(run.outcome, Outcome::kGivenUp);
      EXPECT_EQ(run.owner_outcome, Outcome::kGivenUp);
      EXPECT_LT(run.messages, 200u);
    }
  }
}

TEST(ValidateSession, GivesUpAfterTheAllowedRounds) {
  const std::vector<uint8_t> right = random_bytes(10 * kSegment);
  const Validation run(right, std::vector<uint8_t>(right.size()), {}, [](Bytes& message) {
    if (kind_of(message) == Kind::kLastSegments) message.back() ^= 1;
  });
  EXPECT_EQ(run.outcome, Outcome::kGivenUp);
  EXPECT_EQ(run.owner_outcome, Outcome::kGivenUp);
  EXPECT_LT(run.messages, 100u);
}

// Right checks around wrong contents: nothing outside of the buffers is read or written, and it
// ends.
TEST(ValidateSession, HostileMessages) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 4'000; ++i) {
    std::vector<uint8_t> bytes = random_bytes(1 + random() % 70'000, 1);
    const Buffer buffer = plain_buffer(bytes);
    const merkle::Tree tree = hash_buffer(buffer, kSegment);
    Owner owner(buffer, tree, 1, {});
    Holder holder(buffer, 1, {});
    for (int n = 0; n < 12; ++n) {
      Header header;
      header.kind = static_cast<uint8_t>(1 + random() % 11);
      header.segment_log2 = static_cast<uint8_t>(random() % 3 == 0 ? random() : 10);
      header.levels = static_cast<uint8_t>(random() % 2 == 0 ? random() : 0x10);
      header.sender = static_cast<uint8_t>(random() % 2);
      header.length = random() % 4 == 0 ? random() : bytes.size();
      header.count = random() % 4 == 0 ? random() : random() % 6;
      Bytes message = begin(header);
      for (uint64_t words = random() % 50; words != 0; --words)
        put(message, random() % 3 == 0 ? random() : random() % 40);
      message.resize(message.size() + random() % 3);
      seal(message);
      Message parsed;
      const Reading reading = read(message, &parsed);
      if (reading == Reading::kForeign) continue;
      (void)owner.receive(reading, parsed);
      (void)holder.receive(reading, parsed);
    }
    if (i % 100 == 0 && HasFailure()) return;
  }
}

TEST(ValidateMessage, OthersMessagesAreForeign) {
  Message message;
  EXPECT_EQ(read(Bytes{}, &message), Reading::kForeign);
  EXPECT_EQ(read(Bytes(200, 7), &message), Reading::kForeign);
  Header newer;
  newer.version = kVersion + 1;
  newer.kind = 1;
  Bytes bytes = begin(newer);
  seal(bytes);
  EXPECT_EQ(read(bytes, &message), Reading::kForeign);
}

TEST(ValidateMessage, DamageToTheMagicAlone) {
  Header header;
  header.kind = static_cast<uint8_t>(Kind::kRoot);
  Bytes bytes = begin(header);
  put(bytes, 7);
  seal(bytes);
  Message message;
  for (size_t place = 0; place < 4; ++place) {
    Bytes damaged = bytes;
    damaged[place] = static_cast<uint8_t>(~damaged[place]);
    EXPECT_EQ(read(damaged, &message), Reading::kGood);
    EXPECT_EQ(message.header.magic, kMagic);
    damaged[place] = bytes[place] ^ 1;
    damaged[sizeof(Header) - 1] ^= 1;
    EXPECT_EQ(read(damaged, &message), Reading::kBadHeader);
  }
}

// Allgather among 64 ranks, each of which holds 64 blocks: several have several damaged blocks. In
// turns, as the collective does.
TEST(ValidateSession, SixtyFourRanks) {
  constexpr size_t kRanks = 64, kBlock = 40 * kSegment + 9;
  std::vector<std::vector<uint8_t>> blocks;
  for (size_t b = 0; b < kRanks; ++b)
    blocks.push_back(random_bytes(kBlock, static_cast<unsigned>(b)));
  std::vector<std::vector<std::vector<uint8_t>>> held(kRanks, blocks);  // by rank, by block
  std::mt19937 random(9);
  size_t damaged = 0;
  for (size_t r = 0; r < kRanks; r += 3) {
    for (int n = 0; n < 5; ++n) {
      const size_t b = (r + 1 + random() % (kRanks - 1)) % kRanks;
      uint8_t& byte = held[r][b][(static_cast<size_t>(n) * 8 + random() % 8) * kSegment];
      byte ^= 1;
      ++damaged;
    }
  }
  uint64_t repaired = 0, again = 0;
  unsigned most_rounds = 0;
  for (size_t b = 0; b < kRanks; ++b) {
    const Buffer owned = plain_buffer(blocks[b]);
    const merkle::Tree tree = hash_buffer(owned, kSegment);
    for (size_t r = 0; r < kRanks; ++r) {
      if (r == b) continue;
      const Buffer copy = plain_buffer(held[r][b]);
      Owner owner(owned, tree, 0, {});
      Holder holder(copy, 0, {});
      Bytes message = owner.start();
      for (bool to_holder = true; !message.empty(); to_holder = !to_holder) {
        Message parsed;
        const Reading reading = read(message, &parsed);
        message = to_holder ? holder.receive(reading, parsed) : owner.receive(reading, parsed);
      }
      EXPECT_EQ(holder.outcome(), Outcome::kEqual);
      repaired += holder.result().damaged;
      again += owner.result().bytes_sent_again;
      most_rounds = std::max(most_rounds, holder.result().rounds);
    }
  }
  for (size_t r = 0; r < kRanks; ++r) EXPECT_EQ(held[r], blocks) << r;
  EXPECT_EQ(repaired, damaged);
  EXPECT_EQ(most_rounds, 1u);
  EXPECT_LE(static_cast<double>(again), 1.1 * static_cast<double>(damaged * kSegment));
}

}  // namespace
}  // namespace verity::validate
