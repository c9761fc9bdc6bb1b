// SPDX-License-Identifier: BSD-3-Clause
// Each receive is told of the message that it got, or of none: never of another one.
#include "mpi/receive_order.h"

#include <gtest/gtest.h>

#include <deque>
#include <list>
#include <memory>
#include <random>

namespace verity::mpi {
namespace {

struct Message {
  uint64_t tag = 0;
  uint64_t number = 0;     // what its signature says: unique
  uint32_t sequence = 0;   // among those of its tag
  bool is_signed = true;
  bool is_seen = true;     // its first active message comes through this layer
};

struct Told final : Receive {
  bool done = false, gone = false;
  uint64_t number = 0;  // 0: no signature
  size_t received = 0;
  void resolved(const uint8_t* signature, size_t length, size_t bytes) noexcept override {
    EXPECT_FALSE(done);
    done = true;
    received = bytes;
    if (length != 0) std::memcpy(&number, signature, sizeof(number));
  }
  void dropped() noexcept override {
    EXPECT_FALSE(done);
    done = gone = true;
  }
};

void arrive(ReceiveOrder& order, const Message& message) {
  if (!message.is_seen) return;
  uint8_t bytes[48] = {};
  std::memcpy(bytes, &message.number, sizeof(message.number));
  write_stamp(bytes, {7, message.sequence});
  order.arrive(message.tag, bytes, message.is_signed ? sizeof(bytes) : 0);
}

constexpr uint64_t kExact = ~uint64_t{0};

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
  uint8_t bytes[48] = {};
  const auto arrives = [&](uint64_t uid, uint32_t sequence, uint64_t number) {
    std::memcpy(bytes, &number, sizeof(number));
    write_stamp(bytes, {uid, sequence});
    order.arrive(5, bytes, sizeof(bytes));
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

TEST(MpiReceiveOrder, AfterALossNothingIsTold) {
  ReceiveOrder order;
  Told told;
  arrive(order, {5, 100, 0});
  order.lose();
  order.complete(order.post(5, kExact, &told), 5, 8);
  EXPECT_TRUE(told.done);
  EXPECT_EQ(told.number, 0u);
}

// UCP's matching, as its sources have it: a message goes to the receive posted first that could take it, a receive to the message that
// arrived first. Completion is later, in any order.
class Ucp {
 public:
  explicit Ucp(uint64_t seed) : dice_(seed) {}

  void run(int steps, bool with_unseen) {
    for (int i = 0; i < steps; ++i) {
      switch (dice_() % 8) {
        case 0: case 1: send(with_unseen); break;
        case 2: case 3: case 4: post(); break;
        case 5: case 6: finish(); break;
        default: dice_() % 4 == 0 ? cancel() : finish(); break;
      }
    }
    while (!expected_.empty()) cancel();
    while (!matched_.empty()) finish();
    verify();
  }
  uint64_t told = 0, silent = 0;

 private:
  struct Receiving {
    uint64_t tag, mask;
    Post* post;
    Told* told;
    Message message;
  };

  void send(bool with_unseen) {
    const uint64_t tag = dice_() % 6 << 8 | dice_() % 3;
    Message message{tag, ++number_, sequence_[tag]++, dice_() % 5 != 0, !(with_unseen && dice_() % 50 == 0)};
    arrive(order_, message);
    for (auto it = expected_.begin(); it != expected_.end(); ++it) {
      if (((tag ^ it->tag) & it->mask) != 0) continue;
      it->message = message;
      matched_.splice(matched_.end(), expected_, it);
      return;
    }
    unexpected_.push_back(message);
  }
  void post() {
    static constexpr uint64_t kMasks[] = {kExact, kExact, 0xff, 0xff00, 0};
    const uint64_t mask = kMasks[dice_() % 5];
    const uint64_t tag = dice_() % 6 << 8 | dice_() % 3;
    all_.push_back(std::make_unique<Told>());
    Receiving receiving{tag, mask, nullptr, all_.back().get(), {}};
    receiving.post = order_.post(tag, mask, receiving.told);
    for (auto it = unexpected_.begin(); it != unexpected_.end(); ++it) {
      if (((tag ^ it->tag) & mask) != 0) continue;
      receiving.message = *it;
      unexpected_.erase(it);
      matched_.push_back(receiving);
      return;
    }
    expected_.push_back(receiving);
  }
  void finish() {
    if (matched_.empty()) return;
    auto it = std::next(matched_.begin(), static_cast<long>(dice_() % matched_.size()));
    truth_.push_back({it->told, it->message});
    order_.complete(it->post, it->message.tag, 8);
    matched_.erase(it);
  }
  void cancel() {
    if (expected_.empty()) return;
    auto it = std::next(expected_.begin(), static_cast<long>(dice_() % expected_.size()));
    order_.drop(it->post);
    EXPECT_TRUE(it->told->gone);
    expected_.erase(it);
  }
  void verify() {
    EXPECT_EQ(order_.waiting(), 0u);
    for (const auto& [told_of, message] : truth_) {
      ASSERT_TRUE(told_of->done);
      if (told_of->number == 0) {
        ++silent;
        continue;
      }
      ++told;
      ASSERT_EQ(told_of->number, message.number);
      ASSERT_TRUE(message.is_signed && message.is_seen);
    }
  }

  std::mt19937_64 dice_;
  ReceiveOrder order_;
  uint64_t number_ = 0;
  std::map<uint64_t, uint32_t> sequence_;
  std::list<Receiving> expected_, matched_;
  std::deque<Message> unexpected_;
  std::vector<std::unique_ptr<Told>> all_;
  struct Truth {
    Told* told;
    Message message;
  };
  std::vector<Truth> truth_;
};

TEST(MpiReceiveOrder, AgreesWithUcpOnEveryMessage) {
  uint64_t told = 0, silent = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Ucp ucp(seed);
    ucp.run(1000, false);
    told += ucp.told;
    silent += ucp.silent;
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
  }
  EXPECT_GT(told, 3 * silent) << "all that were signed";
}

TEST(MpiReceiveOrder, IsNeverWrongWhenMessagesGoPast) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    Ucp(seed).run(1000, true);
    ASSERT_FALSE(HasFatalFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace verity::mpi
