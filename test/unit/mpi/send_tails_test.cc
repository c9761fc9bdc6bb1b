// SPDX-License-Identifier: BSD-3-Clause
// A signature is copied whole, in words, wherever its parts lie.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "mpi/matching/send_matcher.h"

namespace verity::mpi {
namespace {

constexpr size_t kRequest = 240;  // bytes of UCP's part of a request
constexpr uint32_t kUid = 0x1234;

// As a call has it: the head in words, the tail elsewhere, and behind the tail what does not belong
// to it.
struct Parts {
  static constexpr uint8_t kBehind = 0xff, kUntouched = 0xaa;
  explicit Parts(size_t of_length) : length(of_length), tail(in_words(length - kHead), kBehind) {
    for (size_t i = 0; i < kHead; ++i)
      reinterpret_cast<uint8_t*>(head)[i] = static_cast<uint8_t>(1 + i);
    for (size_t i = 0; i < length - kHead; ++i) tail[i] = static_cast<uint8_t>(0x80 | (i * 3));
  }
  void begin(SendMatcher& sends, const void* endpoint, uint64_t tag) const {
    sends.begin(endpoint, tag, nullptr, head, tail.data(), length);
  }
  // The signature with this stamp, to the end of the last word.
  [[nodiscard]] std::vector<uint8_t> whole(const Stamp& stamp) const {
    std::vector<uint8_t> bytes(in_words(length));
    std::memcpy(bytes.data(), head, kHead);
    std::copy_n(tail.begin(), length - kHead, bytes.begin() + kHead);
    write_stamp(bytes.data(), stamp);
    return bytes;
  }
  // What left, of that length, is all of it, and nothing behind it was written.
  void expect(const std::vector<uint8_t>& out, size_t out_length, uint32_t sequence) const {
    ASSERT_EQ(out_length, length);
    const Stamp stamp = stamp_in(out.data());
    ASSERT_EQ(stamp.uid >> 32, kUid);
    ASSERT_EQ(stamp.sequence, sequence);
    const std::vector<uint8_t> wanted = whole(stamp);
    ASSERT_EQ(std::vector<uint8_t>(out.begin(), out.begin() + static_cast<long>(wanted.size())),
              wanted);
    for (size_t i = wanted.size(); i < out.size(); ++i) ASSERT_TRUE(out[i] == kUntouched) << i;
  }
  size_t length;
  uint64_t head[kHead / sizeof(uint64_t)];
  std::vector<uint8_t> tail;
};

class MpiSendTails : public testing::Test {
 protected:
  MpiSendTails() { sends.set_request_size(kRequest); }
  SendMatcher sends{kUid};
  int ep = 0, other_ep = 0;
  char requests[2][512];
};

TEST_F(MpiSendTails, SignaturesOfEveryLength) {
  uint32_t sequence = 0;
  for (size_t length = kHead; length <= kMaxSignature; ++length) {
    const Parts parts(length);
    const auto transmit = [&](const void* origin) {
      std::vector<uint8_t> out(kMaxSignature + 16, Parts::kUntouched);
      const size_t out_length =
          sends.is_of_call(5) ? sends.match_call(1, out.data(), in_words(length))
                              : sends.match({1, 5, origin, nullptr}, out.data(), in_words(length));
      ASSERT_NO_FATAL_FAILURE(parts.expect(out, out_length, sequence)) << length;
    };
    parts.begin(sends, &ep, 5);
    ASSERT_TRUE(sends.is_of_call(5));
    transmit(nullptr);
    sends.end(nullptr);
    ++sequence;

    const Parts other(kHead);
    other.begin(sends, &other_ep, 6);
    sends.end(requests[1] + kRequest);
    parts.begin(sends, &ep, 5);
    ASSERT_FALSE(sends.is_of_call(5)) << "another waits";
    transmit(nullptr);
    sends.end(nullptr);
    ++sequence;

    sends.complete(requests[1] + kRequest);
    {
      const Parts temporary(parts);
      temporary.begin(sends, &ep, 5);
      sends.end(requests[0] + kRequest);
    }
    for (int i = 0; i < 2; ++i) {
      transmit(requests[0]);
      EXPECT_EQ(sends.pending(), 0u);
      EXPECT_EQ(i == 0 && sends.undo_match(), i == 0);
    }
    ++sequence;
    if (HasFatalFailure()) return;
  }
}

TEST_F(MpiSendTails, WithoutRoomForItsLastWordNothingIsCarried) {
  for (size_t length = kHead; length <= kMaxSignature; ++length) {
    const Parts parts(length);
    for (const bool is_of_call : {true, false}) {
      std::vector<uint8_t> out(in_words(length) - 1, Parts::kUntouched);
      parts.begin(sends, &ep, 5);
      const size_t left = is_of_call
                              ? sends.match_call(1, out.data(), out.size())
                              : sends.match({1, 5, nullptr, nullptr}, out.data(), out.size());
      ASSERT_EQ(left, 0u) << length;
      ASSERT_EQ(std::count(out.begin(), out.end(), Parts::kUntouched),
                static_cast<long>(out.size()));
      uint8_t again[kMaxSignature];
      ASSERT_EQ(sends.match({1, 5, nullptr, nullptr}, again, sizeof(again)), 0u) << "it has left";
      sends.end(nullptr);
    }
  }
}

TEST_F(MpiSendTails, NoSignatureIsShorterThanItsHeadOrLongerThanTheLongest) {
  const std::vector<uint8_t> bytes(in_words(kMaxSignature + 1), 1);
  for (const size_t length : {size_t{1}, kHead - 1, kMaxSignature + 1}) {
    for (const bool is_of_call : {true, false}) {
      sends.begin(&ep, 5, nullptr, bytes.data(), length);
      uint8_t out[kMaxSignature + 16];
      const size_t left = is_of_call ? sends.match_call(1, out, sizeof(out))
                                     : sends.match({1, 5, nullptr, nullptr}, out, sizeof(out));
      EXPECT_EQ(left, 0u) << length;
      sends.end(nullptr);
    }
  }
}

// Of several sends one is transmitted, and the call's is among them: with the same head and tail as
// the others' the signature is certain, with another tail not.
TEST_F(MpiSendTails, AmbiguousOnesHaveTheirTailsComparedToo) {
  for (const bool are_alike : {true, false}) {
    SendMatcher some(kUid);
    some.set_request_size(kRequest);
    Parts parts(61);
    parts.begin(some, &ep, 5);
    some.end(requests[0] + kRequest);
    if (!are_alike) parts.tail.at(12) ^= 1;
    parts.begin(some, &other_ep, 5);
    EXPECT_FALSE(some.is_of_call(5));
    std::vector<uint8_t> out(kMaxSignature, Parts::kUntouched);
    const size_t length = some.match({1, 5, nullptr, nullptr}, out.data(), out.size());
    EXPECT_EQ(length, are_alike ? 61u : 0u);
    out.resize(in_words(length));
    EXPECT_TRUE(!are_alike || out == parts.whole({0, 0})) << "without a number";
    some.end(nullptr);
  }
}

}  // namespace
}  // namespace verity::mpi
