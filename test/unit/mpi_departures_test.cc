// SPDX-License-Identifier: BSD-3-Clause
// A message that leaves gets the signature of its own send, or none.
#include "mpi/departures.h"

#include <gtest/gtest.h>

#include <cstring>

namespace verity::mpi {
namespace {

constexpr size_t kRequest = 240;  // bytes of UCP's part of a request

struct Signature {
  uint8_t bytes[48] = {};
  explicit Signature(uint8_t what) { bytes[0] = what; }
};

struct Out {
  uint8_t bytes[kMaxSignature];
  size_t length;
  Out(Departures& departures, uint64_t tag, const void* origin) : length(departures.departs(tag, origin, bytes, sizeof(bytes))) {}
  [[nodiscard]] int what() const { return length == 0 ? -1 : bytes[0]; }
  [[nodiscard]] uint32_t sequence() const {
    Stamp stamp{};
    EXPECT_TRUE(read_stamp(bytes, length, &stamp));
    return stamp.sequence;
  }
};

class MpiDepartures : public testing::Test {
 protected:
  MpiDepartures() { departures.set_request_size(kRequest); }
  void defer(const void* endpoint, uint64_t tag, const Signature& signature, char* request) {
    departures.begin(endpoint, tag, signature.bytes, sizeof(signature.bytes));
    departures.end(request + kRequest);
  }
  Departures departures{0x1234};
  int ep = 0, other_ep = 0;
  char requests[4][512];
};

TEST_F(MpiDepartures, InsideOfTheCall) {
  const Signature signature(1);
  departures.begin(&ep, 5, signature.bytes, sizeof(signature.bytes));
  EXPECT_EQ(Out(departures, 6, nullptr).what(), -1) << "another tag";
  EXPECT_EQ(Out(departures, 5, nullptr).what(), 1);
  EXPECT_EQ(Out(departures, 5, nullptr).what(), -1) << "once";
  departures.end(nullptr);
  EXPECT_EQ(Out(departures, 5, nullptr).what(), -1) << "the call is over";
}

TEST_F(MpiDepartures, WhatStayedIsOfferedAgain) {
  const Signature signature(1);
  departures.begin(&ep, 5, signature.bytes, sizeof(signature.bytes));
  EXPECT_EQ(Out(departures, 5, nullptr).what(), 1);
  departures.stayed();
  EXPECT_EQ(Out(departures, 5, nullptr).what(), 1);
  departures.stayed();
  departures.end(requests[0] + kRequest);
  ASSERT_EQ(departures.deferred(), 1u);
  EXPECT_EQ(Out(departures, 5, requests[0]).what(), 1);
  departures.stayed();
  EXPECT_EQ(Out(departures, 5, requests[0] + 100).what(), 1);
  EXPECT_EQ(departures.deferred(), 0u);
}

TEST_F(MpiDepartures, LaterByTheAddressInItsRequest) {
  defer(&ep, 5, Signature(1), requests[0]);
  defer(&ep, 5, Signature(2), requests[1]);
  EXPECT_EQ(Out(departures, 5, requests[1] + 16).what(), 2);
  EXPECT_EQ(Out(departures, 5, requests[0] + 200).what(), 1);
}

TEST_F(MpiDepartures, LaterByAStructThatBeginsWithItsRequest) {
  defer(&ep, 5, Signature(1), requests[0]);
  const void* on_stack[2] = {requests[0], nullptr};
  EXPECT_EQ(Out(departures, 6, on_stack).what(), -1) << "another tag";
  EXPECT_EQ(Out(departures, 5, on_stack).what(), 1);
}

TEST_F(MpiDepartures, LaterWithoutAnyAddress) {
  defer(&ep, 5, Signature(1), requests[1]);
  defer(&ep, 5, Signature(1), requests[0]);
  const Out first(departures, 5, nullptr), second(departures, 5, nullptr);
  EXPECT_EQ(first.what(), 1);
  EXPECT_EQ(first.sequence(), 0u) << "in the order of the calls, whatever their addresses";
  EXPECT_EQ(second.sequence(), 1u);
}

TEST_F(MpiDepartures, WithoutAnyAddressAndUnlikeNothingIsTold) {
  defer(&ep, 5, Signature(1), requests[0]);
  defer(&ep, 5, Signature(2), requests[1]);
  EXPECT_EQ(Out(departures, 5, nullptr).what(), -1);
  departures.forget(requests[1] + kRequest);
  EXPECT_EQ(Out(departures, 5, nullptr).what(), 1);
}

TEST_F(MpiDepartures, ToTwoPeersWithOneTagNothingIsTold) {
  defer(&ep, 5, Signature(1), requests[0]);
  defer(&other_ep, 5, Signature(1), requests[1]);
  EXPECT_EQ(Out(departures, 5, nullptr).what(), -1) << "their sequences differ";
}

TEST_F(MpiDepartures, OneThatWaitsLeavesInsideOfALaterCall) {
  defer(&ep, 5, Signature(1), requests[0]);
  const Signature signature(1);
  departures.begin(&ep, 5, signature.bytes, sizeof(signature.bytes));
  EXPECT_EQ(Out(departures, 5, nullptr).sequence(), 0u);
  EXPECT_EQ(Out(departures, 5, nullptr).sequence(), 1u);
  departures.end(nullptr);
}

TEST_F(MpiDepartures, ASendOfNothingTakesAPlaceInTheNumbering) {
  const Signature signature(1);
  departures.begin(&ep, 5, nullptr, 0);
  EXPECT_EQ(Out(departures, 5, nullptr).what(), -1);
  departures.end(nullptr);
  departures.pass(&ep, 5);
  departures.begin(&ep, 5, signature.bytes, sizeof(signature.bytes));
  EXPECT_EQ(Out(departures, 5, nullptr).sequence(), 2u);
  departures.end(nullptr);
  EXPECT_EQ(departures.deferred(), 0u);
}

TEST_F(MpiDepartures, OneThatIsTooLongForItsRoomGoesWithout) {
  const Signature signature(1);
  departures.begin(&ep, 5, signature.bytes, sizeof(signature.bytes));
  uint8_t out[16];
  EXPECT_EQ(departures.departs(5, nullptr, out, sizeof(out)), 0u);
  EXPECT_EQ(Out(departures, 5, nullptr).what(), -1) << "it has left";
  departures.end(nullptr);
}

TEST_F(MpiDepartures, StaleRequestsDoNotPileUp) {
  std::vector<char> memory(100'000);
  for (size_t i = 0; i < memory.size(); ++i) {
    const Signature signature(1);
    departures.begin(&ep, i, signature.bytes, sizeof(signature.bytes));
    departures.end(&memory[i]);
  }
  EXPECT_LE(departures.deferred(), size_t{1} << 16);
}

}  // namespace
}  // namespace verity::mpi
