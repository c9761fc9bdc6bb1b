// SPDX-License-Identifier: BSD-3-Clause
// Random messages and receives: each receive is resolved with the message that it got, or with
// none.
#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include "unit/mpi/receive_case.h"

namespace verity::mpi {
namespace {

// UCP's matching, as its sources have it: a message goes to the receive posted first that could
// take it, a receive to the message that arrived first. Completion is later, in any order, or while
// the message is handled that came whole. More than 15 fields: its queues, what is drawn, and what
// is counted.
class Ucp {
 public:
  struct Traits {
    bool bypass = false;       // some messages do not come through this layer
    bool come_whole = true;    // some come in one piece
    bool is_disabled = false;  // at some time
    uint64_t tags = 18;
  };
  Ucp(uint64_t seed, const Traits& traits) : traits_(traits), dice_(seed) {}

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFatalFailure(); ++i) {
      if (traits_.is_disabled && dice_() % 400 == 0) disable();
      step();
    }
    if (testing::Test::HasFatalFailure()) return;
    while (!expected_.empty()) cancel();
    while (!matched_.empty()) finish();
    verify();
  }
  // Of this many tags one message each comes and is received.
  void fill(uint64_t tags) {
    for (uint64_t tag = 0; tag < tags; ++tag) {
      const Message message{kFirstOther + tag, 1, 0};
      Post* posted = post_simple(matcher_, message.tag, kExact, nullptr);
      const Handling handling(matcher_, message);
      complete(matcher_, posted, message.tag, 8);
    }
  }
  uint64_t certain = 0, silent = 0, direct = 0, nested = 0;
  [[nodiscard]] size_t streams() const { return matcher_.streams(); }

 private:
  static constexpr uint64_t kFirstOther = 1 << 24;
  struct Receiving {
    uint64_t tag, mask;
    Post* post;
    TestReceive* result;
    Message message;
  };
  using List = std::list<Receiving>;

  void step() {
    switch (dice_() % 8) {
      case 0:
      case 1: send(); break;
      case 2:
      case 3:
      case 4: post(); break;
      case 5:
      case 6: finish(); break;
      default: dice_() % 4 == 0 ? cancel() : finish(); break;
    }
  }
  uint64_t random_tag() {
    const uint64_t any = dice_() % traits_.tags;
    return any / 3 << 8 | any % 3;
  }
  Message next_message() {
    const uint64_t tag = random_tag();
    const bool bypasses = traits_.bypass && depth_ == 0 && dice_() % 50 == 0;
    return {tag,
            ++number_,
            sequence_[tag]++,
            dice_() % 5 != 0,
            !bypasses,
            kHead + dice_() % (kMaxSignature - kHead + 1)};
  }
  void send() {
    const Message message = next_message();
    const bool is_whole = traits_.come_whole && message.is_seen && dice_() % 2 == 0;
    if (is_whole) return handle(message);
    arrive(matcher_, message);
    if (message.is_seen) open_.reset();  // what is being handled is kept
    match(message);
  }
  void match(const Message& message) {
    for (auto it = expected_.begin(); it != expected_.end(); ++it) {
      if (((message.tag ^ it->tag) & it->mask) != 0) continue;
      it->message = message;
      matched_.splice(matched_.end(), expected_, it);
      return;
    }
    unexpected_.push_back(message);
  }
  // One that comes whole. Before its receive is complete, anything may happen but that UCP takes it
  // for another.
  void handle(const Message& message) {
    const Handling handling(matcher_, message);
    const bool was_disabled = is_disabled_;
    ASSERT_EQ(handling.is_open(), !was_disabled);
    open_ = message;
    match(message);
    if (depth_ < 3 && dice_() % 4 == 0) do_inside();
    ASSERT_EQ(handling.is_open(), open_ && open_->number == message.number && !was_disabled);
    if (dice_() % 8 != 0) complete_inside(handling, message);
    open_.reset();
  }
  void do_inside() {
    ++nested;
    ++depth_;
    if (traits_.is_disabled && dice_() % 100 == 0) disable();
    for (uint64_t i = dice_() % 5; i != 0; --i) step();
    --depth_;
  }
  void complete_inside(const Handling& handling, const Message& message) {
    const bool is_direct = handling.is_open();
    const auto it = std::find_if(matched_.begin(), matched_.end(), [&](const Receiving& r) {
      return r.message.number == message.number;
    });
    if (it == matched_.end()) return;  // no receive for it yet, or it is complete meanwhile
    const TestReceive* result = it->result;
    finish(it);
    if (!is_direct) return;
    ++direct;
    ASSERT_FALSE(handling.is_open());
    ASSERT_TRUE(result->done) << "it is certain at once";
    ASSERT_EQ(result->number, message.is_signed ? message.number : 0);
  }
  void post() {
    static constexpr uint64_t kMasks[] = {kExact, kExact, 0xff, 0xff00, 0};
    const uint64_t mask = kMasks[dice_() % 5];
    const uint64_t tag = random_tag();
    const auto found = std::find_if(unexpected_.begin(), unexpected_.end(),
                                    [&](const Message& m) { return ((tag ^ m.tag) & mask) == 0; });
    const bool is_found = found != unexpected_.end();
    if (is_found && open_ && found->number == open_->number)
      return;  // not before its handling is over
    all_.push_back(std::make_unique<TestReceive>());
    Receiving receiving{tag, mask, nullptr, all_.back().get(), {}};
    receiving.post = post_simple(matcher_, tag, mask, receiving.result);
    if (!is_found) return expected_.push_back(receiving);
    receiving.message = *found;
    unexpected_.erase(found);
    matched_.push_back(receiving);
    if (dice_() % 2 == 0) finish(std::prev(matched_.end()));
  }
  void finish() {
    if (matched_.empty()) return;
    const auto it = std::next(matched_.cbegin(), static_cast<long>(dice_() % matched_.size()));
    if (open_ && open_->tag == it->message.tag)
      return;  // with this tag UCP completes the one that it handles
    finish(it);
  }
  void finish(List::const_iterator it) {
    const Receiving receiving = *it;
    matched_.erase(it);
    truth_.push_back({receiving.result, receiving.message});
    complete(matcher_, receiving.post, receiving.message.tag, 8);
  }
  void cancel() {
    if (expected_.empty()) return;
    auto it = std::next(expected_.begin(), static_cast<long>(dice_() % expected_.size()));
    matcher_.drop(it->post);
    EXPECT_TRUE(it->result->was_dropped);
    expected_.erase(it);
  }
  void disable() {
    matcher_.disable();
    is_disabled_ = true;
  }
  void verify() {
    EXPECT_EQ(matcher_.waiting(), 0u);
    for (const auto& [result, message] : truth_) {
      ASSERT_TRUE(result->done);
      if (result->number == 0) {
        ++silent;
        ASSERT_TRUE(!message.is_signed || traits_.bypass || traits_.is_disabled) << message.number;
        continue;
      }
      ++certain;
      ASSERT_EQ(result->number, message.number);
      ASSERT_EQ(result->length, message.length);
      ASSERT_TRUE(message.is_signed && message.is_seen);
    }
  }

