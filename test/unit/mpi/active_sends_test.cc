// SPDX-License-Identifier: BSD-3-Clause
// An active message carries the signature of the send whose bytes it has, or none.
#include "mpi/matching/active_sends.h"

#include <gtest/gtest.h>

#include <string>

namespace verity::mpi {
namespace {

class MpiActiveSends : public testing::Test {
 protected:
  void begin(std::string_view bytes, uint8_t what) {
    const uint8_t signature[48] = {what};
    sends.begin(bytes, signature, what != 0 ? sizeof(signature) : 0);
  }
  void add_pending(std::string_view bytes, uint8_t what, const void* request) {
    begin(bytes, what);
    sends.end(request);
  }
  int transmit(std::string_view bytes) {
    uint8_t out[kMaxSignature];
    return sends.match(bytes, out, sizeof(out)) == 0 ? -1 : out[0];
  }
  ActiveSends sends;
  int requests[4] = {};
};

TEST_F(MpiActiveSends, InsideOfTheCallOrLater) {
  begin("one", 1);
  EXPECT_TRUE(sends.in_call());
  EXPECT_EQ(transmit("other"), -1);
  EXPECT_EQ(transmit("one"), 1);
  EXPECT_EQ(transmit("one"), -1) << "once";
  sends.end(nullptr);
  EXPECT_FALSE(sends.in_call());
  add_pending("two", 2, &requests[0]);
  add_pending("three", 3, &requests[1]);
  EXPECT_EQ(transmit("one"), -1) << "it is complete";
  EXPECT_EQ(transmit("three"), 3);
  EXPECT_EQ(transmit("two"), 2);
}

// As of the MPI library's own messages to another process, while one of the program's is pending.
TEST_F(MpiActiveSends, AMessageOfOtherBytesCarriesNothing) {
  add_pending("one", 1, &requests[0]);
  for (const char* other : {"", "on", "one more", "two"}) EXPECT_EQ(transmit(other), -1) << other;
  EXPECT_FALSE(sends.undo_match());
  EXPECT_EQ(transmit("one"), 1);
}

TEST_F(MpiActiveSends, OneThatWasNotTransmittedIsOfferedAgain) {
  begin("one", 1);
  EXPECT_EQ(transmit("one"), 1);
  EXPECT_TRUE(sends.undo_match());
  EXPECT_FALSE(sends.undo_match());
  sends.end(&requests[0]);
  EXPECT_EQ(transmit("one"), 1);
  sends.forget_match();
  EXPECT_FALSE(sends.undo_match()) << "another one was transmitted since";
  EXPECT_EQ(transmit("one"), -1);
  EXPECT_FALSE(sends.undo_match());
}

TEST_F(MpiActiveSends, ThoseOfTheSameBytesCarryNothingUntilAllAreComplete) {
  add_pending("same", 1, &requests[0]);
  add_pending("same", 2, &requests[1]);
  EXPECT_EQ(transmit("same"), -1);
  sends.complete(&requests[0]);
  add_pending("same", 3, &requests[2]);
  EXPECT_EQ(transmit("same"), -1) << "the second one's, or the third one's";
  sends.complete(&requests[1]);
  sends.complete(&requests[2]);
  add_pending("same", 4, &requests[3]);
  EXPECT_EQ(transmit("same"), 4);
}

TEST_F(MpiActiveSends, OneWithoutSignatureHidesThoseOfTheSameBytes) {
  add_pending("same", 0, &requests[0]);
  add_pending("same", 1, &requests[1]);
  EXPECT_EQ(transmit("same"), -1);
}

TEST_F(MpiActiveSends, ARequestThatIsUsedAgainWasComplete) {
  add_pending("one", 1, &requests[0]);
  add_pending("two", 2, &requests[0]);
  EXPECT_EQ(transmit("one"), -1);
  EXPECT_EQ(transmit("two"), 2);
  sends.complete(&requests[0]);
  sends.complete(&requests[0]);
  EXPECT_EQ(transmit("two"), -1);
}

TEST_F(MpiActiveSends, TooLongOnesCarryNothing) {
  const std::string bytes(ActiveSends::kMostBytes + 1, 'x');
  add_pending(bytes, 1, &requests[0]);
  EXPECT_EQ(transmit(bytes), -1);
  add_pending("one", 2, &requests[0]);
  uint8_t out[8];
  EXPECT_EQ(sends.match("one", out, sizeof(out)), 0u) << "no room";
  EXPECT_EQ(transmit("one"), 2);
}

// One that is not kept may be transmitted yet, and be taken for a later one of the same bytes.
TEST_F(MpiActiveSends, TooManyPendingOnesDisableAll) {
  const std::string memory(ActiveSends::kMost + 1, 'x');
  for (size_t i = 0; i <= ActiveSends::kMost; ++i)
    add_pending(std::to_string(i), 1, memory.data() + i);
  EXPECT_EQ(transmit("1"), -1);
  add_pending("one", 1, &requests[0]);
  EXPECT_EQ(transmit("one"), -1);
  sends.complete(memory.data());
}

}  // namespace
}  // namespace verity::mpi
