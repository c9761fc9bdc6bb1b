// SPDX-License-Identifier: BSD-3-Clause
// Reads in virtual time (sim/read_time.h): whether bytes, digests and hashing overlap, and what the
// owner's threads bring.
#include "sim/read_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

namespace verity::test {
namespace {

using read_time::kIdlePoll;
using read_time::kLatency;
using rma::Client;

constexpr double kLink = 50;  // bytes per ns

struct Rates {
  double reader;  // bytes hashed in a ns
  double owner;
};

// ns until `reads` reads of `length` bytes altogether are over.
double time_of(uint64_t length, unsigned reads, uint64_t chunk, Rates rates) {
  const read_time::Outcome outcome =
      read_time::read_all({length, reads, chunk, kLink, rates.reader, rates.owner});
  EXPECT_FALSE(outcome.is_wrong);
  EXPECT_EQ(outcome.verified, length);
  EXPECT_EQ(outcome.owner_bytes, length) << "hashed more than once";
  return outcome.time;
}

class RmaTime : public ::testing::TestWithParam<std::tuple<Rates, uint64_t>> {};

// There is no time that only bytes or only a hash takes, but for one chunk.
TEST_P(RmaTime, BytesAndHashesOverlap) {
  constexpr uint64_t kLength = 64 << 20;
  const auto [rates, chunk] = GetParam();
  const double slower = std::min(rates.reader, rates.owner);
  const double link = kLength / kLink;
  const double hash = kLength / slower;
  // What the first chunk needs before it can be hashed, and the last one after it came.
  const auto bytes = static_cast<double>(chunk);
  double most = std::max(link, hash) + 2 * kLatency + bytes / kLink + bytes / slower;
  // A slice of hashing ends several small chunks, and the next ones are asked for together: those
  // under way may not last so long.
  if (chunk < Client::kSlice) most += static_cast<double>(kLength / Client::kSlice) * 2 * kLatency;
  for (const unsigned reads : {1u, 4u}) {
    const double time = time_of(kLength, reads, chunk, rates);
    EXPECT_GE(time, std::max(link, hash));
    EXPECT_LE(time, most) << "link " << link << " hash " << hash;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Rates, RmaTime,
    ::testing::Combine(::testing::Values(Rates{5, 5}, Rates{5, 200}, Rates{200, 5}, Rates{20, 50},
                                         Rates{50, 50}, Rates{60, 60}, Rates{200, 200}),
                       ::testing::Values(uint64_t{64} << 10, uint64_t{256} << 10,
                                         uint64_t{1} << 20)));

// A read of one chunk: its digest comes while its bytes do.
TEST(RmaTimeOfOne, ADigestCostsNoRoundTrip) {
  for (const uint64_t length : {uint64_t{8} << 10, uint64_t{64} << 10, uint64_t{256} << 10}) {
    const double bytes = static_cast<double>(length);
    const double time = time_of(length, 1, 256 << 10, {20, 50});
    EXPECT_LE(time, 2 * kLatency + bytes / kLink + bytes / 20 + 4 * kIdlePoll) << length;
  }
}

// GB/s over a link of `link` GB/s whose ends hash 30 GB/s a core.
double rate_over(double link, unsigned threads) {
  constexpr uint64_t kLength = 16 << 20;
  const read_time::Outcome outcome =
      read_time::read_all({kLength, 4, 256 << 10, link, 30, 30, threads});
  EXPECT_FALSE(outcome.is_wrong);
  EXPECT_EQ(outcome.verified, kLength);
  return kLength / outcome.time;
}

// One core follows up to its own rate; then it is the reader's that ends, whose hashing no thread
// takes.
TEST(RmaTimeOfThreads, AreNeededWhereTheLinkIsFasterThanACore) {
  EXPECT_GT(rate_over(12.5, 0), 0.95 * 12.5);
  EXPECT_GT(rate_over(25, 0), 0.93 * 25);
  EXPECT_LT(rate_over(50, 0), 30);
  EXPECT_GT(rate_over(50, 2), 0.93 * 30);
  EXPECT_LE(rate_over(50, 4), 30);
}

}  // namespace
}  // namespace verity::test
