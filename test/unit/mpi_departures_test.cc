// SPDX-License-Identifier: BSD-3-Clause
// A message that leaves gets the signature of its own send, or none.
#include "mpi/matching/departures.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

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
  Out(Departures& departures, uint64_t tag, const void* origin, const void* data = nullptr, uint64_t serial = 1)
      : length(departures.departs({serial, tag, origin, data}, bytes, sizeof(bytes))) {}
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
    departures.begin(endpoint, tag, request, signature.bytes, sizeof(signature.bytes));
    departures.end(request + kRequest);
  }
  Departures departures{0x1234};
  int ep = 0, other_ep = 0;
  char requests[4][512];
};

TEST_F(MpiDepartures, InsideOfTheCall) {
  const Signature signature(1);
  departures.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  EXPECT_EQ(Out(departures, 6, nullptr).what(), -1) << "another tag";
  EXPECT_EQ(Out(departures, 5, nullptr).what(), 1);
  EXPECT_EQ(Out(departures, 5, nullptr).what(), -1) << "once";
  departures.end(nullptr);
  EXPECT_EQ(Out(departures, 5, nullptr).what(), -1) << "the call is over";
}

TEST_F(MpiDepartures, WhatStayedIsOfferedAgain) {
  const Signature signature(1);
  departures.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
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

TEST_F(MpiDepartures, OneWithoutSignatureThatStayedKeepsItsPlace) {
  defer(&ep, 5, Signature(1), requests[2]);
  EXPECT_EQ(Out(departures, 5, requests[2]).what(), 1);
  departures.begin(&ep, 5, nullptr, nullptr, 0);
  EXPECT_EQ(Out(departures, 5, nullptr).what(), -1);
  EXPECT_FALSE(departures.stayed());
  departures.end(requests[0] + kRequest);
  defer(&ep, 5, Signature(2), requests[1]);
  EXPECT_EQ(Out(departures, 5, nullptr).what(), -1) << "it leaves first, and is none's";
  EXPECT_EQ(Out(departures, 5, nullptr).what(), 2);
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

// Without an address the transport's endpoint says to which peer, once it is known.
TEST_F(MpiDepartures, LaterWithoutAnyAddressInTheOrderOfTheCalls) {
  defer(&ep, 5, Signature(1), requests[2]);
  EXPECT_EQ(Out(departures, 5, nullptr).what(), 1) << "no other one has such sends";
  defer(&ep, 5, Signature(2), requests[1]);
  defer(&other_ep, 5, Signature(4), requests[2]);
  defer(&ep, 5, Signature(3), requests[0]);
  EXPECT_EQ(Out(departures, 6, nullptr).what(), -1) << "another tag";
  const Out first(departures, 5, nullptr), second(departures, 5, nullptr);
  EXPECT_EQ(first.what(), 2);
  EXPECT_EQ(first.sequence(), 1u);
  EXPECT_EQ(second.what(), 3);
  EXPECT_EQ(Out(departures, 5, nullptr).what(), -1);
  EXPECT_EQ(departures.deferred(), 1u);
}

// The tests' sends have their request for a buffer.
TEST_F(MpiDepartures, OfUnknownEndpointsTheBufferTells) {
  defer(&ep, 5, Signature(1), requests[0]);
  defer(&other_ep, 5, Signature(2), requests[1]);
  EXPECT_EQ(Out(departures, 5, nullptr, requests[1], 7).what(), 2);
  EXPECT_EQ(Out(departures, 5, nullptr, requests[0], 8).what(), 1);
}

TEST_F(MpiDepartures, OfUnknownEndpointsNothingIsToldUntilTheirRequestsEnd) {
  const Signature signature(3);
  defer(&ep, 5, Signature(1), requests[0]);
  defer(&other_ep, 5, Signature(2), requests[1]);
  EXPECT_EQ(Out(departures, 5, nullptr).what(), -1) << "which of the two?";
  departures.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  EXPECT_EQ(Out(departures, 5, nullptr).what(), -1) << "perhaps the first one";
  departures.end(requests[2] + kRequest);
  defer(&ep, 6, Signature(4), requests[3]);
  EXPECT_EQ(Out(departures, 6, requests[3]).what(), 4) << "another tag";
  for (int i = 0; i < 3; ++i) departures.forget(requests[i] + kRequest);
  departures.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  const Out out(departures, 5, nullptr);
  EXPECT_EQ(out.what(), 3);
  EXPECT_EQ(out.sequence(), 2u) << "two went without before";
  departures.end(nullptr);
}

// A broadcast's: all the same, so it is told what leaves, but not which one it is.
TEST_F(MpiDepartures, OfUnknownEndpointsWithOneSignatureItIsToldWithoutANumber) {
  defer(&ep, 5, Signature(1), requests[0]);
  defer(&other_ep, 5, Signature(1), requests[1]);
  for (uint64_t serial : {7, 8}) {
    const Out out(departures, 5, nullptr, nullptr, serial);
    EXPECT_EQ(out.what(), 1);
    Stamp stamp;
    EXPECT_FALSE(read_stamp(out.bytes, out.length, &stamp));
  }
  for (int i = 0; i < 2; ++i) departures.forget(requests[i] + kRequest);
  defer(&ep, 5, Signature(2), requests[0]);
  EXPECT_EQ(Out(departures, 5, nullptr).sequence(), 1u);
}

TEST_F(MpiDepartures, WhatMayHaveLeftBeforeGivesItsSignatureToNoLaterOne) {
  const Signature first(1), second(2);
  defer(&ep, 5, first, requests[0]);
  defer(&other_ep, 5, first, requests[1]);
  EXPECT_EQ(Out(departures, 5, nullptr, nullptr, 7).what(), 1) << "alike";
  EXPECT_EQ(Out(departures, 5, nullptr, nullptr, 8).what(), 1);
  // The endpoint becomes known; the requests are still there.
  departures.begin(&ep, 6, nullptr, second.bytes, sizeof(second.bytes));
  EXPECT_EQ(Out(departures, 6, requests[2], nullptr, 7).what(), 2);
  departures.end(nullptr);
  departures.begin(&ep, 5, nullptr, second.bytes, sizeof(second.bytes));
  EXPECT_EQ(Out(departures, 5, nullptr, nullptr, 7).what(), -1);
  departures.end(nullptr);
  departures.forget(requests[0] + kRequest);
  departures.forget(requests[1] + kRequest);
  departures.begin(&ep, 5, nullptr, second.bytes, sizeof(second.bytes));
  EXPECT_EQ(Out(departures, 5, nullptr, nullptr, 7).what(), 2);
  departures.end(nullptr);
}

TEST_F(MpiDepartures, AReleasedOneLeavesByItsAddressOrInDoubt) {
  const Signature first(1), second(2), third(3);
  departures.begin(&ep, 6, nullptr, third.bytes, sizeof(third.bytes));
  EXPECT_EQ(Out(departures, 6, nullptr).what(), 3) << "the endpoint is known";
  departures.end(nullptr);
  defer(&ep, 5, first, requests[0]);
  departures.release(requests[0] + kRequest);
  EXPECT_EQ(Out(departures, 5, requests[0]).what(), 1);
  defer(&ep, 5, first, requests[1]);
  departures.release(requests[1] + kRequest);
  departures.begin(&ep, 5, nullptr, second.bytes, sizeof(second.bytes));
  EXPECT_EQ(Out(departures, 5, nullptr).what(), -1) << "this one's, or the released one's";
  departures.end(nullptr);
}

// A program that frees the requests of its sends for as long as it runs: neither time nor memory may grow, nor a wrong signature leave.
TEST_F(MpiDepartures, WhereReleasedOnesPileUpTheirTagCarriesNothing) {
  const Signature first(1), second(2);
  std::vector<char> memory(kRequest + 100'000);
  const auto request = [&](size_t i) { return memory.data() + i; };
  for (size_t i = 1; i <= 10'000; ++i) {
    defer(&ep, 5, first, request(8 * i));
    departures.release(request(8 * i) + kRequest);
    ASSERT_LE(departures.deferred(), 64u);
  }
  EXPECT_EQ(departures.deferred(), 0u);
  for (unsigned i = 0; i < 3; ++i) {
    departures.begin(&ep, 5, nullptr, second.bytes, sizeof(second.bytes));
    EXPECT_EQ(Out(departures, 5, nullptr).what(), -1);
    departures.end(requests[0] + kRequest);
    EXPECT_EQ(Out(departures, 5, requests[0]).what(), -1) << "late";
    EXPECT_FALSE(departures.stayed());
    EXPECT_EQ(departures.deferred(), 0u);
  }
  defer(&ep, 6, first, requests[0]);
  EXPECT_EQ(Out(departures, 6, requests[0]).what(), 1) << "another tag";
  departures.begin(&ep, 6, nullptr, second.bytes, sizeof(second.bytes));
  EXPECT_EQ(Out(departures, 6, nullptr).what(), 2);
  departures.end(nullptr);
}

TEST_F(MpiDepartures, WhereTooManyTagsCarryNothingNoneDoes) {
  const Signature first(1);
  std::vector<char> memory(kRequest + 1'000'000);
  for (uint64_t tag = 10; tag < 3000; ++tag) {
    char* const request = memory.data() + 8 * tag;
    defer(&ep, tag, first, request);
    departures.release(request + kRequest);
    ASSERT_LE(departures.deferred(), 64u);
  }
  departures.begin(&ep, 5, nullptr, first.bytes, sizeof(first.bytes));
  EXPECT_EQ(Out(departures, 5, nullptr).what(), -1);
  departures.end(requests[0] + kRequest);
  EXPECT_EQ(departures.deferred(), 0u);
}

// They may leave yet: forgotten, they would be taken for later ones.
TEST_F(MpiDepartures, WhereTooManyWaitNothingIsCarried) {
  const Signature first(1), second(2);
  std::vector<char> memory(kRequest + 8 * 70'000);
  for (size_t i = 1; i < 70'000; ++i) defer(&ep, 5, first, memory.data() + 8 * i);
  EXPECT_EQ(departures.deferred(), 0u);
  defer(&ep, 5, second, requests[0]);
  EXPECT_EQ(Out(departures, 5, nullptr).what(), -1) << "one of the first ones, in truth";
}

TEST_F(MpiDepartures, AGoneRequestIsNotTheFirstAnyMore) {
  defer(&ep, 5, Signature(1), requests[2]);
  EXPECT_EQ(Out(departures, 5, requests[2]).what(), 1);
  defer(&ep, 5, Signature(2), requests[0]);
  defer(&ep, 5, Signature(3), requests[1]);
  departures.forget(requests[0] + kRequest);
  EXPECT_EQ(Out(departures, 5, nullptr).what(), 3);
}

TEST_F(MpiDepartures, OneThatWaitsLeavesInsideOfALaterCall) {
  defer(&ep, 5, Signature(1), requests[2]);
  EXPECT_EQ(Out(departures, 5, requests[2]).what(), 1);
  defer(&ep, 5, Signature(2), requests[0]);
  const Signature signature(3);
  departures.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  EXPECT_EQ(Out(departures, 5, nullptr).what(), 2);
  EXPECT_EQ(Out(departures, 5, nullptr).what(), 3);
  departures.end(nullptr);
}

TEST_F(MpiDepartures, ASendOfNothingTakesAPlaceInTheNumbering) {
  const Signature signature(1);
  departures.begin(&ep, 5, nullptr, nullptr, 0);
  EXPECT_EQ(Out(departures, 5, nullptr).what(), -1);
  departures.end(nullptr);
  departures.pass(&ep, 5);
  departures.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  EXPECT_EQ(Out(departures, 5, nullptr).sequence(), 2u);
  departures.end(nullptr);
  EXPECT_EQ(departures.deferred(), 0u);
}

TEST_F(MpiDepartures, OneThatIsTooLongForItsRoomGoesWithout) {
  const Signature signature(1);
  departures.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  uint8_t out[16];
  EXPECT_EQ(departures.departs({1, 5, nullptr, nullptr}, out, sizeof(out)), 0u);
  EXPECT_EQ(Out(departures, 5, nullptr).what(), -1) << "it has left";
  departures.end(nullptr);
}

TEST_F(MpiDepartures, StaleRequestsDoNotPileUp) {
  std::vector<char> memory(100'000);
  for (size_t i = 0; i < memory.size(); ++i) {
    const Signature signature(1);
    departures.begin(&ep, i, nullptr, signature.bytes, sizeof(signature.bytes));
    departures.end(&memory[i]);
  }
  EXPECT_LE(departures.deferred(), size_t{1} << 16);
}

// ---- the call's own, which is asked for first ---------------------------------------------------------------------------------

TEST_F(MpiDepartures, OneOfTheCallThatStayedIsStillTheCalls) {
  const Signature signature(1);
  uint8_t out[sizeof(signature.bytes)];
  const auto leaves = [&] { return departures.departs_from_call(1, out, sizeof(out)); };
  departures.pass(&ep, 5);
  departures.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(departures.is_of_call(6));
    ASSERT_TRUE(departures.is_of_call(5));
    ASSERT_EQ(leaves(), sizeof(out));
    EXPECT_EQ(stamp_in(out).sequence, 1u) << "the second one, as before";
    EXPECT_FALSE(departures.is_of_call(5)) << "once";
    EXPECT_TRUE(departures.stayed());
  }
  ASSERT_EQ(leaves(), sizeof(out));
  EXPECT_EQ(Out(departures, 5, nullptr).what(), -1);
  EXPECT_FALSE(departures.stayed()) << "the last one was nobody's";
  EXPECT_FALSE(departures.is_of_call(5));
  departures.end(requests[0] + kRequest);
  EXPECT_EQ(departures.deferred(), 0u);
}

TEST_F(MpiDepartures, OneOfTheCallThatStayedLeavesLater) {
  const Signature signature(1);
  uint8_t out[sizeof(signature.bytes)];
  departures.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  ASSERT_EQ(departures.departs_from_call(1, out, sizeof(out)), sizeof(out));
  EXPECT_TRUE(departures.stayed());
  departures.end(requests[0] + kRequest);
  EXPECT_FALSE(departures.is_of_call(5)) << "the call is over";
  const Out later(departures, 5, requests[0]);
  EXPECT_EQ(later.what(), 1);
  EXPECT_EQ(later.sequence(), 0u);
}

TEST_F(MpiDepartures, OneOfTheCallWithoutSignatureThatStayed) {
  uint8_t out[48];
  departures.begin(&ep, 5, nullptr, nullptr, 0);
  ASSERT_TRUE(departures.is_of_call(5));
  EXPECT_EQ(departures.departs_from_call(1, out, sizeof(out)), 0u);
  EXPECT_FALSE(departures.stayed());
  EXPECT_TRUE(departures.is_of_call(5));
  departures.end(nullptr);
}

TEST_F(MpiDepartures, WhileAnotherWaitsTheCallsIsNotTakenForGranted) {
  const Signature signature(3);
  defer(&ep, 5, Signature(1), requests[0]);
  departures.begin(&ep, 6, nullptr, signature.bytes, sizeof(signature.bytes));
  EXPECT_FALSE(departures.is_of_call(6));
  const Out out(departures, 6, nullptr);
  EXPECT_EQ(out.what(), 3) << "but found";
  EXPECT_TRUE(departures.stayed());
  EXPECT_FALSE(departures.is_of_call(6));
  EXPECT_EQ(Out(departures, 6, nullptr).what(), 3);
  departures.end(nullptr);
  departures.forget(requests[0] + kRequest);
  departures.begin(&ep, 6, nullptr, signature.bytes, sizeof(signature.bytes));
  EXPECT_TRUE(departures.is_of_call(6)) << "none waits";
  departures.end(nullptr);
}

// Whose the transport's endpoint is, the call's message showed.
TEST_F(MpiDepartures, OfTheCallTheEndpointIsKnownFromThenOn) {
  const Signature signature(1);
  uint8_t out[sizeof(signature.bytes)];
  departures.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  ASSERT_EQ(departures.departs_from_call(7, out, sizeof(out)), sizeof(out));
  departures.end(nullptr);
  defer(&other_ep, 5, Signature(2), requests[0]);
  defer(&ep, 5, Signature(3), requests[1]);
  EXPECT_EQ(Out(departures, 5, nullptr, nullptr, 7).what(), 3);
}

}  // namespace
}  // namespace verity::mpi
