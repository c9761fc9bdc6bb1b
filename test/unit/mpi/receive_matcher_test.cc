// SPDX-License-Identifier: BSD-3-Clause
// Each receive is result of the message that it got, or of none: never of another one.
#include "unit/mpi/receive_case.h"

namespace verity::mpi {
namespace {

TEST(MpiReceiveMatcher, ResolvesInTheOrderOfPosting) {
  ReceiveMatcher matcher;
  TestReceive a, b;
  Post* first = matcher.post(5, kExact, &a);
  Post* second = matcher.post(5, kExact, &b);
  arrive(matcher, {5, 100, 0});
  arrive(matcher, {5, 101, 1});
  matcher.complete(second, 5, 8);
  EXPECT_FALSE(b.done) << "the earlier one may have either";
  matcher.complete(first, 5, 8);
  EXPECT_EQ(a.number, 100u);
  EXPECT_EQ(b.number, 101u);
}

TEST(MpiReceiveMatcher, AnEarlierWildcardIsWaitedFor) {
  ReceiveMatcher matcher;
  TestReceive any, exact;
  Post* first = matcher.post(0, 0, &any);
  Post* second = matcher.post(5, kExact, &exact);
  arrive(matcher, {9, 100, 0});
  arrive(matcher, {5, 101, 0});
  matcher.complete(second, 5, 8);
  EXPECT_FALSE(exact.done);
  EXPECT_EQ(matcher.waiting(), 1u);
  matcher.complete(first, 9, 8);
  EXPECT_EQ(any.number, 100u);
  EXPECT_EQ(exact.number, 101u);
}

TEST(MpiReceiveMatcher, ACancelledReceiveIsNotWaitedFor) {
  ReceiveMatcher matcher;
  TestReceive any, exact;
  Post* first = matcher.post(0, 0, &any);
  Post* second = matcher.post(5, kExact, &exact);
  arrive(matcher, {5, 101, 0});
  matcher.complete(second, 5, 8);
  matcher.drop(first);
  EXPECT_TRUE(any.was_dropped);
  EXPECT_EQ(exact.number, 101u);
}

// Those that were posted last are searched only on demand.
TEST(MpiReceiveMatcher, CancelledBeforeAndAfterTheyWereSorted) {
  ReceiveMatcher matcher;
  TestReceive result[6];
  const auto post = [&](int i, uint64_t mask) { return matcher.post(5, mask, &result[i]); };
  Post* first = post(0, 0xff);
  Post* second = post(1, kExact);
  Post* third = post(2, kExact);
  matcher.drop(second);
  arrive(matcher, {5, 100, 0});
  matcher.complete(third, 5, 8);
  EXPECT_FALSE(result[2].done) << "of the first one";
  Post* fourth = post(3, kExact);
  Post* fifth = post(4, 0);
  matcher.drop(first);
  EXPECT_EQ(result[2].number, 100u);
  Post* sixth = post(5, kExact);
  arrive(matcher, {5, 101, 1});
  matcher.complete(sixth, 5, 8);
  matcher.drop(fourth);
  EXPECT_FALSE(result[5].done) << "of the fifth one";
  matcher.drop(fifth);
  EXPECT_EQ(result[5].number, 101u);
  EXPECT_EQ(matcher.pending(), 0u);
}

TEST(MpiReceiveMatcher, AReceiveIsFoundByItsRequest) {
  ReceiveMatcher matcher;
  const int requests[3] = {};
  Post* first = matcher.post(5, kExact, nullptr);
  Post* matched = matcher.begin_matched();
  first->call.request = &requests[0];
  matched->call.request = &requests[1];
  EXPECT_EQ(matcher.find(&requests[0]), first);
  EXPECT_EQ(matcher.find(&requests[1]), matched);
  EXPECT_EQ(matcher.find(&requests[2]), nullptr);
  EXPECT_EQ(matcher.under_way(), 2u);
  arrive(matcher, {5, 100, 0});
  matcher.complete(first, 5, 8);
  matcher.end_matched(matched);
  EXPECT_EQ(matcher.find(&requests[0]), nullptr);
  EXPECT_EQ(matcher.find(&requests[1]), nullptr);
  EXPECT_EQ(matcher.under_way(), 0u);
}

TEST(MpiReceiveMatcher, AMessageWithoutSignatureTakesItsPlace) {
  ReceiveMatcher matcher;
  TestReceive a, b;
  arrive(matcher, {5, 100, 0, false});
  arrive(matcher, {5, 101, 1});
  matcher.complete(matcher.post(5, kExact, &a), 5, 8);
  matcher.complete(matcher.post(5, kExact, &b), 5, 8);
  EXPECT_EQ(a.number, 0u);
  EXPECT_EQ(b.number, 101u);
}

TEST(MpiReceiveMatcher, AMessageThatBypassedMakesItsTagUncertain) {
  ReceiveMatcher matcher;
  TestReceive result[4];
  arrive(matcher, {5, 100, 0});
  arrive(matcher, {5, 102, 2});  // 101 came another way
  arrive(matcher, {6, 200, 0});
  for (int i = 0; i < 3; ++i) matcher.complete(matcher.post(5, kExact, &result[i]), 5, 8);
  matcher.complete(matcher.post(6, kExact, &result[3]), 6, 8);
  EXPECT_EQ(result[0].number, 100u);
  EXPECT_EQ(result[1].number, 0u);
  EXPECT_EQ(result[2].number, 0u);
  EXPECT_EQ(result[3].number, 200u);
}

TEST(MpiReceiveMatcher, AReceiveWithoutArrivalMakesItsTagUncertain) {
  ReceiveMatcher matcher;
  TestReceive a, b;
  matcher.complete(matcher.post(5, kExact, &a), 5, 8);  // came another way
  arrive(matcher, {5, 101, 1});
  matcher.complete(matcher.post(5, kExact, &b), 5, 8);
  EXPECT_EQ(a.number, 0u);
  EXPECT_EQ(b.number, 0u);
}

TEST(MpiReceiveMatcher, AnotherNumberingBeginsAtZero) {
  ReceiveMatcher matcher;
  TestReceive a, b, c;
  const auto arrives = [&](uint64_t uid, uint32_t sequence, uint64_t number) {
    const Signature signature({5, number, sequence}, uid);
    matcher.arrive(5, signature.bytes(), signature.length());
  };
  arrives(7, 0, 100);
  arrives(8, 0, 101);  // its sender forgot the first one
  arrives(9, 3, 102);  // three bypassed
  for (TestReceive* result : {&a, &b, &c}) matcher.complete(matcher.post(5, kExact, result), 5, 8);
  EXPECT_EQ(a.number, 100u);
  EXPECT_EQ(b.number, 101u);
  EXPECT_EQ(c.number, 0u);
}

TEST(MpiReceiveMatcher, ManyTagsDoNotPileUp) {
  ReceiveMatcher matcher;
  for (uint64_t tag = 1; tag <= 200'000; ++tag) {
    TestReceive result;
    arrive(matcher, {tag, tag, 0});
    matcher.complete(matcher.post(tag, kExact, &result), tag, 8);
    ASSERT_EQ(result.number, tag);
  }
  EXPECT_LE(matcher.streams(), size_t{1} << 15);
}

// The last message of the old numbering may have, too.
TEST(MpiReceiveMatcher, AnotherNumberingIsUncertainOnceMessagesBypassed) {
  ReceiveMatcher matcher;
  TestReceive elsewhere, before, pending, result;
  const auto arrives = [&](uint64_t uid, uint64_t number) {
    const Signature signature({5, number, 0}, uid);
    matcher.arrive(5, signature.bytes(), signature.length());
  };
  matcher.complete(matcher.post(6, kExact, &elsewhere), 6, 8);  // its message bypassed
  arrives(7, 100);
  matcher.complete(matcher.post(5, kExact, &before), 5, 8);
  EXPECT_EQ(before.number, 100u);
  Post* first = matcher.post(5, kExact, &pending);  // so did this one's
  Post* second = matcher.post(5, kExact, &result);
  arrives(8, 101);
  matcher.complete(first, 5, 8);
  matcher.complete(second, 5, 8);
  EXPECT_EQ(pending.number, 0u) << "it is not its message's";
  EXPECT_EQ(result.number, 0u);
}

TEST(MpiReceiveMatcher, AnEvictedTagIsUncertainOnceMessagesBypassed) {
  for (const bool bypassed : {false, true}) {
    ReceiveMatcher matcher;
    const auto pass = [&](uint64_t tag, uint32_t sequence, TestReceive& result) {
      arrive(matcher, {tag, tag + sequence, sequence});
      matcher.complete(matcher.post(tag, kExact, &result), tag, 8);
    };
    TestReceive first, second, elsewhere;
    pass(5, 0, first);
    EXPECT_EQ(first.number, 5u);
    for (uint64_t tag = 1000; tag < 41'000; ++tag) {
      TestReceive other;
      pass(tag, 0, other);
    }
    if (bypassed) matcher.complete(matcher.post(6, kExact, &elsewhere), 6, 8);
    pass(5, 1, second);
    EXPECT_EQ(second.number, bypassed ? 0u : 6u);
  }
}

TEST(MpiReceiveMatcher, OnceDisabledNothingIsCertain) {
  ReceiveMatcher matcher;
  TestReceive result;
  arrive(matcher, {5, 100, 0});
  matcher.disable();
  matcher.complete(matcher.post(5, kExact, &result), 5, 8);
  EXPECT_TRUE(result.done);
  EXPECT_EQ(result.number, 0u);
}

}  // namespace
}  // namespace verity::mpi
