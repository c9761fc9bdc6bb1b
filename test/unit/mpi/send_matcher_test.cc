// SPDX-License-Identifier: BSD-3-Clause
// An outgoing message gets the signature of its own send, or none.
#include <vector>

#include "unit/mpi/send_case.h"

namespace verity::mpi {
namespace {

TEST_F(MpiSendMatcher, InsideOfTheCall) {
  const Signature signature(1);
  sends.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  EXPECT_EQ(Out(sends, 6, nullptr).what(), -1) << "another tag";
  EXPECT_EQ(Out(sends, 5, nullptr).what(), 1);
  EXPECT_EQ(Out(sends, 5, nullptr).what(), -1) << "once";
  sends.end(nullptr);
  EXPECT_EQ(Out(sends, 5, nullptr).what(), -1) << "the call is over";
}

TEST_F(MpiSendMatcher, OneThatWasNotTransmittedIsOfferedAgain) {
  const Signature signature(1);
  sends.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  EXPECT_EQ(Out(sends, 5, nullptr).what(), 1);
  sends.undo_match();
  EXPECT_EQ(Out(sends, 5, nullptr).what(), 1);
  sends.undo_match();
  sends.end(requests[0] + kRequest);
  ASSERT_EQ(sends.pending(), 1u);
  EXPECT_EQ(Out(sends, 5, requests[0]).what(), 1);
  sends.undo_match();
  EXPECT_EQ(Out(sends, 5, requests[0] + 100).what(), 1);
  EXPECT_EQ(sends.pending(), 0u);
}

TEST_F(MpiSendMatcher, AMessageOfNoSendEndsWhatCouldBeUndone) {
  add_pending(&ep, 5, Signature(1), requests[0]);
  EXPECT_EQ(Out(sends, 5, requests[0]).what(), 1);
  EXPECT_TRUE(sends.has_match());
  sends.forget_match();
  EXPECT_FALSE(sends.has_match());
  EXPECT_FALSE(sends.undo_match()) << "it was transmitted";
  EXPECT_EQ(sends.pending(), 0u);
}

TEST_F(MpiSendMatcher, OneWithoutSignatureKeepsItsPlaceInTheOrder) {
  add_pending(&ep, 5, Signature(1), requests[2]);
  EXPECT_EQ(Out(sends, 5, requests[2]).what(), 1);
  sends.begin(&ep, 5, nullptr, nullptr, 0);
  EXPECT_EQ(Out(sends, 5, nullptr).what(), -1);
  EXPECT_FALSE(sends.undo_match());
  sends.end(requests[0] + kRequest);
  add_pending(&ep, 5, Signature(2), requests[1]);
  EXPECT_EQ(Out(sends, 5, nullptr).what(), -1) << "it is transmitted first, and has none";
  EXPECT_EQ(Out(sends, 5, nullptr).what(), 2);
}

TEST_F(MpiSendMatcher, LaterByTheAddressInItsRequest) {
  add_pending(&ep, 5, Signature(1), requests[0]);
  add_pending(&ep, 5, Signature(2), requests[1]);
  EXPECT_EQ(Out(sends, 5, requests[1] + 16).what(), 2);
  EXPECT_EQ(Out(sends, 5, requests[0] + 200).what(), 1);
}

TEST_F(MpiSendMatcher, LaterByAStructThatBeginsWithItsRequest) {
  add_pending(&ep, 5, Signature(1), requests[0]);
  const void* on_stack[2] = {requests[0], nullptr};
  EXPECT_EQ(Out(sends, 6, on_stack).what(), -1) << "another tag";
  EXPECT_EQ(Out(sends, 5, on_stack).what(), 1);
}

// Without an address the transport's endpoint says to which peer, once it is known.
TEST_F(MpiSendMatcher, LaterWithoutAnyAddressInTheOrderOfTheCalls) {
  add_pending(&ep, 5, Signature(1), requests[2]);
  EXPECT_EQ(Out(sends, 5, nullptr).what(), 1) << "no other one has such sends";
  add_pending(&ep, 5, Signature(2), requests[1]);
  add_pending(&other_ep, 5, Signature(4), requests[2]);
  add_pending(&ep, 5, Signature(3), requests[0]);
  EXPECT_EQ(Out(sends, 6, nullptr).what(), -1) << "another tag";
  const Out first(sends, 5, nullptr), second(sends, 5, nullptr);
  EXPECT_EQ(first.what(), 2);
  EXPECT_EQ(first.sequence(), 1u);
  EXPECT_EQ(second.what(), 3);
  EXPECT_EQ(Out(sends, 5, nullptr).what(), -1);
  EXPECT_EQ(sends.pending(), 1u);
}

// The tests' sends have their request for a buffer.
TEST_F(MpiSendMatcher, TheBufferIdentifiesAnUnknownEndpoint) {
  add_pending(&ep, 5, Signature(1), requests[0]);
  add_pending(&other_ep, 5, Signature(2), requests[1]);
  EXPECT_EQ(Out(sends, 5, nullptr, requests[1], 7).what(), 2);
  EXPECT_EQ(Out(sends, 5, nullptr, requests[0], 8).what(), 1);
}

TEST_F(MpiSendMatcher, AnAmbiguousOneCarriesNothingUntilTheRequestsAreComplete) {
  const Signature signature(3);
  add_pending(&ep, 5, Signature(1), requests[0]);
  add_pending(&other_ep, 5, Signature(2), requests[1]);
  EXPECT_EQ(Out(sends, 5, nullptr).what(), -1) << "which of the two?";
  sends.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  EXPECT_EQ(Out(sends, 5, nullptr).what(), -1) << "perhaps the first one";
  sends.end(requests[2] + kRequest);
  add_pending(&ep, 6, Signature(4), requests[3]);
  EXPECT_EQ(Out(sends, 6, requests[3]).what(), 4) << "another tag";
  for (int i = 0; i < 3; ++i) sends.complete(requests[i] + kRequest);
  sends.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  const Out out(sends, 5, nullptr);
  EXPECT_EQ(out.what(), 3);
  EXPECT_EQ(out.sequence(), 2u) << "two went without before";
  sends.end(nullptr);
}

// A broadcast's: all the same, so the signature is certain, but not the number.
TEST_F(MpiSendMatcher, AnAmbiguousOneCarriesACommonSignatureWithoutANumber) {
  add_pending(&ep, 5, Signature(1), requests[0]);
  add_pending(&other_ep, 5, Signature(1), requests[1]);
  for (uint64_t serial : {7, 8}) {
    const Out out(sends, 5, nullptr, nullptr, serial);
    EXPECT_EQ(out.what(), 1);
    Stamp stamp;
    EXPECT_FALSE(read_stamp(out.bytes, out.length, &stamp));
  }
  for (int i = 0; i < 2; ++i) sends.complete(requests[i] + kRequest);
  add_pending(&ep, 5, Signature(2), requests[0]);
  EXPECT_EQ(Out(sends, 5, nullptr).sequence(), 1u);
}

TEST_F(MpiSendMatcher, ASendThatMayBeTransmittedGivesItsSignatureToNoLaterOne) {
  const Signature first(1), second(2);
  add_pending(&ep, 5, first, requests[0]);
  add_pending(&other_ep, 5, first, requests[1]);
  EXPECT_EQ(Out(sends, 5, nullptr, nullptr, 7).what(), 1) << "alike";
  EXPECT_EQ(Out(sends, 5, nullptr, nullptr, 8).what(), 1);
  // The endpoint becomes known; the requests are still there.
  sends.begin(&ep, 6, nullptr, second.bytes, sizeof(second.bytes));
  EXPECT_EQ(Out(sends, 6, requests[2], nullptr, 7).what(), 2);
  sends.end(nullptr);
  sends.begin(&ep, 5, nullptr, second.bytes, sizeof(second.bytes));
  EXPECT_EQ(Out(sends, 5, nullptr, nullptr, 7).what(), -1);
  sends.end(nullptr);
  sends.complete(requests[0] + kRequest);
  sends.complete(requests[1] + kRequest);
  sends.begin(&ep, 5, nullptr, second.bytes, sizeof(second.bytes));
  EXPECT_EQ(Out(sends, 5, nullptr, nullptr, 7).what(), 2);
  sends.end(nullptr);
}

TEST_F(MpiSendMatcher, AReleasedOneIsMatchedByItsAddressOnly) {
  const Signature first(1), second(2), third(3);
  sends.begin(&ep, 6, nullptr, third.bytes, sizeof(third.bytes));
  EXPECT_EQ(Out(sends, 6, nullptr).what(), 3) << "the endpoint is known";
  sends.end(nullptr);
  add_pending(&ep, 5, first, requests[0]);
  sends.release(requests[0] + kRequest);
  EXPECT_EQ(Out(sends, 5, requests[0]).what(), 1);
  add_pending(&ep, 5, first, requests[1]);
  sends.release(requests[1] + kRequest);
  sends.begin(&ep, 5, nullptr, second.bytes, sizeof(second.bytes));
  EXPECT_EQ(Out(sends, 5, nullptr).what(), -1) << "this one's, or the released one's";
  sends.end(nullptr);
}

// A program that frees the requests of its sends for as long as it runs: neither time nor memory
// may grow, nor a wrong signature be attached.
TEST_F(MpiSendMatcher, TooManyReleasedOnesDisableTheirTag) {
  const Signature first(1), second(2);
  std::vector<char> memory(kRequest + 100'000);
  const auto request = [&](size_t i) { return memory.data() + i; };
  for (size_t i = 1; i <= 10'000; ++i) {
    add_pending(&ep, 5, first, request(8 * i));
    sends.release(request(8 * i) + kRequest);
    ASSERT_LE(sends.pending(), 64u);
  }
  EXPECT_EQ(sends.pending(), 0u);
  for (unsigned i = 0; i < 3; ++i) {
    sends.begin(&ep, 5, nullptr, second.bytes, sizeof(second.bytes));
    EXPECT_EQ(Out(sends, 5, nullptr).what(), -1);
    sends.end(requests[0] + kRequest);
    EXPECT_EQ(Out(sends, 5, requests[0]).what(), -1) << "late";
    EXPECT_FALSE(sends.undo_match());
    EXPECT_EQ(sends.pending(), 0u);
  }
  add_pending(&ep, 6, first, requests[0]);
  EXPECT_EQ(Out(sends, 6, requests[0]).what(), 1) << "another tag";
  sends.begin(&ep, 6, nullptr, second.bytes, sizeof(second.bytes));
  EXPECT_EQ(Out(sends, 6, nullptr).what(), 2);
  sends.end(nullptr);
}

TEST_F(MpiSendMatcher, TooManyDisabledTagsDisableAll) {
  const Signature first(1);
  std::vector<char> memory(kRequest + 1'000'000);
  for (uint64_t tag = 10; tag < 3000; ++tag) {
    char* const request = memory.data() + 8 * tag;
    add_pending(&ep, tag, first, request);
    sends.release(request + kRequest);
    ASSERT_LE(sends.pending(), 64u);
  }
  sends.begin(&ep, 5, nullptr, first.bytes, sizeof(first.bytes));
  EXPECT_EQ(Out(sends, 5, nullptr).what(), -1);
  sends.end(requests[0] + kRequest);
  EXPECT_EQ(sends.pending(), 0u);
}

// They may be transmitted yet: dropped, they would be taken for later ones.
TEST_F(MpiSendMatcher, TooManyPendingOnesDisableAll) {
  const Signature first(1), second(2);
  std::vector<char> memory(kRequest + 8 * 70'000);
  for (size_t i = 1; i < 70'000; ++i) add_pending(&ep, 5, first, memory.data() + 8 * i);
  EXPECT_EQ(sends.pending(), 0u);
  add_pending(&ep, 5, second, requests[0]);
  EXPECT_EQ(Out(sends, 5, nullptr).what(), -1) << "one of the first ones, in truth";
}

TEST_F(MpiSendMatcher, ACompletedOneIsNotTheFirstAnyMore) {
  add_pending(&ep, 5, Signature(1), requests[2]);
  EXPECT_EQ(Out(sends, 5, requests[2]).what(), 1);
  add_pending(&ep, 5, Signature(2), requests[0]);
  add_pending(&ep, 5, Signature(3), requests[1]);
  sends.complete(requests[0] + kRequest);
  EXPECT_EQ(Out(sends, 5, nullptr).what(), 3);
}

TEST_F(MpiSendMatcher, APendingOneIsTransmittedInsideOfALaterCall) {
  add_pending(&ep, 5, Signature(1), requests[2]);
  EXPECT_EQ(Out(sends, 5, requests[2]).what(), 1);
  add_pending(&ep, 5, Signature(2), requests[0]);
  const Signature signature(3);
  sends.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  EXPECT_EQ(Out(sends, 5, nullptr).what(), 2);
  EXPECT_EQ(Out(sends, 5, nullptr).what(), 3);
  sends.end(nullptr);
}

TEST_F(MpiSendMatcher, ASendOfNothingTakesAPlaceInTheNumbering) {
  const Signature signature(1);
  sends.begin(&ep, 5, nullptr, nullptr, 0);
  EXPECT_EQ(Out(sends, 5, nullptr).what(), -1);
  sends.end(nullptr);
  sends.skip(&ep, 5);
  sends.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  EXPECT_EQ(Out(sends, 5, nullptr).sequence(), 2u);
  sends.end(nullptr);
  EXPECT_EQ(sends.pending(), 0u);
}

// From a callback inside of the call: which of the two a message belongs to is not known.
TEST_F(MpiSendMatcher, ASendInsideOfTheCallGetsNotItsSignature) {
  const Signature signature(1);
  sends.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  sends.skip(&other_ep, 5);
  EXPECT_FALSE(sends.is_of_call(5));
  EXPECT_EQ(Out(sends, 5, nullptr).what(), -1);
  sends.end_skipped(&other_ep, 5, nullptr, false);
  sends.end(nullptr);
}

TEST_F(MpiSendMatcher, ASendInsideOfACallMayBeTransmittedLater) {
  const Signature first(1), second(2);
  sends.begin(&ep, 5, nullptr, first.bytes, sizeof(first.bytes));
  EXPECT_EQ(Out(sends, 5, nullptr).what(), 1) << "before";
  sends.skip(&ep, 5);
  sends.end_skipped(&ep, 5, requests[0] + kRequest, false);
  sends.end(nullptr);
  add_pending(&ep, 5, second, requests[1]);
  EXPECT_EQ(Out(sends, 5, nullptr).what(), -1) << "this one's, or the one that was skipped";
  sends.complete(requests[0] + kRequest);
  sends.complete(requests[1] + kRequest);
  sends.begin(&ep, 5, nullptr, second.bytes, sizeof(second.bytes));
  EXPECT_EQ(Out(sends, 5, nullptr).what(), 2);
  sends.end(nullptr);
}

TEST_F(MpiSendMatcher, OneTooLongForItsRoomCarriesNothing) {
  const Signature signature(1);
  sends.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  uint8_t out[16];
  EXPECT_EQ(sends.match({1, 5, nullptr, nullptr}, out, sizeof(out)), 0u);
  EXPECT_EQ(Out(sends, 5, nullptr).what(), -1) << "it has left";
  sends.end(nullptr);
}

TEST_F(MpiSendMatcher, StaleRequestsDoNotPileUp) {
  std::vector<char> memory(100'000);
  for (size_t i = 0; i < memory.size(); ++i) {
    const Signature signature(1);
    sends.begin(&ep, i, nullptr, signature.bytes, sizeof(signature.bytes));
    sends.end(&memory[i]);
  }
  EXPECT_LE(sends.pending(), size_t{1} << 16);
}

// ---- the call's own, which is asked for first
// ---------------------------------------------------------------------------------

TEST_F(MpiSendMatcher, TheCallsMessageMayBeOfferedAgain) {
  const Signature signature(1);
  uint8_t out[sizeof(signature.bytes)];
  const auto transmit = [&] { return sends.match_call(1, out, sizeof(out)); };
  sends.skip(&ep, 5);
  sends.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(sends.is_of_call(6));
    ASSERT_TRUE(sends.is_of_call(5));
    ASSERT_EQ(transmit(), sizeof(out));
    EXPECT_EQ(stamp_in(out).sequence, 1u) << "the second one, as before";
    EXPECT_FALSE(sends.is_of_call(5)) << "once";
    EXPECT_TRUE(sends.undo_match());
  }
  ASSERT_EQ(transmit(), sizeof(out));
  EXPECT_EQ(Out(sends, 5, nullptr).what(), -1);
  EXPECT_FALSE(sends.undo_match()) << "the last one belonged to no send";
  EXPECT_FALSE(sends.is_of_call(5));
  sends.end(requests[0] + kRequest);
  EXPECT_EQ(sends.pending(), 0u);
}

TEST_F(MpiSendMatcher, TheCallsMessageMayBeTransmittedLater) {
  const Signature signature(1);
  uint8_t out[sizeof(signature.bytes)];
  sends.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  ASSERT_EQ(sends.match_call(1, out, sizeof(out)), sizeof(out));
  EXPECT_TRUE(sends.undo_match());
  sends.end(requests[0] + kRequest);
  EXPECT_FALSE(sends.is_of_call(5)) << "the call is over";
  const Out later(sends, 5, requests[0]);
  EXPECT_EQ(later.what(), 1);
  EXPECT_EQ(later.sequence(), 0u);
}

TEST_F(MpiSendMatcher, TheCallsMessageWithoutSignatureMayBeOfferedAgain) {
  uint8_t out[48];
  sends.begin(&ep, 5, nullptr, nullptr, 0);
  ASSERT_TRUE(sends.is_of_call(5));
  EXPECT_EQ(sends.match_call(1, out, sizeof(out)), 0u);
  EXPECT_FALSE(sends.undo_match());
  EXPECT_TRUE(sends.is_of_call(5));
  sends.end(nullptr);
}

TEST_F(MpiSendMatcher, WhileAnotherIsPendingTheShortPathIsNotTaken) {
  const Signature signature(3);
  add_pending(&ep, 5, Signature(1), requests[0]);
  sends.begin(&ep, 6, nullptr, signature.bytes, sizeof(signature.bytes));
  EXPECT_FALSE(sends.is_of_call(6));
  const Out out(sends, 6, nullptr);
  EXPECT_EQ(out.what(), 3) << "but found";
  EXPECT_TRUE(sends.undo_match());
  EXPECT_FALSE(sends.is_of_call(6));
  EXPECT_EQ(Out(sends, 6, nullptr).what(), 3);
  sends.end(nullptr);
  sends.complete(requests[0] + kRequest);
  sends.begin(&ep, 6, nullptr, signature.bytes, sizeof(signature.bytes));
  EXPECT_TRUE(sends.is_of_call(6)) << "none waits";
  sends.end(nullptr);
}

// Whose the transport's endpoint is, the call's message showed.
TEST_F(MpiSendMatcher, TheCallsMessageShowsTheEndpoint) {
  const Signature signature(1);
  uint8_t out[sizeof(signature.bytes)];
  sends.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  ASSERT_EQ(sends.match_call(7, out, sizeof(out)), sizeof(out));
  sends.end(nullptr);
  add_pending(&other_ep, 5, Signature(2), requests[0]);
  add_pending(&ep, 5, Signature(3), requests[1]);
  EXPECT_EQ(Out(sends, 5, nullptr, nullptr, 7).what(), 3);
}

}  // namespace
}  // namespace verity::mpi
