// SPDX-License-Identifier: BSD-3-Clause
// Peers of other releases: what their addresses and HELLOs look like, and what this side says.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "wire/address.h"
#include "wire/codec.h"

namespace verity::wire {
namespace {

using Bytes = std::vector<uint8_t>;

TEST(Release, IsReadFromItsName) {
  EXPECT_EQ(parse_release("1.2.3"), (Release{1, 2, 3}));
  EXPECT_EQ(parse_release("0.10.0-rc1"), (Release{0, 10, 0}));
  EXPECT_EQ(parse_release("4.1"), (Release{4, 1, 0}));
  EXPECT_EQ(parse_release("1.999.3.7"), (Release{1, 255, 3}));
  EXPECT_EQ(parse_release(""), Release{});
}

// Recorded: what plugins of these versions append to an interface's address. Each in a buffer of
// its very size, so that a sanitizer sees a read behind it.
const Bytes kAddressOf5 = {0x79, 0x76, 5,    0x12, 0x2b, 0x1c, 0x9e, 0x40,
                           0x01, 0x0e, 0x80, 0xba, 0x04, 0x47, 0xbd, 0x4b};
const Bytes kAddressOf6 = {0x79, 0x76, 6,    0x12, 0x2b, 0x1c, 0x9e, 0x40, 0x01, 0x0e,
                           0x80, 0xba, 0x04, 0x47, 0xbd, 0x4b, 0,    1,    0,    0};
const Bytes kAddressOf7 = {0x79, 0x76, 7,    0x12, 0x2b, 0x1c, 0x9e, 0x40, 0x01, 0x0e,
                           0x80, 0xba, 0x04, 0x47, 0xbd, 0x4b, 0,    1,    0,    0};
// Of what may come, longer and with bits that mean nothing today.
const Bytes kAddressOf8 = {0x79, 0x76, 8,    0xff, 0x2b, 0x1c, 0x9e, 0x40, 0x01, 0x0e, 0x80, 0xba,
                           0x04, 0x47, 0xbd, 0x4b, 1,    12,   3,    0xff, 0xff, 0xff, 0xff, 0xff};

AddressTail read(const Bytes& bytes) {
  const Bytes copy(bytes);
  AddressTail tail;
  read_address(copy.data(), &tail);
  return tail;
}

std::string refusal(const Bytes& theirs, const Release& ours = {0, 1, 0}) {
  char text[kMaxRefusal];
  write_refusal(read(theirs), ours, text);
  return text;
}

TEST(Release, AnAddressOfThisVersionIsUnderstood) {
  const AddressTail tail = read(kAddressOf7);
  EXPECT_EQ(tail.version, kVersion);
  EXPECT_EQ(mode_of(tail), 2);
  EXPECT_EQ(extensions_of(tail), 1);
  EXPECT_EQ(tail.host, 0x409e1c2bu);
  EXPECT_EQ(tail.uid, 0x4bbd4704ba800e01u);
  EXPECT_EQ(tail.release, (Release{0, 1, 0}));
}

TEST(Release, AnOlderPeerIsRefusedByName) {
  EXPECT_EQ(read(kAddressOf5).release, Release{});
  EXPECT_EQ(refusal(kAddressOf5),
            "this side is ucx-verity 0.1.0 (protocol version 7), the peer is older than 0.1.0 "
            "(protocol version 5): they cannot exchange messages; use one release on all hosts of "
            "the job (module load ucx-verity/0.1.0)");
  EXPECT_EQ(read(kAddressOf6).release, (Release{0, 1, 0}));
  EXPECT_NE(refusal(kAddressOf6).find("the peer is ucx-verity 0.1.0 (protocol version 6)"),
            std::string::npos);
}

TEST(Release, ANewerPeerIsRefusedByName) {
  EXPECT_EQ(refusal(kAddressOf8, {1, 2, 3}),
            "this side is ucx-verity 1.2.3 (protocol version 7), the peer is ucx-verity 1.12.3 "
            "(protocol version 8): they cannot exchange messages; use one release on all hosts of "
            "the job (module load ucx-verity/1.2.3, or ucx-verity/1.12.3)");
}

TEST(Release, TheLongestRefusalFits) {
  Bytes longest(kAddressOf8);
  longest[2] = 255;
  for (size_t at = 16; at < 19; ++at) longest[at] = 255;
  EXPECT_NE(refusal(longest, {255, 255, 255}).find("or ucx-verity/255.255.255)"),
            std::string::npos);
}

TEST(Release, AForeignAddressIsReadNoFurther) {
  Bytes foreign(kAddressOf5);
  foreign[0] ^= 1;
  foreign[2] = 9;
  EXPECT_EQ(read(foreign).release, Release{});
}

// Recorded: the first frame of a link, "Hi" and a HELLO, by these versions.
constexpr uint64_t kSource = 0x4bbd4704ba800e01;
constexpr uint64_t kTarget = 0x661399dcc04e3902;
const Bytes kHelloOf5 = {
    0x93, 0x08, 0x00, 0x42, 0xa6, 0xbb, 0xab, 0xad, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0xb1, 0x02, 0x0d, 0x53,
    0x48, 0x69, 0x01, 0x0e, 0x80, 0xba, 0x04, 0x47, 0xbd, 0x4b, 0x01, 0x00, 0x00, 0x00, 0x03, 0x00,
    0x00, 0x01, 0x02, 0x00, 0x04, 0x02, 0x01, 0x00, 0x00, 0x00, 0x6e, 0x6f, 0x64, 0x65, 0x31, 0x37,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x0a, 0x00, 0x00, 0x11, 0xad, 0xde, 0xef, 0xdc, 0x8c, 0x94, 0x53, 0xd1, 0x8b, 0xf9};
const Bytes kHelloOf6 = {
    0x06, 0x90, 0x16, 0x8f, 0x10, 0xa1, 0x27, 0x8e, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0xb1, 0x02, 0x0d, 0x63,
    0x48, 0x69, 0x01, 0x0e, 0x80, 0xba, 0x04, 0x47, 0xbd, 0x4b, 0x01, 0x00, 0x00, 0x00, 0x03, 0x00,
    0x00, 0x01, 0x02, 0x00, 0x04, 0x02, 0x01, 0x00, 0x00, 0x00, 0x6e, 0x6f, 0x64, 0x65, 0x31, 0x37,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x0a, 0x00, 0x00, 0x11, 0xad, 0xde, 0xef, 0xdc, 0x8c, 0x94, 0x53, 0xd1, 0x8b, 0xf9};
const Bytes kHelloOf7 = {
    0x05, 0x91, 0x29, 0xaf, 0x50, 0x50, 0xce, 0x6e, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0xb1, 0x02, 0x0d, 0x73,
    0x48, 0x69, 0x01, 0x0e, 0x80, 0xba, 0x04, 0x47, 0xbd, 0x4b, 0x01, 0x00, 0x00, 0x00, 0x03, 0x00,
    0x00, 0x01, 0x02, 0x00, 0x04, 0x02, 0x01, 0x00, 0x00, 0x00, 0x6e, 0x6f, 0x64, 0x65, 0x31, 0x37,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x0a, 0x00, 0x00, 0x11, 0xad, 0xde, 0xef, 0xdc, 0x8c, 0x94, 0x53, 0xd1, 0x8b, 0xf9};

Verdict verdict(const Bytes& bytes, FrameView* view) {
  const Verdict structure = parse(bytes.data(), bytes.size(), view);
  if (structure != Verdict::kGood) return structure;
  return check(bytes.data(), bytes.size(), *view, nonce(kSource, kTarget, Class::kSync));
}

TEST(Release, AHelloOfThisVersionIsUnderstood) {
  FrameView view;
  ASSERT_EQ(verdict(kHelloOf7, &view), Verdict::kGood);
  EXPECT_EQ(view.header.link, kLinkUnknown);
  EXPECT_EQ(view.header.upper_am_id(), 13);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(view.payload), view.header.length), "Hi");
  const HelloView hello = read_hello(view);
  EXPECT_EQ(hello.ext.uid, kSource);
  EXPECT_EQ(hello.ext.epoch, 1u);
  EXPECT_EQ(hello.ext.link, 0x01000003u);
  EXPECT_EQ(hello.ext.mode, 2);
  EXPECT_EQ(hello.ext.trailers, 1);
  EXPECT_STREQ(hello.ext.host, "node17");
  EXPECT_EQ(Bytes(hello.device_address, hello.device_address + 4), (Bytes{10, 0, 0, 17}));
  EXPECT_EQ(Bytes(hello.iface_address, hello.iface_address + 2), (Bytes{0xad, 0xde}));
}

