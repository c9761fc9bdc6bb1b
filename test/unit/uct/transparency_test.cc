// SPDX-License-Identifier: BSD-3-Clause
#include "uct/wrap/transparency.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "uct/compat/internal_ops.h"

namespace verity::uct {
namespace {

const uct_device_addr_t* address(const std::vector<uint8_t>& bytes) {
  return reinterpret_cast<const uct_device_addr_t*>(bytes.data());
}

TEST(UctTransparency, Mark) {
  EXPECT_FALSE(has_mark(nullptr));
  std::vector<uint8_t> bytes(kDeviceMark.begin(), kDeviceMark.end());
  EXPECT_TRUE(has_mark(address(bytes)));
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::vector<uint8_t> other = bytes;
    other[i] ^= 1;
    EXPECT_FALSE(has_mark(address(other))) << i;
  }
}

// What raw transports read there, as transparency.h has it: layouts of UCX, which a release may
// not change without notice here.
TEST(UctTransparency, RawTransportsCannotReachIt) {
  constexpr uint8_t kLinkLayerEthernet = 1 << 3;
  constexpr uint8_t kPartitionKey = 1 << 2;
  EXPECT_EQ(kDeviceMark[0], kPartitionKey) << "and so no " << int{kLinkLayerEthernet};
  EXPECT_EQ(kDeviceMark[3], 0);
  EXPECT_EQ(kDeviceMark[4], 0);
  EXPECT_EQ(kDeviceMark[0] & 1, 0) << "no loopback device of tcp";
  EXPECT_GT(kDeviceMark[1], 46) << "no address family of Linux";
}

TEST(UctTransparency, PackedLengths) {
  // UCP's two flags above a length of 22, and a long one in a whole byte.
  for (const uint8_t flags : {0x00, 0x40, 0x80, 0xc0}) {
    const uint8_t bytes[] = {static_cast<uint8_t>(flags | 22), 1};
    EXPECT_TRUE(is_packed_length(bytes + 1, 22));
    EXPECT_FALSE(is_packed_length(bytes + 1, 2));
    EXPECT_FALSE(is_packed_length(bytes + 1, 85));
  }
  const uint8_t bytes[] = {86, 1};
  EXPECT_TRUE(is_packed_length(bytes + 1, 86));
}

}  // namespace
}  // namespace verity::uct
