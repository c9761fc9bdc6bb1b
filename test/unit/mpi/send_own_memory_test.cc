// SPDX-License-Identifier: BSD-3-Clause
// Requests in the caller's memory, whose completion need not show: a later send gets no signature
// of theirs.
#include <cstddef>
#include <vector>

#include "unit/mpi/send_case.h"

namespace verity::mpi {
namespace {

class MpiOwnMemory : public MpiSendMatcher {
 protected:
  // A send whose message bypasses the plugin, with the request at the end of what it occupies.
  void add_own(const void* endpoint, uint64_t tag, const Signature& signature, char* end) {
    sends.reuse(end);
    sends.begin(endpoint, tag, nullptr, signature.bytes, sizeof(signature.bytes));
    sends.end(end, true);
  }
  char stack[2048];
};

// Open MPI's blocking sends, at two depths of the stack.
TEST_F(MpiOwnMemory, AnOverlappingOneTakesThePlaceOfTheFormer) {
  const Signature second(2);
  for (ptrdiff_t shift : {-64, 0, 64}) {
    add_own(&ep, 5, Signature(1), stack + 1024);
    char* const request = stack + 1024 + shift;
    sends.reuse(request);
    EXPECT_EQ(sends.pending(), 0u);
    sends.begin(&other_ep, 5, nullptr, second.bytes, sizeof(second.bytes));
    EXPECT_EQ(Out(sends, 5, request - kRequest).what(), 2) << shift;
    sends.end(request, true);
  }
}

// Both wait for their connections. The message's endpoint is known by another one before.
TEST_F(MpiOwnMemory, SendsToOtherEndpointsKeepTheirSignatures) {
  add_pending(&other_ep, 4, Signature(9), requests[1]);
  ASSERT_EQ(Out(sends, 4, requests[1], nullptr, 7).what(), 9);
  add_pending(&ep, 5, Signature(1), requests[0]);
  add_own(&other_ep, 5, Signature(2), stack + 1024);
  EXPECT_EQ(Out(sends, 5, nullptr, nullptr, 7).what(), 2);
  EXPECT_EQ(Out(sends, 5, requests[0]).what(), 1);
}

TEST_F(MpiOwnMemory, OnesBesideItStay) {
  add_own(&ep, 5, Signature(1), stack + 512);
  add_own(&ep, 5, Signature(2), stack + 512 + kRequest);
  add_pending(&ep, 5, Signature(3), requests[0]);
  EXPECT_EQ(sends.pending(), 3u);
  EXPECT_EQ(Out(sends, 5, stack + 512).what(), 2);
  EXPECT_EQ(Out(sends, 5, stack + 511).what(), 1);
}

// A struct on the stack where an older send had its request.
TEST_F(MpiOwnMemory, AStructInItsMemoryBelongsToAnotherSend) {
  add_own(&ep, 5, Signature(1), stack + 1024);
  add_pending(&other_ep, 5, Signature(2), requests[0]);
  auto** const on_stack = reinterpret_cast<void**>(stack + 960);
  *on_stack = requests[0];
  EXPECT_EQ(Out(sends, 5, on_stack).what(), -1) << "not certain";
}

TEST_F(MpiOwnMemory, AStructInItsMemoryMayBelongToTheCall) {
  const Signature second(2);
  add_own(&ep, 5, Signature(1), stack + 1024);
  sends.begin(&other_ep, 5, nullptr, second.bytes, sizeof(second.bytes));
  EXPECT_EQ(Out(sends, 5, stack + 960).what(), -1);
  sends.end(nullptr);
}

TEST_F(MpiOwnMemory, ALaterOneToItsEndpointGetsNotItsSignature) {
  const Signature second(2);
  add_own(&ep, 5, Signature(1), stack + 1024);
  sends.begin(&ep, 5, nullptr, second.bytes, sizeof(second.bytes));
  EXPECT_EQ(Out(sends, 5, nullptr).what(), -1);
  sends.end(nullptr);
}

// The usual case: it waits for its connection or for room, and its caller for it.
TEST_F(MpiOwnMemory, TheOnlyOneOfItsTagIsCertain) {
  add_own(&ep, 5, Signature(1), stack + 1024);
  add_own(&ep, 6, Signature(2), stack + 512);
  const Out without_address(sends, 5, nullptr), with_address(sends, 6, stack + 512 - 8);
  EXPECT_EQ(without_address.what(), 1);
  EXPECT_EQ(without_address.sequence(), 0u);
  EXPECT_EQ(with_address.what(), 2);
  EXPECT_EQ(with_address.sequence(), 0u);
  EXPECT_EQ(sends.pending(), 0u);
}

TEST_F(MpiOwnMemory, OneThatIsSeenToEndLeavesNothing) {
  const Signature second(2);
  add_own(&ep, 5, Signature(1), stack + 1024);
  sends.complete(stack + 1024);
  sends.begin(&ep, 5, nullptr, second.bytes, sizeof(second.bytes));
  EXPECT_TRUE(sends.is_of_call(5)) << "the short path";
  EXPECT_EQ(Out(sends, 5, nullptr).what(), 2);
  sends.end(nullptr);
}

TEST_F(MpiOwnMemory, TooManyOfThemDisableTheirTag) {
  const Signature second(2);
  std::vector<char> memory(kRequest * 3000);
  for (size_t i = 1; i < 3000; ++i) {
    add_own(&ep, 5, Signature(1), memory.data() + kRequest * i);
    ASSERT_LE(sends.pending(), 1024u);
  }
  sends.begin(&ep, 5, nullptr, second.bytes, sizeof(second.bytes));
  EXPECT_EQ(Out(sends, 5, nullptr).what(), -1);
  sends.end(requests[0] + kRequest);
  EXPECT_EQ(sends.pending(), 0u);
}

}  // namespace
}  // namespace verity::mpi