// Their senders were refused by their addresses; if one sends all the same, nothing of it is used.
TEST(Release, AHelloOfAnotherVersionIsDropped) {
  FrameView view;
  EXPECT_EQ(verdict(kHelloOf5, &view), Verdict::kMalformed);
  EXPECT_EQ(verdict(kHelloOf6, &view), Verdict::kMalformed);
  Bytes newer(kHelloOf7);
  FrameHeader header;
  std::memcpy(&header, newer.data(), sizeof(header));
  header.segment = static_cast<uint8_t>(8u << 4 | (header.segment & 0x0f));
  std::memcpy(newer.data(), &header, sizeof(header));
  seal_single(reinterpret_cast<FrameHeader*>(newer.data()), newer.size(),
              nonce(kSource, kTarget, Class::kSync));
  EXPECT_EQ(verdict(newer, &view), Verdict::kMalformed);
}

// A later release of this version may understand trailers that this one does not.
TEST(Release, AHelloWithNewerTrailersIsUnderstood) {
  Bytes later(kHelloOf7);
  const uint64_t key = nonce(kSource, kTarget, Class::kSync);
  const size_t hello = sizeof(FrameHeader) + 2;
  later[hello + offsetof(HelloExt, trailers)] = 15;
  seal_hello(later.data() + hello, later.size() - hello, key);
  seal_single(reinterpret_cast<FrameHeader*>(later.data()), later.size(), key);
  FrameView view;
  EXPECT_EQ(verdict(later, &view), Verdict::kGood);
}

}  // namespace
}  // namespace verity::wire
