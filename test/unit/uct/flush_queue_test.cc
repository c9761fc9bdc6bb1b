// SPDX-License-Identifier: BSD-3-Clause
// Flushes that wait end once, whatever an attempt does to the others.
#include "uct/links/flush_queue.h"

#include <gtest/gtest.h>

namespace verity::uct {
namespace {

struct Upper {
  uct_completion_t comp = {.func = completed, .count = 1, .status = UCS_OK};
  unsigned times = 0;
  static void completed(uct_completion_t* comp) { ++reinterpret_cast<Upper*>(comp)->times; }
};

class UctFlushQueue : public testing::Test {
 protected:
  using Queue = FlushQueue<int>;
  UctFlushQueue() {
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(queue_.add({&eps_[i], 0, &uppers_[i].comp}), UCS_INPROGRESS);
  }
  template <typename Try>
  unsigned run(Try&& attempt) {
    return queue_.run([] { return 0; }, attempt);
  }
  void cancel(int i) {
    queue_.cancel(&eps_[i], [] { return 0; });
  }
  void expect_times(unsigned first, unsigned second, unsigned third) {
    EXPECT_EQ(uppers_[0].times, first);
    EXPECT_EQ(uppers_[1].times, second);
    EXPECT_EQ(uppers_[2].times, third);
  }

  Queue queue_;
  int eps_[3] = {};
  Upper uppers_[3];
};

TEST_F(UctFlushQueue, EndsWhatIsDone) {
  EXPECT_EQ(
      run([&](const Queue::Request& r) { return r.ep == &eps_[1] ? UCS_ERR_NO_RESOURCE : UCS_OK; }),
      2U);
  expect_times(1, 0, 1);
  EXPECT_EQ(uppers_[1].comp.count, 1);
  EXPECT_FALSE(queue_.empty());
}

TEST_F(UctFlushQueue, AnAttemptMayCancelAnOlderOne) {
  EXPECT_EQ(run([&](const Queue::Request& r) {
              if (r.ep != &eps_[1]) return UCS_ERR_NO_RESOURCE;
              cancel(0);
              return UCS_OK;
            }),
            1U);
  expect_times(1, 1, 0);
  EXPECT_EQ(uppers_[0].comp.status, UCS_ERR_CANCELED);
  EXPECT_EQ(uppers_[1].comp.status, UCS_OK);
  EXPECT_FALSE(queue_.empty());
}

TEST_F(UctFlushQueue, AnAttemptMayCancelItself) {
  (void)run([&](const Queue::Request& r) {
    if (r.ep != &eps_[1]) return UCS_ERR_NO_RESOURCE;
    cancel(1);
    return UCS_OK;
  });
  expect_times(0, 1, 0);
  EXPECT_EQ(uppers_[1].comp.status, UCS_ERR_CANCELED);
}

TEST_F(UctFlushQueue, AnAttemptMayAddOne) {
  Upper added;
  int ep = 0;
  (void)run([&](const Queue::Request& r) {
    if (r.ep == &eps_[0]) { EXPECT_EQ(queue_.add({&ep, 0, &added.comp}), UCS_INPROGRESS); }
    return UCS_OK;
  });
  expect_times(1, 1, 1);
  EXPECT_EQ(added.times, 1U);
  EXPECT_TRUE(queue_.empty());
}

}  // namespace
}  // namespace verity::uct
