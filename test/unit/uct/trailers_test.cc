// SPDX-License-Identifier: BSD-3-Clause
// What is added to a message is taken off again, whatever its length; and nothing else is taken
// apart.
#include "uct/extensions/trailers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace verity::uct {
namespace {

constexpr uint8_t kId = 2;
constexpr uint8_t kUntouched = 0xaa;

// The interposer of these tests: what outgoing_message() was asked, and what it answers.
struct Asked {
  const verity_outgoing* outgoing;
  const void* message;
  size_t length, room;
  unsigned times;
} asked;
size_t answer;

uint8_t trailer_byte(size_t at) { return static_cast<uint8_t>(0x80 | (at * 29)); }

size_t outgoing_message(const verity_outgoing* outgoing, const void* message, size_t length,
                        uint8_t* trailer, size_t room) noexcept {
  asked = {outgoing, message, length, room, asked.times + 1};
  const size_t in_words = answer + gap_behind(answer);
  if (in_words > room) return 0;
  std::fill_n(trailer, in_words, uint8_t{0});
  for (size_t i = 0; i < answer; ++i) trailer[i] = trailer_byte(i);
  return answer;
}

class UctTrailers : public testing::Test {
 protected:
  UctTrailers() {
    asked = {};
    interposer.outgoing = outgoing_message;
  }
  static std::vector<uint8_t> message_of(size_t length) {
    std::vector<uint8_t> message(length);
    for (size_t i = 0; i < length; ++i) message[i] = static_cast<uint8_t>(0x40 + i);
    return message;
  }
  static void expect_trailer(const Trailed& taken) {
    ASSERT_EQ(taken.trailer_length, answer);
    for (size_t i = 0; i < answer; ++i) ASSERT_EQ(taken.trailer[i], trailer_byte(i));
  }
  // Of those that are in front of it, and the words' last bytes.
  static void expect_zeros(const uint8_t* begin, const uint8_t* end) {
    EXPECT_TRUE(std::all_of(begin, end, [](uint8_t byte) { return byte == 0; }));
  }
  verity_interposer interposer = {};
  verity_outgoing outgoing = {11, nullptr, nullptr, kId};
  Trailed taken = {};
};

TEST_F(UctTrailers, BehindMessagesOfEveryLength) {
  for (size_t length = 8; length <= 40; ++length) {
    const std::vector<uint8_t> message = message_of(length);
    for (answer = 1; answer <= VERITY_MAX_TRAILER; ++answer) {
      std::vector<uint8_t> frame = message;
      frame.resize(length + kTrailerRoom, kUntouched);
      const size_t added = append_trailer(interposer, outgoing, frame.data(), length);
      ASSERT_EQ(asked.outgoing, &outgoing);
      ASSERT_EQ(asked.message, frame.data());
      ASSERT_EQ(asked.length, length);
      ASSERT_EQ(asked.room, size_t{VERITY_MAX_TRAILER});
      ASSERT_LE(added, kTrailerRoom);
      ASSERT_EQ((length + added) % util::kWord, 0u);
      for (size_t i = length + added; i < frame.size(); ++i) ASSERT_TRUE(frame[i] == kUntouched);
      frame.resize(length + added);
      frame.shrink_to_fit();
      ASSERT_TRUE(split_message(kTrailerId, frame.data(), frame.size(), &taken));
      ASSERT_EQ(taken.am_id, kId);
      ASSERT_EQ(taken.message, frame.data());
      ASSERT_EQ(taken.length, length);
      ASSERT_TRUE(std::equal(message.begin(), message.end(), taken.message));
      ASSERT_EQ((taken.trailer - frame.data()) % util::kWord, 0u);
      ASSERT_NO_FATAL_FAILURE(expect_trailer(taken));
      expect_zeros(frame.data() + length, taken.trailer);
      expect_zeros(taken.trailer + answer, frame.data() + frame.size() - kTrailerEnd);
    }
  }
}

TEST_F(UctTrailers, WithoutATrailerTheMessageStaysWhatItIs) {
  answer = 0;
  std::vector<uint8_t> frame = message_of(13);
  frame.resize(13 + kTrailerRoom, kUntouched);
  const std::vector<uint8_t> before = frame;
  EXPECT_EQ(append_trailer(interposer, outgoing, frame.data(), 13), 0u);
  EXPECT_EQ(asked.times, 1u);
  EXPECT_EQ(frame, before);
}

TEST_F(UctTrailers, InFrontOfMessagesOfEveryLength) {
  for (size_t length = 8; length <= 40; ++length) {
    const std::vector<uint8_t> message = message_of(length);
    for (answer = 1; answer <= VERITY_MAX_TRAILER; ++answer) {
      std::vector<uint8_t> frame(kTrailerRoom, kUntouched);
      const size_t lead =
          write_leader(interposer, outgoing, frame.data(), frame.size(), message.data(), length);
      ASSERT_EQ(asked.message, message.data());
      ASSERT_EQ(asked.length, length);
      ASSERT_EQ(asked.room, size_t{VERITY_MAX_TRAILER});
      ASSERT_EQ(lead % util::kWord, 0u);
      for (size_t i = lead; i < frame.size(); ++i) ASSERT_TRUE(frame[i] == kUntouched);
      frame.resize(lead);
      frame.insert(frame.end(), message.begin(), message.end());
      frame.shrink_to_fit();
      ASSERT_TRUE(split_message(kLeaderId, frame.data(), frame.size(), &taken));
      ASSERT_EQ(taken.am_id, kId);
      ASSERT_EQ(taken.message, frame.data() + lead);
      ASSERT_EQ(taken.length, length);
      ASSERT_EQ(taken.trailer, frame.data() + kTrailerEnd);
      ASSERT_NO_FATAL_FAILURE(expect_trailer(taken));
      expect_zeros(taken.trailer + answer, taken.message);
    }
  }
}

TEST_F(UctTrailers, ALeaderKeepsToItsRoom) {
  const std::vector<uint8_t> message = message_of(16);
  for (size_t room = 0; room <= kTrailerRoom; ++room) {
    for (answer = 1; answer <= VERITY_MAX_TRAILER; answer += 5) {
      const unsigned times = asked.times;
      std::vector<uint8_t> out(room);  // of just this size
      const size_t lead =
          write_leader(interposer, outgoing, out.data(), room, message.data(), message.size());
      const size_t wanted = kTrailerEnd + answer + gap_behind(answer);
      ASSERT_EQ(lead, wanted <= room ? wanted : 0) << room;
      if (room <= kTrailerEnd)
        ASSERT_EQ(asked.times, times) << "nothing that leaves has room";
      else
        ASSERT_EQ(asked.room, std::min<size_t>(room - kTrailerEnd, VERITY_MAX_TRAILER));
    }
  }
}

// ---- what was not made by append_trailer() or write_leader()
// ------------------------------------------------------------------

class UctTrailersOfOthers : public testing::Test {
 protected:
  // A payload of that many bytes that ends, or begins, so.
  bool accepts(uint8_t am_id, size_t length, uint64_t end) {
    std::vector<uint8_t> payload(length);
    if (length >= kTrailerEnd)
      util::write_word(payload.data(), am_id == kLeaderId ? 0 : length - kTrailerEnd, end);
    return split_message(am_id, payload.data(), payload.size(), &taken);
  }
  static constexpr uint64_t end_of(uint64_t id, uint64_t size, uint64_t gap) {
    return id | size << 8 | gap << 16;
  }
  Trailed taken = {};
};

TEST_F(UctTrailersOfOthers, TooShort) {
  for (const uint8_t am_id : {kTrailerId, kLeaderId}) {
    for (size_t length = 0; length < 16; ++length)
      EXPECT_FALSE(accepts(am_id, length, end_of(kId, 8, 0))) << length;
    EXPECT_TRUE(accepts(am_id, 16, end_of(kId, 8, 0)));
    EXPECT_EQ(taken.length, 0u) << "a message of nothing: the upper layer's to judge";
    EXPECT_FALSE(accepts(am_id, 23, end_of(kId, 9, 0)));
    EXPECT_TRUE(accepts(am_id, 24, end_of(kId, 9, 0)));
  }
  for (uint64_t gap = 1; gap < util::kWord; ++gap) {
    EXPECT_FALSE(accepts(kTrailerId, 15 + gap, end_of(kId, 8, gap)));
    EXPECT_TRUE(accepts(kTrailerId, 16 + gap, end_of(kId, 8, gap)));
  }
}

TEST_F(UctTrailersOfOthers, FieldsOutOfTheirRanges) {
  for (const uint8_t am_id : {kTrailerId, kLeaderId}) {
    for (uint64_t id = 0; id <= 255; ++id)
      EXPECT_EQ(accepts(am_id, 400, end_of(id, 8, 0)), id < kLeaderId) << id;
    for (uint64_t size = 0; size <= 255; ++size) {
      EXPECT_EQ(accepts(am_id, 400, end_of(kId, size, 0)), size != 0 && size <= VERITY_MAX_TRAILER)
          << size;
    }
    for (uint64_t gap = 0; gap <= 255; ++gap) {
      EXPECT_EQ(accepts(am_id, 400, end_of(kId, 8, gap)),
                gap < (am_id == kLeaderId ? 1u : util::kWord))
          << gap;
    }
    for (unsigned bit = 24; bit < 64; ++bit)
      EXPECT_FALSE(accepts(am_id, 400, end_of(kId, 8, 0) | uint64_t{1} << bit)) << bit;
  }
}

}  // namespace
}  // namespace verity::uct
