// SPDX-License-Identifier: BSD-3-Clause
// Messages that say where their send's request lies.
#include <cstdint>

#include "unit/mpi/send_case.h"

namespace verity::mpi {
namespace {

// A rendezvous request has no buffer of the send's.
TEST_F(MpiSendMatcher, TheMessageItselfMayNameTheRequest) {
  add_pending(&ep, 5, Signature(1), requests[0]);
  add_pending(&other_ep, 5, Signature(2), requests[1]);
  add_pending(&ep, 5, Signature(3), requests[2]);
  const auto named = [&](const char* request, uint64_t serial) {
    return Out(sends, 5, reinterpret_cast<uintptr_t>(request), serial);
  };
  EXPECT_EQ(named(requests[1], 7).what(), 2);
  const Out first = named(requests[0], 8);
  EXPECT_EQ(first.what(), 1);
  EXPECT_EQ(first.sequence(), 0u);
  const Signature signature(4);
  int third_ep = 0;
  sends.begin(&third_ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  EXPECT_EQ(named(requests[3], 9).what(), 4) << "the call's";
  sends.end(nullptr);
  sends.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  EXPECT_EQ(named(requests[3], 8).what(), 3) << "to an endpoint with an earlier one";
  sends.end(nullptr);
  EXPECT_EQ(sends.pending(), 0u);
}

TEST_F(MpiSendMatcher, OfRequestsOfUnknownSizeNoneIsNamed) {
  sends.set_request_size(0);
  add_pending(&ep, 5, Signature(1), requests[0]);
  const Signature signature(2);
  sends.begin(&other_ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  EXPECT_EQ(Out(sends, 5, reinterpret_cast<uintptr_t>(requests[0]), 7).what(), -1);
  sends.end(nullptr);
}

// The memory may be that of the call's request by now.
TEST_F(MpiSendMatcher, AReleasedOneIsNotTheNamedOneForCertain) {
  add_pending(&ep, 5, Signature(1), requests[0]);
  sends.release(requests[0] + kRequest);
  const Signature signature(2);
  sends.begin(&ep, 5, nullptr, signature.bytes, sizeof(signature.bytes));
  EXPECT_EQ(Out(sends, 5, reinterpret_cast<uintptr_t>(requests[0]), 7).what(), -1);
  sends.end(nullptr);
}

}  // namespace
}  // namespace verity::mpi
