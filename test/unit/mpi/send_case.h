// SPDX-License-Identifier: BSD-3-Clause
// For tests of SendMatcher: sends with signatures that say which they are, and messages.
#ifndef VERITY_TEST_UNIT_MPI_SEND_CASE_H
#define VERITY_TEST_UNIT_MPI_SEND_CASE_H

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

#include "mpi/matching/send_matcher.h"

namespace verity::mpi {

inline constexpr size_t kRequest = 240;  // bytes of UCP's part of a request

struct Signature {
  uint8_t bytes[48] = {};
  explicit Signature(uint8_t what) { bytes[0] = what; }
};

struct Out {
  uint8_t bytes[kMaxSignature];
  size_t length;
  Out(SendMatcher& sends, uint64_t tag, const void* origin, const void* data = nullptr,
      uint64_t serial = 1)
      : length(sends.match({serial, tag, origin, data}, bytes, sizeof(bytes))) {}
  // Of a message that names a request.
  Out(SendMatcher& sends, uint64_t tag, uintptr_t request, uint64_t serial)
      : length(sends.match({serial, tag, nullptr, nullptr, request}, bytes, sizeof(bytes))) {}
  [[nodiscard]] int what() const { return length == 0 ? -1 : bytes[0]; }
  [[nodiscard]] uint32_t sequence() const {
    Stamp stamp{};
    EXPECT_TRUE(read_stamp(bytes, length, &stamp));
    return stamp.sequence;
  }
};

class MpiSendMatcher : public testing::Test {
 protected:
  MpiSendMatcher() { sends.set_request_size(kRequest); }
  void add_pending(const void* endpoint, uint64_t tag, const Signature& signature, char* request) {
    sends.begin(endpoint, tag, request, signature.bytes, sizeof(signature.bytes));
    sends.end(request + kRequest);
  }
  SendMatcher sends{0x1234};
  int ep = 0, other_ep = 0;
  char requests[4][512];
};

}  // namespace verity::mpi

#endif
