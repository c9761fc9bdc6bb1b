// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/matching/sequence_check.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace verity::mpi {
namespace {

constexpr WorkerHistory kNothing{.bypassed = false, .evicted = false};
constexpr Stamp kNone{};  // a message without one

// Of each message: c certain, - not, ! a gap was seen.
std::string outcomes(SequenceCheck& check, const std::vector<Stamp>& stamps,
                     WorkerHistory history = kNothing) {
  std::string text;
  for (const Stamp& stamp : stamps) {
    const bool certain = check.advance(stamp.uid == kNone.uid ? nullptr : &stamp, history);
    text += certain ? 'c' : check.has_gap() ? '!' : '-';
  }
  return text;
}
std::string outcomes(const std::vector<Stamp>& stamps, WorkerHistory history = kNothing) {
  SequenceCheck check;
  return outcomes(check, stamps, history);
}

TEST(MpiSequenceCheck, AGapIsForEver) {
  SequenceCheck check;
  for (uint32_t i = 0; i < 3; ++i) {
    const Stamp stamp{7, i};
    EXPECT_EQ(check.is_next(stamp), i != 0) << "the first one shows the numbering";
    EXPECT_TRUE(check.advance(&stamp, kNothing));
  }
  const Stamp later{7, 4}, next{7, 5};
  EXPECT_FALSE(check.is_next(later));
  EXPECT_FALSE(check.advance(&later, kNothing));
  EXPECT_TRUE(check.has_gap());
  EXPECT_FALSE(check.is_next(next));
  EXPECT_FALSE(check.advance(&next, kNothing));
}

TEST(MpiSequenceCheck, AMessageWithoutStampTakesANumber) {
  SequenceCheck check;
  const Stamp first{7, 0}, third{7, 2};
  EXPECT_TRUE(check.advance(&first, kNothing));
  EXPECT_FALSE(check.advance(nullptr, kNothing));
  EXPECT_TRUE(check.is_next(third));
  check.advance_to_next();
  EXPECT_TRUE(check.is_next({7, 3}));
  EXPECT_FALSE(check.has_gap());
}

TEST(MpiSequenceCheck, AnotherNumberingMayHaveBegunWithoutStamps) {
  for (const bool bypassed : {false, true}) {
    SequenceCheck check;
    const Stamp first{7, 0}, other{8, 1}, further{9, 1};
    EXPECT_TRUE(check.advance(&first, kNothing));
    EXPECT_FALSE(check.advance(nullptr, kNothing));
    EXPECT_EQ(check.advance(&other, {bypassed, false}), !bypassed);
    EXPECT_FALSE(check.advance(&further, kNothing)) << "its first one is missing";
  }
}

// As where ranks of changing communicators make further ones: what MPI sends for that has no stamp.
// Perhaps nothing bypassed the plugin, and other tags go on.
TEST(MpiSequenceCheck, TheFirstNumberingMayFollowMessagesOfOthers) {
  SequenceCheck check;
  EXPECT_EQ(outcomes(check, {kNone, kNone, kNone, {7, 1}, {8, 2}}), "-----") << "2 are of 8";
  EXPECT_FALSE(check.is_next({8, 3}));
  EXPECT_EQ(outcomes(check, {{9, 1}}), "!") << "its first one is missing";
  EXPECT_EQ(outcomes({kNone, {7, 2}}), "-!") << "one is missing";
  EXPECT_EQ(outcomes({kNone, {7, 0}}, {.bypassed = true, .evicted = false}), "-!");
}

TEST(MpiSequenceCheck, MessagesWithoutStampMayBeOfAThirdNumbering) {
  EXPECT_EQ(outcomes({{7, 0}, kNone, {8, 0}, {9, 1}}), "c-c-") << "or the first one of 9 bypassed";
  SequenceCheck check;
  EXPECT_EQ(outcomes(check, {{7, 0}, kNone, {8, 0}}), "c-c");
  EXPECT_EQ(outcomes(check, {{7, 1}}), "-") << "the one without seemed to be of 7";
  EXPECT_EQ(outcomes(check, {{9, 1}}), "-") << "it is of 9";
  EXPECT_EQ(outcomes(check, {{9, 3}}), "!") << "one is missing";
}

TEST(MpiSequenceCheck, ANumberingGoesOnAfterMessagesOfOthers) {
  EXPECT_EQ(outcomes({{7, 0}, kNone, {7, 1}}), "c--");
  EXPECT_EQ(outcomes({{7, 0}, kNone, {7, 1}, {7, 3}}), "c--!") << "the one without is older";
}

// As with communicators that have the number of one that was freed, but other ranks.
TEST(MpiSequenceCheck, NumberingsTakeTurns) {
  SequenceCheck check;
  uint32_t next[4] = {0, UINT32_MAX, 0, 0};
  const Stamp begin{11, UINT32_MAX - 1};
  EXPECT_TRUE(check.advance(&begin, {.bypassed = false, .evicted = true}));
  for (const uint64_t turn : {0, 1, 2, 3, 1, 3, 2, 0, 1}) {
    for (int i = 0; i < 2; ++i) {
      const Stamp stamp{10 + turn, next[turn]++};
      EXPECT_TRUE(check.advance(&stamp, kNothing)) << turn;
    }
  }
  EXPECT_FALSE(check.advance(nullptr, kNothing)) << "of 11";
  const Stamp of_others{10, next[0]}, own{11, next[1] + 1};
  EXPECT_TRUE(check.advance(&of_others, kNothing));
  EXPECT_TRUE(check.advance(&own, kNothing));
  const Stamp later{13, next[3] + 1};
  EXPECT_FALSE(check.advance(&later, kNothing)) << "one is missing";
  EXPECT_TRUE(check.has_gap());
}

TEST(MpiSequenceCheck, ANumberingGoesOnWithoutStamps) {
  SequenceCheck check;
  const Stamp first{7, 0}, other{8, 0}, again{7, 2}, other_again{8, 1};
  EXPECT_TRUE(check.advance(&first, kNothing));
  EXPECT_TRUE(check.advance(&other, kNothing));
  EXPECT_FALSE(check.advance(nullptr, kNothing)) << "of 7";
  EXPECT_TRUE(check.advance(&again, kNothing));
  EXPECT_TRUE(check.advance(&other_again, kNothing));
}

TEST(MpiSequenceCheck, ManyNumberingsTakeTurns) {
  constexpr uint64_t kSenders = 65;
  SequenceCheck check;
  for (uint32_t round = 0; round < 3; ++round) {
    for (uint64_t sender = 1; sender <= kSenders; ++sender) {
      const Stamp stamp{sender, round};
      ASSERT_TRUE(check.advance(&stamp, kNothing)) << sender << " in round " << round;
    }
  }
  const Stamp one_more{kSenders + 1, 0}, forgotten{1, 3};
  EXPECT_TRUE(check.advance(&one_more, kNothing));
  EXPECT_FALSE(check.advance(&forgotten, kNothing)) << "its number is not known any more";
  EXPECT_FALSE(check.has_gap());
}

TEST(MpiSequenceCheck, AnEarlierNumberingGoesOnWhereNothingBypassed) {
  for (const bool bypassed : {false, true}) {
    SequenceCheck check;
    const Stamp first{7, 0}, other{8, 1}, again{7, 1};
    EXPECT_TRUE(check.advance(&first, kNothing));
    EXPECT_FALSE(check.advance(nullptr, kNothing)) << "the first one of 8";
    EXPECT_TRUE(check.advance(&other, kNothing));
    EXPECT_EQ(check.advance(&again, {bypassed, false}), !bypassed);
  }
}

TEST(MpiSequenceCheck, ANumberingBeginsInItsMiddleOnlyAfterAnEviction) {
  const Stamp stamp{7, 5};
  EXPECT_FALSE(SequenceCheck().advance(&stamp, kNothing));
  EXPECT_TRUE(SequenceCheck().advance(&stamp, {.bypassed = false, .evicted = true}));
  EXPECT_FALSE(SequenceCheck().advance(&stamp, {.bypassed = true, .evicted = true}));
  SequenceCheck check;
  const WorkerHistory evicted{.bypassed = false, .evicted = true};
  const Stamp other{8, 5};
  EXPECT_TRUE(check.advance(&stamp, evicted));
  EXPECT_FALSE(check.advance(&other, evicted)) << "a second one";
  EXPECT_FALSE(check.has_gap());
}

}  // namespace
}  // namespace verity::mpi
