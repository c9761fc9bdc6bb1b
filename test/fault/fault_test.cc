// SPDX-License-Identifier: BSD-3-Clause
//
// The pure part of the corrupting transport: a fault injector that miscounts proves nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "fault/injector.h"

namespace verity::fault {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr FrameInfo kTx{Op::kAm, Side::kTx, 3};

Bytes some_bytes(size_t length) {
  Bytes bytes(length);
  std::iota(bytes.begin(), bytes.end(), uint8_t{1});
  return bytes;
}

size_t bits_that_differ(const Bytes& a, const Bytes& b) {
  size_t bits = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    bits += static_cast<size_t>(std::popcount(static_cast<uint8_t>(a[i] ^ b[i])));
  }
  return bits;
}

TEST(FaultDamage, FlipChangesExactlyTheBitsItCounts) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Settings settings;
    settings.bits = 1 + seed % 9;
    Random random(seed);
    const Bytes original = some_bytes(1 + seed % 100);
    Bytes frame = original;
    const Damage done = damage(settings, Kind::kFlip, frame, random);
    EXPECT_EQ(done.bits, std::min(settings.bits, original.size() * 8));
    EXPECT_EQ(bits_that_differ(original, frame), done.bits) << "seed " << seed;
    EXPECT_EQ(done.new_length, original.size());
  }
}

TEST(FaultDamage, ExactBit) {
  Settings settings;
  settings.bit = 8 * 5 + 6;
  Random random(1);
  Bytes frame(10, 0);
  const Damage done = damage(settings, Kind::kFlip, frame, random);
  EXPECT_EQ(done.offset, 5U);
  EXPECT_EQ(frame[5], 0x40);
  EXPECT_EQ(bits_that_differ(frame, Bytes(10, 0)), 1U);
}

TEST(FaultDamage, StaysInItsPlace) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    for (const Kind kind : {Kind::kFlip, Kind::kZeroLine, Kind::kTruncate}) {
      for (const Place place : {Place::kHeader, Place::kPayload}) {
        Settings settings;
        settings.place = place;
        settings.header_size = 24;
        Random random(seed);
        Bytes frame = some_bytes(200);
        const Damage done = damage(settings, kind, frame, random);
        ASSERT_TRUE(done.any());
        EXPECT_EQ(done.offset < 24, place == Place::kHeader);
      }
    }
  }
}

TEST(FaultDamage, ZeroingZerosIsNoDamage) {
  Settings settings;
  Random random(1);
  Bytes zeros(300, 0);
  EXPECT_FALSE(damage(settings, Kind::kZeroLine, zeros, random).any());
  zeros[130] = 1;
  const Damage done = damage(settings, Kind::kZeroLine, zeros, random);
  EXPECT_EQ(done.offset, 130U);
  EXPECT_EQ(done.bits, 1U);
}

TEST(FaultDamage, BurstCountsItsBits) {
  Settings settings;
  settings.burst = 7;
  Random random(4);
  const Bytes original = some_bytes(100);
  Bytes frame = original;
  const Damage done = damage(settings, Kind::kBurst, frame, random);
  EXPECT_EQ(done.bytes, 7U);
  EXPECT_EQ(bits_that_differ(original, frame), done.bits);
}

TEST(FaultDamage, TruncateIsShorter) {
  Settings settings;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    Random random(seed);
    Bytes frame = some_bytes(50);
    EXPECT_LT(damage(settings, Kind::kTruncate, frame, random).new_length, 50U);
  }
}

TEST(FaultSettings, Ranges) {
  Ranges ranges;
  std::string error;
  ASSERT_TRUE(parse_ranges("1,5,10-20", &ranges, &error));
  EXPECT_TRUE(contains(ranges, 15));
  EXPECT_FALSE(contains(ranges, 6));
  for (const char* bad : {"x", "1-", "-1", "5-1", "1,,2", "1 2"}) {
    EXPECT_FALSE(parse_ranges(bad, &ranges, &error)) << bad;
    EXPECT_NE(error.find("write for example"), std::string::npos);
  }
}

TEST(FaultSettings, Match) {
  std::vector<Pattern> match;
  std::string error;
  ASSERT_TRUE(parse_match("2:ff:03,0:f0ff:5009", &match, &error));
  EXPECT_EQ(match[1].mask, (Bytes{0xf0, 0xff}));
  for (const char* bad : {"2", "2:ff", "2:f:0", "2:ff:0304", "x:ff:03", "2:gg:00", "2::"}) {
    EXPECT_FALSE(parse_match(bad, &match, &error)) << bad;
  }
}

TEST(FaultSettings, OnlyOneSelector) {
  Settings settings;
  settings.rate = 0.5;
  std::string error;
  EXPECT_TRUE(check(settings, &error));
  settings.every = 3;
  EXPECT_FALSE(check(settings, &error));
  EXPECT_NE(error.find("UCX_FAULT_EVERY"), std::string::npos);
}

