// SPDX-License-Identifier: BSD-3-Clause
// What a flush waits for, of the reads of its endpoint.
#include <gtest/gtest.h>

#include "uct/links/uct_link.h"

namespace verity::uct {
namespace {

TEST(UctReadOwner, NothingOpenHasEnded) {
  ReadOwner owner;
  EXPECT_TRUE(owner.has_ended(owner.open_until_now()));
  owner.end(owner.start());
  const uint32_t flush = owner.open_until_now();
  EXPECT_TRUE(owner.has_ended(flush));
  (void)owner.start();
  EXPECT_TRUE(owner.has_ended(flush));
}

TEST(UctReadOwner, LaterReadsAreNotWaitedFor) {
  ReadOwner owner;
  const uint32_t first = owner.start();
  const uint32_t second = owner.start();
  const uint32_t flush = owner.open_until_now();
  const uint32_t later = owner.start();
  owner.end(second);
  EXPECT_FALSE(owner.has_ended(flush));
  owner.end(later);  // before the first one: the order is any
  EXPECT_FALSE(owner.has_ended(flush));
  (void)owner.start();
  owner.end(first);
  EXPECT_TRUE(owner.has_ended(flush));
  EXPECT_EQ(owner.open, 1U);
}

// The second flush covers what was started between the two.
TEST(UctReadOwner, FlushesWhileOneWaits) {
  ReadOwner owner;
  const uint32_t first = owner.start();
  const uint32_t flush = owner.open_until_now();
  const uint32_t second = owner.start();
  const uint32_t flush_of_both = owner.open_until_now();
  owner.end(second);
  EXPECT_FALSE(owner.has_ended(flush_of_both));
  owner.end(first);
  EXPECT_TRUE(owner.has_ended(flush));
  EXPECT_TRUE(owner.has_ended(flush_of_both));

  const uint32_t third = owner.start();
  const uint32_t flush_of_third = owner.open_until_now();
  const uint32_t fourth = owner.start();
  const uint32_t flush_of_fourth = owner.open_until_now();
  owner.end(third);
  EXPECT_TRUE(owner.has_ended(flush_of_third));
  EXPECT_FALSE(owner.has_ended(flush_of_fourth));
  (void)owner.start();
  owner.end(fourth);
  EXPECT_TRUE(owner.has_ended(flush_of_fourth));
}

}  // namespace
}  // namespace verity::uct
