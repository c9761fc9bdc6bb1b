// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <vector>

#include "mpi/matching/open_sends.h"

namespace verity::mpi {
namespace {

class OpenSendsTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::optional<ChangedSend> changed(size_t offset, size_t length,
                                                   uint64_t opened = UINT64_MAX) {
    std::optional<ChangedSend> send;
    found = sends.changed(memory.data() + offset, length, opened, &send);
    return send;
  }
  static Caller caller(uint64_t site) {
    return {.call = "MPI_Isend", .site = site, .comm = nullptr, .peer = 3};
  }

  std::vector<char> memory = std::vector<char>(100'000);
  OpenSends sends;
  bool found = false;
  int requests[4] = {};
};

TEST_F(OpenSendsTest, NamesTheSendWhoseBufferItIs) {
  sends.open(&requests[0], memory.data(), 10'000, caller(1));
  sends.open(&requests[1], memory.data() + 10'000, 20'000, caller(2));
  const auto send = changed(15'000, 4000);
  ASSERT_TRUE(send);
  EXPECT_EQ(send->caller.site, 2u);
  EXPECT_EQ(send->caller.peer, 3);
  EXPECT_EQ(send->bytes, 20'000u);
  EXPECT_EQ(send->offset, 5000u);
  EXPECT_EQ(send->length, 4000u);
}

TEST_F(OpenSendsTest, ToldOnce) {
  sends.open(&requests[0], memory.data(), 10'000, caller(1));
  EXPECT_TRUE(changed(0, 100));
  EXPECT_FALSE(changed(5000, 100));
  EXPECT_TRUE(found) << "it is still that send's, to be reported once";
}

TEST_F(OpenSendsTest, OnlyWhatOverlapsCounts) {
  sends.open(&requests[0], memory.data() + 10'000, 10'000, caller(1));
  EXPECT_FALSE(changed(0, 10'000));
  EXPECT_FALSE(found);
  EXPECT_FALSE(changed(20'000, 10'000));
  EXPECT_FALSE(found);
  const auto send = changed(0, 100'000);
  ASSERT_TRUE(send);
  EXPECT_EQ(send->offset, 0u);
  EXPECT_EQ(send->length, 10'000u);
}

TEST_F(OpenSendsTest, AnEndedSendsBufferIsTheProgramsOwn) {
  sends.open(&requests[0], memory.data(), 10'000, caller(1));
  sends.close(&requests[1]);
  sends.close(&requests[0]);
  EXPECT_FALSE(changed(0, 100));
  EXPECT_FALSE(found);
  sends.open(&requests[0], memory.data(), 10'000, caller(2));  // the request comes again
  EXPECT_EQ(changed(0, 100)->caller.site, 2u);
}

// The bytes left before the send that has the buffer now was made.
TEST_F(OpenSendsTest, ALaterSendIsNotNamedForWhatLeftBefore) {
  sends.open(&requests[0], memory.data(), 10'000, caller(1));
  const uint64_t then = sends.opened();
  sends.open(&requests[1], memory.data() + 10'000, 10'000, caller(2));
  EXPECT_FALSE(changed(10'000, 100, then));
  EXPECT_FALSE(found);
  EXPECT_EQ(changed(0, 100, then)->caller.site, 1u);
  sends.close(&requests[0]);
  sends.open(&requests[0], memory.data(), 10'000, caller(3));  // of the same request
  EXPECT_FALSE(changed(0, 100, then));
  EXPECT_EQ(changed(0, 100, sends.opened())->caller.site, 3u);
}

TEST_F(OpenSendsTest, SmallOnesAreNotKept) {
  sends.open(&requests[0], memory.data(), OpenSends::kLeast - 1, caller(1));
  EXPECT_FALSE(changed(0, 100));
}

}  // namespace
}  // namespace verity::mpi