std::vector<uint64_t> hits(Injector& injector, const Bytes& frame, int frames) {
  std::vector<uint64_t> numbers;
  for (int i = 0; i < frames; ++i) {
    const Verdict verdict = injector.judge(kTx, frame, kAllKinds);
    if (verdict.hit) {
      numbers.push_back(verdict.number);
      injector.record(kTx, verdict, {.bytes = 1, .new_length = frame.size()}, frame.size());
    }
  }
  return numbers;
}

TEST(FaultInjector, EveryAfterLimit) {
  Settings settings;
  settings.every = 3;
  settings.after = 4;
  settings.limit = 2;
  Injector injector;
  injector.configure(settings);
  EXPECT_EQ(hits(injector, some_bytes(8), 30), (std::vector<uint64_t>{6, 9}));
}

TEST(FaultInjector, RateIsAboutRightAndRepeatable) {
  Settings settings;
  settings.rate = 0.01;
  Injector first;
  Injector second;
  first.configure(settings);
  second.configure(settings);
  const auto numbers = hits(first, some_bytes(8), 100000);
  EXPECT_NEAR(static_cast<double>(numbers.size()), 1000, 150);
  EXPECT_EQ(numbers, hits(second, some_bytes(8), 100000));
}

TEST(FaultInjector, FiltersDecideWhatIsCounted) {
  Settings settings;
  settings.by_number = true;
  settings.frames = {{1, 1}};
  settings.match = {{1, {0x0f}, {0x02}}};
  settings.min_len = 4;
  settings.am_ids = {{3, 3}};
  Injector injector;
  injector.configure(settings);
  EXPECT_TRUE(injector.watches(Op::kAm, Side::kTx));
  EXPECT_FALSE(injector.watches(Op::kAm, Side::kRx));
  const Bytes other{0, 3, 0, 0, 0};
  const Bytes tooshort{0, 2};
  const Bytes wanted{0, 0xf2, 0, 0, 0};
  EXPECT_EQ(injector.judge(kTx, other, kAllKinds).number, 0U);
  EXPECT_EQ(injector.judge(kTx, tooshort, kAllKinds).number, 0U);
  EXPECT_EQ(injector.judge({Op::kAm, Side::kTx, 4}, wanted, kAllKinds).number, 0U);
  EXPECT_TRUE(injector.judge(kTx, wanted, kAllKinds).hit);
}

TEST(FaultInjector, OnlyToPeersThatAreNamed) {
  Settings settings;
  settings.every = 1;
  settings.peers = {{1, 1}, {4, 6}};
  Injector injector;
  injector.configure(settings);
  const Bytes frame = some_bytes(8);
  EXPECT_FALSE(injector.judge(kTx, frame, kAllKinds).hit) << "its peer is unknown";
  for (const uint64_t peer : {0U, 2U, 3U, 7U}) {
    EXPECT_FALSE(injector.judge({Op::kAm, Side::kTx, 3, peer}, frame, kAllKinds).hit) << peer;
  }
  EXPECT_EQ(injector.judge({Op::kAm, Side::kTx, 3, 1}, frame, kAllKinds).number, 1U);
  EXPECT_EQ(injector.judge({Op::kAm, Side::kTx, 3, 5}, frame, kAllKinds).number, 2U);
  EXPECT_TRUE(injector.judge({Op::kGet, Side::kRx, -1, 4}, frame, kAllKinds).hit);
}

TEST(FaultSettings, ReceiversDoNotKnowTheirPeer) {
  Settings settings;
  settings.every = 1;
  settings.peers = {{1, 1}};
  std::string error;
  EXPECT_TRUE(check(settings, &error)) << error;
  settings.sides = 3;
  EXPECT_FALSE(check(settings, &error));
  EXPECT_NE(error.find("UCX_FAULT_PEERS"), std::string::npos);
}

TEST(FaultInjector, RetractedFrameIsJudgedAgain) {
  Settings settings;
  settings.by_number = true;
  settings.frames = {{2, 2}};
  Injector injector;
  injector.configure(settings);
  const Bytes frame = some_bytes(8);
  EXPECT_FALSE(injector.judge(kTx, frame, kAllKinds).hit);
  const Verdict full = injector.judge(kTx, frame, kAllKinds);
  EXPECT_TRUE(full.hit);
  injector.retract(full);
  const Verdict again = injector.judge(kTx, frame, kAllKinds);
  EXPECT_TRUE(again.hit);
  EXPECT_EQ(again.number, 2U);
}

TEST(FaultInjector, ReportSaysWhatWasDone) {
  Settings settings;
  settings.every = 1;
  Injector injector;
  injector.configure(settings);
  const Bytes frame = some_bytes(8);
  const Verdict verdict = injector.judge(kTx, frame, kAllKinds);
  injector.record(kTx, verdict, {.offset = 40, .bytes = 2, .bits = 3, .new_length = 8}, 8);
  injector.record(kTx, verdict, {}, 8);
  const std::string report = injector.report();
  EXPECT_NE(report.find("\"faults\":1,\"no_effect\":1,\"bytes\":2,\"bits\":3"), report.npos)
      << report;
  EXPECT_NE(report.find("\"flip\":1"), report.npos);
  EXPECT_NE(report.find("\"header\":0,\"payload\":1"), report.npos);
  EXPECT_EQ(report.back(), '\n');
}

}  // namespace
}  // namespace verity::fault
