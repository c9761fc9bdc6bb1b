// SPDX-License-Identifier: BSD-3-Clause
// A signature leaves whole, in words, wherever its parts lie.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "mpi/matching/departures.h"

namespace verity::mpi {
namespace {

constexpr size_t kRequest = 240;  // bytes of UCP's part of a request
constexpr uint32_t kUid = 0x1234;

// As a call has it: the head in words, the tail elsewhere, and behind the tail what does not belong to it.
struct Parts {
  static constexpr uint8_t kBehind = 0xff, kUntouched = 0xaa;
  explicit Parts(size_t of_length) : length(of_length), tail(in_words(length - kHead), kBehind) {
    for (size_t i = 0; i < kHead; ++i) reinterpret_cast<uint8_t*>(head)[i] = static_cast<uint8_t>(1 + i);
    for (size_t i = 0; i < length - kHead; ++i) tail[i] = static_cast<uint8_t>(0x80 | (i * 3));
  }
  void begin(Departures& departures, const void* endpoint, uint64_t tag) const {
    departures.begin(endpoint, tag, nullptr, head, tail.data(), length);
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
    ASSERT_EQ(std::vector<uint8_t>(out.begin(), out.begin() + static_cast<long>(wanted.size())), wanted);
    for (size_t i = wanted.size(); i < out.size(); ++i) ASSERT_TRUE(out[i] == kUntouched) << i;
  }
  size_t length;
  uint64_t head[kHead / sizeof(uint64_t)];
  std::vector<uint8_t> tail;
};

class MpiDepartingTails : public testing::Test {
 protected:
  MpiDepartingTails() { departures.set_request_size(kRequest); }
  Departures departures{kUid};
  int ep = 0, other_ep = 0;
  char requests[2][512];
};

TEST_F(MpiDepartingTails, SignaturesOfEveryLength) {
  uint32_t sequence = 0;
  for (size_t length = kHead; length <= kMaxSignature; ++length) {
    const Parts parts(length);
    const auto leaves = [&](const void* origin) {
      std::vector<uint8_t> out(kMaxSignature + 16, Parts::kUntouched);
      const size_t out_length = departures.is_of_call(5) ? departures.departs_from_call(1, out.data(), in_words(length))
                                                         : departures.departs({1, 5, origin, nullptr}, out.data(), in_words(length));
      ASSERT_NO_FATAL_FAILURE(parts.expect(out, out_length, sequence)) << length;
    };
    parts.begin(departures, &ep, 5);
    ASSERT_TRUE(departures.is_of_call(5));
    leaves(nullptr);
    departures.end(nullptr);
    ++sequence;

    const Parts other(kHead);
    other.begin(departures, &other_ep, 6);
    departures.end(requests[1] + kRequest);
    parts.begin(departures, &ep, 5);
    ASSERT_FALSE(departures.is_of_call(5)) << "another waits";
    leaves(nullptr);
    departures.end(nullptr);
    ++sequence;

    departures.forget(requests[1] + kRequest);
    {
      const Parts gone(parts);
      gone.begin(departures, &ep, 5);
      departures.end(requests[0] + kRequest);
    }
    for (int i = 0; i < 2; ++i) {
      leaves(requests[0]);
      EXPECT_EQ(departures.deferred(), 0u);
      EXPECT_EQ(i == 0 && departures.stayed(), i == 0);
    }
    ++sequence;
    if (HasFatalFailure()) return;
  }
}

TEST_F(MpiDepartingTails, WithoutRoomForItsLastWordItGoesWithout) {
  for (size_t length = kHead; length <= kMaxSignature; ++length) {
    const Parts parts(length);
    for (const bool is_of_call : {true, false}) {
      std::vector<uint8_t> out(in_words(length) - 1, Parts::kUntouched);
      parts.begin(departures, &ep, 5);
      const size_t left = is_of_call ? departures.departs_from_call(1, out.data(), out.size())
                                     : departures.departs({1, 5, nullptr, nullptr}, out.data(), out.size());
      ASSERT_EQ(left, 0u) << length;
      ASSERT_EQ(std::count(out.begin(), out.end(), Parts::kUntouched), static_cast<long>(out.size()));
      uint8_t again[kMaxSignature];
      ASSERT_EQ(departures.departs({1, 5, nullptr, nullptr}, again, sizeof(again)), 0u) << "it has left";
      departures.end(nullptr);
    }
  }
}

TEST_F(MpiDepartingTails, NoSignatureIsShorterThanItsHeadOrLongerThanTheLongest) {
  const std::vector<uint8_t> bytes(in_words(kMaxSignature + 1), 1);
  for (const size_t length : {size_t{1}, kHead - 1, kMaxSignature + 1}) {
    for (const bool is_of_call : {true, false}) {
      departures.begin(&ep, 5, nullptr, bytes.data(), length);
      uint8_t out[kMaxSignature + 16];
      const size_t left = is_of_call ? departures.departs_from_call(1, out, sizeof(out))
                                     : departures.departs({1, 5, nullptr, nullptr}, out, sizeof(out));
      EXPECT_EQ(left, 0u) << length;
      departures.end(nullptr);
    }
  }
}

// Of several sends one left, and the call's is among them: with the same head and tail as the others' it is told, with another tail not.
TEST_F(MpiDepartingTails, InDoubtTheTailsAreComparedToo) {
  for (const bool are_alike : {true, false}) {
    Departures some(kUid);
    some.set_request_size(kRequest);
    Parts parts(61);
    parts.begin(some, &ep, 5);
    some.end(requests[0] + kRequest);
    if (!are_alike) parts.tail.at(12) ^= 1;
    parts.begin(some, &other_ep, 5);
    EXPECT_FALSE(some.is_of_call(5));
    std::vector<uint8_t> out(kMaxSignature, Parts::kUntouched);
    const size_t length = some.departs({1, 5, nullptr, nullptr}, out.data(), out.size());
    EXPECT_EQ(length, are_alike ? 61u : 0u);
    out.resize(in_words(length));
    EXPECT_TRUE(!are_alike || out == parts.whole({0, 0})) << "without a number";
    some.end(nullptr);
  }
}

}  // namespace
}  // namespace verity::mpi
