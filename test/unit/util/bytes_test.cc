// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "util/bytes.h"

#include <gtest/gtest.h>

#include "unit/merkle/bytes.h"

namespace verity::util {
namespace {

using test::Bytes;
using test::cut;

TEST(UtilBytes, TotalLengthOfNoPiecesIsZero) {
  EXPECT_EQ(total_length({}), 0U);
  const Piece empty{nullptr, 0};
  EXPECT_EQ(total_length({&empty, 1}), 0U);
}

TEST(UtilBytes, CopiesEveryRangeOfEveryCut) {
  const Bytes bytes = test::xxhash_bytes(23);
  for (size_t first = 0; first <= bytes.size(); ++first) {
    for (size_t second = first; second <= bytes.size(); ++second) {
      const auto pieces = cut(bytes, {first, second});
      ASSERT_EQ(total_length(pieces), bytes.size());
      for (size_t offset = 0; offset <= bytes.size(); ++offset) {
        const size_t length = bytes.size() - offset;
        Bytes out(length + 1, 0xee);
        ASSERT_EQ(copy_out(pieces, offset, out.data(), length), length);
        ASSERT_TRUE(
            std::equal(bytes.begin() + static_cast<ptrdiff_t>(offset), bytes.end(), out.begin()));
        ASSERT_EQ(out.back(), 0xee);
      }
    }
  }
}

TEST(UtilBytes, StopsAtTheEndOfThePieces) {
  const Bytes bytes = test::xxhash_bytes(10);
  const auto pieces = cut(bytes, {4});
  uint8_t out[20];
  EXPECT_EQ(copy_out(pieces, 7, out, sizeof(out)), 3U);
  EXPECT_EQ(copy_out(pieces, 10, out, sizeof(out)), 0U);
  EXPECT_EQ(copy_out(pieces, 99, out, sizeof(out)), 0U);
  EXPECT_EQ(copy_out({}, 0, out, sizeof(out)), 0U);
}

}  // namespace
}  // namespace verity::util
