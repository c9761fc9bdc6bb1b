// SPDX-License-Identifier: BSD-3-Clause
// A message that comes whole belongs to the receive that completes with its tag while UCP handles
// it.
#include <deque>

#include "unit/mpi/receive_case.h"

namespace verity::mpi {
namespace {

class MpiWholeMessage : public testing::Test {
 protected:
  Post* post(uint64_t tag, TestReceive& result, uint64_t mask = kExact) {
    return post_simple(matcher, tag, mask, &result);
  }
  // A receive that is posted now and gets a message of that tag at once.
  uint64_t next_of(uint64_t tag) {
    TestReceive& result = results_of_next.emplace_back();
    complete(matcher, post(tag, result), tag, 8);
    EXPECT_TRUE(result.done);
    return result.number;
  }
  ReceiveMatcher matcher;
  TestReceive a, b, c;
  std::deque<TestReceive> results_of_next;
};

TEST_F(MpiWholeMessage, ResolvesThoughAnEarlierReceiveCouldHaveTakenIt) {
  Post* any = post(0, a, 0);
  Post* exact = post(5, b);
  arrive(matcher, {9, 100, 0});
  {
    const Handling handling(matcher, {5, 101, 0});
    EXPECT_TRUE(handling.is_open());
    complete(matcher, exact, 5, 24);
    EXPECT_FALSE(handling.is_open()) << "nothing is left to be ended";
    EXPECT_EQ(b.number, 101u);
    EXPECT_EQ(b.received, 24u);
  }
  complete(matcher, any, 9, 8);
  EXPECT_EQ(a.number, 100u);
  EXPECT_EQ(matcher.resolved(), 2u);
  EXPECT_EQ(matcher.pending(), 0u);
}

TEST_F(MpiWholeMessage, HasNoReceiveYet) {
  { const Handling handling(matcher, {5, 100, 0}); }
  { const Handling handling(matcher, {5, 101, 1}); }
  EXPECT_EQ(next_of(5), 100u);
  EXPECT_EQ(next_of(5), 101u);
}

TEST_F(MpiWholeMessage, OfTheTagSeenLastTheNextNumberIsExpected) {
  const auto expects = [&](uint64_t tag, uint32_t sequence, uint64_t uid = 7) {
    return matcher.is_next(tag, Signature({tag, 1, sequence}, uid).bytes());
  };
  EXPECT_FALSE(expects(5, 0)) << "none was seen";
  arrive(matcher, {5, 100, 0});
  EXPECT_TRUE(expects(5, 1));
  EXPECT_FALSE(expects(5, 2));
  EXPECT_FALSE(expects(5, 0));
  EXPECT_FALSE(expects(6, 1));
  EXPECT_FALSE(expects(5, 1, 8));
  EXPECT_FALSE(expects(5, 1, 0)) << "it has no number";
  arrive(matcher, {5, 101, 1, false});
  EXPECT_TRUE(expects(5, 2));
  {
    const Handling handling(matcher, {5, 102, 2});
    EXPECT_TRUE(handling.was_expected());
    EXPECT_FALSE(expects(5, 3)) << "inside of another's handling";
  }
  EXPECT_TRUE(expects(5, 3));
  EXPECT_EQ(next_of(5), 100u);
  EXPECT_EQ(next_of(5), 0u);
  EXPECT_EQ(next_of(5), 102u);
  arrive(matcher, {5, 104, 4});
  EXPECT_FALSE(expects(5, 5)) << "one bypassed";
  matcher.disable();
  EXPECT_FALSE(expects(5, 5));
}

// Its receive was posted afterwards: it got one that had waited.
TEST_F(MpiWholeMessage, IsNotThatOfAReceivePostedInItsHandling) {
  arrive(matcher, {5, 100, 0});
  {
    const Handling handling(matcher, {5, 101, 1});
    EXPECT_EQ(next_of(5), 100u);
    EXPECT_TRUE(handling.is_open());
  }
  EXPECT_EQ(next_of(5), 101u);
}

TEST_F(MpiWholeMessage, IsNotThatOfAReceiveOfAnotherTagThatCompletesInItsHandling) {
  Post* five = post(5, a);
  Post* six = post(6, b);
  arrive(matcher, {6, 200, 0});
  {
    const Handling handling(matcher, {5, 100, 0});
    complete(matcher, six, 6, 8);
    EXPECT_EQ(b.number, 200u);
    complete(matcher, five, 5, 8);
    EXPECT_EQ(a.number, 100u);
  }
  { const Handling handling(matcher, {5, 101, 1}); }
  EXPECT_EQ(next_of(5), 101u);
}

TEST_F(MpiWholeMessage, OlderOnesOfItsTagKeepTheirReceives) {
  Post* first = post(5, a);
  Post* second = post(5, b);
  Post* third = post(5, c);
  arrive(matcher, {5, 100, 0});
  arrive(matcher, {5, 101, 1});
  {
    const Handling handling(matcher, {5, 102, 2});
    complete(matcher, third, 5, 8);
    EXPECT_EQ(c.number, 102u);
  }
  arrive(matcher, {5, 103, 3});
  complete(matcher, second, 5, 8);
  EXPECT_FALSE(b.done);
  complete(matcher, first, 5, 8);
  EXPECT_EQ(a.number, 100u);
  EXPECT_EQ(b.number, 101u);
  EXPECT_EQ(next_of(5), 103u);
}

// UCP's matching does not come to this; but nothing must wait for ever.
TEST_F(MpiWholeMessage, ReceivesThatWaitedForItsReceiveAreResolved) {
  Post* any = post(0, a, 0);
  Post* exact = post(5, b);
  arrive(matcher, {5, 100, 0});
  complete(matcher, exact, 5, 8);
  EXPECT_FALSE(b.done);
  {
    const Handling handling(matcher, {6, 200, 0});
    complete(matcher, any, 6, 8);
  }
  EXPECT_EQ(a.number, 200u);
  EXPECT_EQ(b.number, 100u);
  EXPECT_EQ(matcher.waiting(), 0u);
}

TEST_F(MpiWholeMessage, ResolvesAlsoAfterUncertainOnesOfItsTag) {
  Post* first = post(5, a);
  Post* second = post(5, b);
  arrive(matcher, {5, 102, 2});  // two bypassed
  {
    const Handling handling(matcher, {5, 103, 3});
    EXPECT_FALSE(handling.was_expected());
    complete(matcher, second, 5, 8);
    EXPECT_EQ(b.number, 103u);
  }
  complete(matcher, first, 5, 8);
  EXPECT_EQ(a.number, 0u);
  { const Handling handling(matcher, {5, 104, 4}); }
  EXPECT_EQ(next_of(5), 0u) << "by order alone it is not certain";
  EXPECT_EQ(matcher.resolved(), 1u);
  EXPECT_EQ(matcher.uncertain(), 2u);
}

TEST_F(MpiWholeMessage, WithoutSignatureItsReceiveGetsNone) {
  Post* first = post(5, a);
  Post* second = post(5, b);
  arrive(matcher, {5, 100, 0});
  {
    const Handling handling(matcher, {5, 101, 1, false});
    complete(matcher, second, 5, 8);
    EXPECT_TRUE(b.done);
    EXPECT_EQ(b.number, 0u);
  }
  complete(matcher, first, 5, 8);
  EXPECT_EQ(a.number, 100u);
  { const Handling handling(matcher, {5, 102, 2}); }
  EXPECT_EQ(next_of(5), 102u);
}

TEST_F(MpiWholeMessage, OfAReceiveWithoutObject) {
  Post* post = post_simple(matcher, 5, kExact, nullptr);
  {
    const Handling handling(matcher, {5, 100, 0});
    complete(matcher, post, 5, 8);
    EXPECT_FALSE(handling.is_open());
  }
  { const Handling handling(matcher, {5, 101, 1}); }
  EXPECT_EQ(next_of(5), 101u);
}

// ---- one inside of another's handling
// -----------------------------------------------------------------------------------------

TEST_F(MpiWholeMessage, OneOfItsTagInsideOfItsHandling) {
  Post* first = post(5, a);
  Post* second = post(5, b);
  {
    const Handling outer(matcher, {5, 100, 0});
    {
      const Handling inner(matcher, {5, 101, 1});
      EXPECT_FALSE(inner.was_expected());
      complete(matcher, second, 5, 8);
      EXPECT_EQ(b.number, 101u);
    }
    EXPECT_FALSE(outer.is_open());
    complete(matcher, first, 5, 8);
    EXPECT_EQ(a.number, 100u);
  }
  { const Handling handling(matcher, {5, 102, 2}); }
  EXPECT_EQ(next_of(5), 102u) << "the outer one's is there once";
}

TEST_F(MpiWholeMessage, OneOfAnotherTagInsideOfItsHandling) {
  Post* first = post(5, a);
  Post* second = post(6, b);
  {
    const Handling outer(matcher, {5, 100, 0});
    {
      const Handling inner(matcher, {6, 200, 0});
      complete(matcher, second, 6, 8);
      EXPECT_EQ(b.number, 200u);
    }
    complete(matcher, first, 5, 8);
    EXPECT_EQ(a.number, 100u);
  }
  { const Handling handling(matcher, {5, 101, 1}); }
  { const Handling handling(matcher, {6, 201, 1}); }
  EXPECT_EQ(next_of(5), 101u);
  EXPECT_EQ(next_of(6), 201u);
}

TEST_F(MpiWholeMessage, SeveralInsideOfItsHandlingWithoutReceive) {
  {
    const Handling outer(matcher, {5, 100, 0});
    const Handling inner(matcher, {5, 101, 1});
    { const Handling innermost(matcher, {6, 200, 0}); }
    arrive(matcher, {5, 102, 2});
    { const Handling innermost(matcher, {5, 103, 3}); }
    EXPECT_FALSE(outer.is_open());
    EXPECT_FALSE(inner.is_open());
  }
  for (uint64_t number = 100; number <= 103; ++number) EXPECT_EQ(next_of(5), number);
  EXPECT_EQ(next_of(6), 200u);
}

TEST_F(MpiWholeMessage, OneThatComesInPartsInsideOfItsHandling) {
  Post* first = post(5, a);
  {
    const Handling outer(matcher, {5, 100, 0});
    arrive(matcher, {5, 101, 1});
    EXPECT_FALSE(outer.is_open());
    complete(matcher, first, 5, 8);
    EXPECT_EQ(a.number, 100u);
  }
  EXPECT_EQ(next_of(5), 101u);
}

TEST_F(MpiWholeMessage, AnEndTooManyChangesNothing) {
  Post* first = post(5, a);
  {
    const Handling handling(matcher, {5, 100, 0});
    complete(matcher, first, 5, 8);
    matcher.end_handling();
  }
  {
    const Handling outer(matcher, {5, 101, 1});
    { const Handling inner(matcher, {5, 102, 2}); }
    matcher.end_handling();
  }
  matcher.end_handling();
  arrive(matcher, {5, 103, 3});
  for (uint64_t number = 101; number <= 103; ++number) EXPECT_EQ(next_of(5), number);
}

// ---- many tags, lengths
// -----------------------------------------------------------------------------------------------

TEST_F(MpiWholeMessage, ItsTagIsNotEvictedInItsHandling) {
  constexpr uint64_t kMost = 1 << 15;
  for (const bool is_its : {true, false}) {  // a receive takes it at once, or none
    ReceiveMatcher many;
    TestReceive its, other;
    for (uint64_t tag = 1; tag < kMost; ++tag) {
      Post* posted = post_simple(many, tag, kExact, nullptr);
      const Handling handling(many, {tag, tag, 0});
      complete(many, posted, tag, 8);
    }
    Post* posted = is_its ? post_simple(many, kMost, kExact, &its) : nullptr;
    Post* bypassed = post_simple(many, kMost + 1, kExact, &other);
    {
      const Handling handling(many, {kMost, 100, 0});
      ASSERT_EQ(many.streams(), kMost);
      complete(many, bypassed, kMost + 1,
               8);  // its message did not come through here: one tag too many
      ASSERT_EQ(many.streams(), 2u);
      EXPECT_EQ(other.number, 0u);
      if (is_its) complete(many, posted, kMost, 8);
    }
    if (!is_its) complete(many, post_simple(many, kMost, kExact, &its), kMost, 8);
    EXPECT_EQ(its.number, 100u);
  }
}

TEST_F(MpiWholeMessage, OnceDisabledOnlyTheOneUnderWayIsResolved) {
  Post* first = post(5, a);
  Post* second = post(5, b);
  {
    const Handling handling(matcher, {5, 100, 0});
    matcher.disable();
    complete(matcher, first, 5, 8);
    EXPECT_EQ(a.number, 100u);
  }
  {
    const Handling handling(matcher, {5, 101, 1});
    EXPECT_FALSE(handling.is_open());
    complete(matcher, second, 5, 8);
    EXPECT_TRUE(b.done);
    EXPECT_EQ(b.number, 0u);
  }
}

TEST_F(MpiWholeMessage, DisabledBeforeItsEnd) {
  {
    const Handling handling(matcher, {5, 100, 0});
    matcher.disable();
  }
  EXPECT_EQ(next_of(5), 0u);
}

TEST_F(MpiWholeMessage, SignaturesOfEveryLength) {
  uint32_t sequence = 0;
  for (size_t length = kHead; length <= kMaxSignature; ++length) {
    for (const bool is_wanted : {true, false}) {
      TestReceive result;
      const Message message{5, 1000 + sequence, sequence, true, true, length};
      ++sequence;
      Post* posted = is_wanted ? post(5, result) : nullptr;
      {
        const Handling handling(matcher, message);
        if (is_wanted) complete(matcher, posted, 5, 8);
      }
      if (!is_wanted) complete(matcher, post(5, result), 5, 8);
      ASSERT_EQ(result.number, message.number);
      ASSERT_EQ(result.length, length);
    }
  }
}

// They have no place among the others of their tag.
TEST_F(MpiWholeMessage, ShorterThanASignature) {
  for (const size_t length : {sizeof(uint64_t), kStampEnd - 1}) {
    ReceiveMatcher of;
    TestReceive at_once, later;
    Post* posted = post_simple(of, 5, kExact, &at_once);
    {
      const Handling handling(of, {5, 100, 0, true, true, length});
      complete(of, posted, 5, 8);
    }
    EXPECT_EQ(at_once.number, 100u);
    { const Handling handling(of, {5, 101, 1, true, true, length}); }
    complete(of, post_simple(of, 5, kExact, &later), 5, 8);
    EXPECT_EQ(later.number, 0u);
  }
}

TEST_F(MpiWholeMessage, LongerThanAnySignature) {
  const Handling handling(matcher, {5, 100, 0, true, true, kMaxSignature + 1});
  EXPECT_FALSE(handling.is_open());
  EXPECT_EQ(next_of(5), 0u);
}

}  // namespace
}  // namespace verity::mpi
