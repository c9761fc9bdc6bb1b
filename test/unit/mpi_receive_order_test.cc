// SPDX-License-Identifier: BSD-3-Clause
// Each receive is told of the message that it got, or of none: never of another one.
#include "unit/mpi_receive_case.h"

namespace verity::mpi {
namespace {

TEST(MpiReceiveOrder, TellsInPostOrderWhateverCompletesFirst) {
  ReceiveOrder order;
  Told a, b;
  Post* first = order.post(5, kExact, &a);
  Post* second = order.post(5, kExact, &b);
  arrive(order, {5, 100, 0});
  arrive(order, {5, 101, 1});
  order.complete(second, 5, 8);
  EXPECT_FALSE(b.done) << "the earlier one may have either";
  order.complete(first, 5, 8);
  EXPECT_EQ(a.number, 100u);
  EXPECT_EQ(b.number, 101u);
}

TEST(MpiReceiveOrder, AnEarlierWildcardIsWaitedFor) {
  ReceiveOrder order;
  Told any, exact;
  Post* first = order.post(0, 0, &any);
  Post* second = order.post(5, kExact, &exact);
  arrive(order, {9, 100, 0});
  arrive(order, {5, 101, 0});
  order.complete(second, 5, 8);
  EXPECT_FALSE(exact.done);
  EXPECT_EQ(order.waiting(), 1u);
  order.complete(first, 9, 8);
  EXPECT_EQ(any.number, 100u);
  EXPECT_EQ(exact.number, 101u);
}

TEST(MpiReceiveOrder, ACancelledReceiveIsNotWaitedFor) {
  ReceiveOrder order;
  Told any, exact;
  Post* first = order.post(0, 0, &any);
  Post* second = order.post(5, kExact, &exact);
  arrive(order, {5, 101, 0});
  order.complete(second, 5, 8);
  order.drop(first);
  EXPECT_TRUE(any.gone);
  EXPECT_EQ(exact.number, 101u);
}

// Those that were posted last are looked through only when somebody asks.
TEST(MpiReceiveOrder, CancelledBeforeAndAfterTheyWereSorted) {
  ReceiveOrder order;
  Told told[6];
  const auto post = [&](int i, uint64_t mask) { return order.post(5, mask, &told[i]); };
  Post* first = post(0, 0xff);
  Post* second = post(1, kExact);
  Post* third = post(2, kExact);
  order.drop(second);
  arrive(order, {5, 100, 0});
  order.complete(third, 5, 8);
  EXPECT_FALSE(told[2].done) << "of the first one";
  Post* fourth = post(3, kExact);
  Post* fifth = post(4, 0);
  order.drop(first);
  EXPECT_EQ(told[2].number, 100u);
  Post* sixth = post(5, kExact);
  arrive(order, {5, 101, 1});
  order.complete(sixth, 5, 8);
  order.drop(fourth);
  EXPECT_FALSE(told[5].done) << "of the fifth one";
  order.drop(fifth);
  EXPECT_EQ(told[5].number, 101u);
  EXPECT_EQ(order.pending(), 0u);
}

TEST(MpiReceiveOrder, AReceiveIsFoundByItsRequest) {
  ReceiveOrder order;
  const int requests[3] = {};
  Post* first = order.post(5, kExact, nullptr);
  Post* lent = order.lend();
  first->call.request = &requests[0];
  lent->call.request = &requests[1];
  EXPECT_EQ(order.find(&requests[0]), first);
  EXPECT_EQ(order.find(&requests[1]), lent);
  EXPECT_EQ(order.find(&requests[2]), nullptr);
  EXPECT_EQ(order.under_way(), 2u);
  arrive(order, {5, 100, 0});
  order.complete(first, 5, 8);
  order.take_back(lent);
  EXPECT_EQ(order.find(&requests[0]), nullptr);
  EXPECT_EQ(order.find(&requests[1]), nullptr);
  EXPECT_EQ(order.under_way(), 0u);
}

TEST(MpiReceiveOrder, AMessageWithoutSignatureTakesItsPlace) {
  ReceiveOrder order;
  Told a, b;
  arrive(order, {5, 100, 0, false});
  arrive(order, {5, 101, 1});
  order.complete(order.post(5, kExact, &a), 5, 8);
  order.complete(order.post(5, kExact, &b), 5, 8);
  EXPECT_EQ(a.number, 0u);
  EXPECT_EQ(b.number, 101u);
}

TEST(MpiReceiveOrder, AMessageThatWentPastMakesItsTagUncertain) {
  ReceiveOrder order;
  Told told[4];
  arrive(order, {5, 100, 0});
  arrive(order, {5, 102, 2});  // 101 came another way
  arrive(order, {6, 200, 0});
  for (int i = 0; i < 3; ++i) order.complete(order.post(5, kExact, &told[i]), 5, 8);
  order.complete(order.post(6, kExact, &told[3]), 6, 8);
  EXPECT_EQ(told[0].number, 100u);
  EXPECT_EQ(told[1].number, 0u);
  EXPECT_EQ(told[2].number, 0u);
  EXPECT_EQ(told[3].number, 200u);
}

TEST(MpiReceiveOrder, AReceiveWithoutArrivalMakesItsTagUncertain) {
  ReceiveOrder order;
  Told a, b;
  order.complete(order.post(5, kExact, &a), 5, 8);  // came another way
  arrive(order, {5, 101, 1});
  order.complete(order.post(5, kExact, &b), 5, 8);
  EXPECT_EQ(a.number, 0u);
  EXPECT_EQ(b.number, 0u);
}

TEST(MpiReceiveOrder, AnotherNumberingBeginsAtZero) {
  ReceiveOrder order;
  Told a, b, c;
  const auto arrives = [&](uint64_t uid, uint32_t sequence, uint64_t number) {
    const Signature signature({5, number, sequence}, uid);
    order.arrive(5, signature.bytes(), signature.length());
  };
  arrives(7, 0, 100);
  arrives(8, 0, 101);  // its sender forgot the first one
  arrives(9, 3, 102);  // three went past
  for (Told* told : {&a, &b, &c}) order.complete(order.post(5, kExact, told), 5, 8);
  EXPECT_EQ(a.number, 100u);
  EXPECT_EQ(b.number, 101u);
  EXPECT_EQ(c.number, 0u);
}

TEST(MpiReceiveOrder, ManyTagsDoNotPileUp) {
  ReceiveOrder order;
  for (uint64_t tag = 1; tag <= 200'000; ++tag) {
    Told told;
    arrive(order, {tag, tag, 0});
    order.complete(order.post(tag, kExact, &told), tag, 8);
    ASSERT_EQ(told.number, tag);
  }
  EXPECT_LE(order.streams(), size_t{1} << 15);
}

// The last message of the old numbering may have, too.
TEST(MpiReceiveOrder, AnotherNumberingIsDoubtedOnceMessagesWentPast) {
  ReceiveOrder order;
  Told elsewhere, before, pending, told;
  const auto arrives = [&](uint64_t uid, uint64_t number) {
    const Signature signature({5, number, 0}, uid);
    order.arrive(5, signature.bytes(), signature.length());
  };
  order.complete(order.post(6, kExact, &elsewhere), 6, 8);  // its message went past
  arrives(7, 100);
  order.complete(order.post(5, kExact, &before), 5, 8);
  EXPECT_EQ(before.number, 100u);
  Post* first = order.post(5, kExact, &pending);  // so did this one's
  Post* second = order.post(5, kExact, &told);
  arrives(8, 101);
  order.complete(first, 5, 8);
  order.complete(second, 5, 8);
  EXPECT_EQ(pending.number, 0u) << "it is not its message's";
  EXPECT_EQ(told.number, 0u);
}

TEST(MpiReceiveOrder, AForgottenTagIsDoubtedOnceMessagesWentPast) {
  for (const bool past : {false, true}) {
    ReceiveOrder order;
    const auto pass = [&](uint64_t tag, uint32_t sequence, Told& told) {
      arrive(order, {tag, tag + sequence, sequence});
      order.complete(order.post(tag, kExact, &told), tag, 8);
    };
    Told first, second, elsewhere;
    pass(5, 0, first);
    EXPECT_EQ(first.number, 5u);
    for (uint64_t tag = 1000; tag < 41'000; ++tag) {
      Told other;
      pass(tag, 0, other);
    }
    if (past) order.complete(order.post(6, kExact, &elsewhere), 6, 8);
    pass(5, 1, second);
    EXPECT_EQ(second.number, past ? 0u : 6u);
  }
}

TEST(MpiReceiveOrder, AfterALossNothingIsTold) {
  ReceiveOrder order;
  Told told;
  arrive(order, {5, 100, 0});
  order.lose();
  order.complete(order.post(5, kExact, &told), 5, 8);
  EXPECT_TRUE(told.done);
  EXPECT_EQ(told.number, 0u);
}

}  // namespace
}  // namespace verity::mpi