  const Traits traits_;
  std::mt19937_64 dice_;
  ReceiveMatcher matcher_;
  bool is_disabled_ = false;
  int depth_ = 0;                // of handlings
  std::optional<Message> open_;  // what is being handled, unless something came in between
  uint64_t number_ = 0;
  std::map<uint64_t, uint32_t> sequence_;
  List expected_, matched_;
  std::deque<Message> unexpected_;
  std::vector<std::unique_ptr<TestReceive>> all_;
  struct Truth {
    TestReceive* result;
    Message message;
  };
  std::vector<Truth> truth_;
};

struct Sums {
  uint64_t certain = 0, silent = 0, direct = 0, nested = 0;
};

Sums run_many(const Ucp::Traits& traits) {
  Sums sums;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const auto ucp = std::make_unique<Ucp>(seed, traits);
    ucp->run(1000);
    sums.certain += ucp->certain;
    sums.silent += ucp->silent;
    sums.direct += ucp->direct;
    sums.nested += ucp->nested;
    if (testing::Test::HasFailure()) ADD_FAILURE() << "seed " << seed;
    if (testing::Test::HasFailure()) break;
  }
  return sums;
}

TEST(MpiReceiveRandom, AgreesWithUcpOnEveryMessageInParts) {
  const Sums sums = run_many({.come_whole = false});
  EXPECT_GT(sums.certain, 3 * sums.silent);
  EXPECT_EQ(sums.direct, 0u);
}

TEST(MpiReceiveRandom, AgreesWithUcpOnEveryMessage) {
  const Sums sums = run_many({});
  EXPECT_GT(sums.certain, 3 * sums.silent);
  EXPECT_GT(sums.direct, sums.certain / 10);
  EXPECT_GT(sums.nested, sums.certain / 50);
}

TEST(MpiReceiveRandom, IsNeverWrongWhenMessagesBypass) {
  (void)run_many({.bypass = true, .come_whole = false});
  const Sums sums = run_many({.bypass = true});
  EXPECT_GE(sums.certain, sums.direct * 3 / 4)
      << "most of those that come whole are certain whatever bypasses";
}

TEST(MpiReceiveRandom, IsNeverWrongOnceDisabled) {
  const Sums sums = run_many({.is_disabled = true});
  EXPECT_GT(sums.silent, sums.certain / 2);
}

// So many tags that the records of idle ones are dropped again and again.
TEST(MpiReceiveRandom, AgreesWithUcpWhenTagsAreEvicted) {
  constexpr uint64_t kMost = 1 << 15;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const auto ucp = std::make_unique<Ucp>(seed, Ucp::Traits{.tags = 400});
    ucp->fill(kMost - 100);
    ucp->run(5000);
    EXPECT_LT(ucp->streams(), kMost / 2) << "evicted";
    EXPECT_GT(ucp->certain, 3 * ucp->silent);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace verity::mpi
