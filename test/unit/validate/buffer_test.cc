// SPDX-License-Identifier: BSD-3-Clause
#include "validate/buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace verity::validate {
namespace {

Layout layout(std::vector<normalize::Run> list, int64_t extent) {
  return make_layout({{}, std::move(list)}, extent).value();
}

// Three copies of {2 bytes at 5, 3 bytes at 0}, 8 bytes from one to the next: data bytes 5 6 0 1 2,
// 13 14 8 9 10, 21 22 16 17 18.
class Gaps : public testing::Test {
 protected:
  Gaps() { std::iota(memory_.begin(), memory_.end(), uint8_t{0}); }

  std::vector<uint8_t> memory_ = std::vector<uint8_t>(24);
  Buffer buffer_{memory_.data(), layout({{5, 2}, {0, 3}}, 8), 3};
};

TEST_F(Gaps, LengthIsThatOfTheData) { EXPECT_EQ(buffer_.length(), 15u); }

TEST_F(Gaps, ReadsInPackingOrderFromAnywhere) {
  const std::vector<uint8_t> packed = {5, 6, 0, 1, 2, 13, 14, 8, 9, 10, 21, 22, 16, 17, 18};
  for (uint64_t offset = 0; offset <= packed.size(); ++offset) {
    for (uint64_t length = 0; offset + length <= packed.size(); ++length) {
      std::vector<uint8_t> out(length);
      buffer_.read(offset, length, out.data());
      EXPECT_TRUE(std::equal(out.begin(), out.end(), packed.begin() + static_cast<int64_t>(offset)))
          << offset << " " << length;
    }
  }
}

TEST_F(Gaps, WritesTheDataAndNothingElse) {
  const std::vector<uint8_t> in(6, 0xff);
  buffer_.write(4, in.size(), in.data());
  const std::vector<uint8_t> wanted = {0,  1,    0xff, 3,  4,  5,  6,  7,  0xff, 0xff, 0xff, 11,
                                       12, 0xff, 0xff, 15, 16, 17, 18, 19, 20,   21,   22,   23};
  EXPECT_EQ(memory_, wanted);
}

TEST_F(Gaps, AreGatheredOnlyWhereTheyAre) {
  std::vector<uint8_t> space;
  EXPECT_EQ(buffer_.gather(7, 3, &space), memory_.data() + 8);
  EXPECT_TRUE(space.empty());
  const uint8_t* gathered = buffer_.gather(1, 5, &space);
  EXPECT_EQ(gathered, space.data());
  EXPECT_EQ(space, (std::vector<uint8_t>{6, 0, 1, 2, 13}));
}

TEST(ValidateBuffer, CopiesWithoutGapsAreOneRun) {
  std::vector<uint8_t> memory(4000), space;
  const Buffer buffer(memory.data(), layout({{0, 4}}, 4), 1000);
  EXPECT_EQ(buffer.gather(10, 3000, &space), memory.data() + 10);
}

TEST(ValidateBuffer, NoElements) {
  EXPECT_EQ(Buffer(nullptr, {}, 0).length(), 0u);
  EXPECT_EQ(Buffer(nullptr, layout({{0, 4}}, 4), 0).length(), 0u);
  EXPECT_EQ(Buffer(nullptr, {}, 7).length(), 0u);
  Buffer(nullptr, {}, 0).read(0, 0, nullptr);
}

TEST(ValidateBuffer, NegativeExtent) {
  std::vector<uint8_t> memory = {1, 2, 3, 4};
  std::vector<uint8_t> out(4);
  Buffer(memory.data() + 3, layout({{0, 1}}, -1), 4).read(0, 4, out.data());
  EXPECT_EQ(out, (std::vector<uint8_t>{4, 3, 2, 1}));
}

}  // namespace
}  // namespace verity::validate
