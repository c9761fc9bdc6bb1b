// SPDX-License-Identifier: BSD-3-Clause
#include "rma/regions.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

namespace verity::test {
namespace {

using rma::Regions;
using wire::RmaStatus;

constexpr uint64_t kTop = ~uint64_t{0};

bool allowed(Regions& regions, uint64_t token, uint64_t address, uint64_t length,
             rma::Access access = rma::kRead) {
  unsigned uses = 0;
  Regions::User user(regions);
  const RmaStatus status = user.with(token, address, length, access, [&] {
    ++uses;
    return RmaStatus::kOk;
  });
  EXPECT_EQ(uses, status == RmaStatus::kOk ? 1u : 0u);
  EXPECT_TRUE(status == RmaStatus::kOk || status == RmaStatus::kRefused);
  return status == RmaStatus::kOk;
}

TEST(RmaRegions, OnlyTheBytesOfTheTokensOwnRegistration) {
  Regions regions;
  const uint64_t token = regions.add(1000, 100, rma::kRead | rma::kWrite);
  const uint64_t neighbour = regions.add(1100, 100, rma::kRead | rma::kWrite);
  EXPECT_TRUE(allowed(regions, token, 1000, 100));
  EXPECT_TRUE(allowed(regions, token, 1000, 1));
  EXPECT_TRUE(allowed(regions, token, 1099, 1));
  EXPECT_FALSE(allowed(regions, token, 999, 1));
  EXPECT_FALSE(allowed(regions, token, 999, 101));
  EXPECT_FALSE(allowed(regions, token, 1000, 101));
  EXPECT_FALSE(allowed(regions, token, 1001, 100));
  EXPECT_FALSE(allowed(regions, token, 1099, 2));
  EXPECT_FALSE(allowed(regions, token, 1100, 1));
  EXPECT_TRUE(allowed(regions, neighbour, 1100, 1));
  EXPECT_FALSE(allowed(regions, neighbour, 1099, 1));
}

TEST(RmaRegions, RevokedTokensAreKnownAgain) {
  Regions regions;
  Regions others;
  std::vector<uint64_t> tokens;
  for (unsigned i = 0; i < 1000; ++i) tokens.push_back(regions.add(1000, 100, rma::kWrite));
  for (const uint64_t token : tokens) EXPECT_FALSE(regions.was_revoked(token));
  for (size_t i = 0; i < tokens.size(); i += 2) regions.revoke(tokens[i]);
  for (size_t i = 0; i < tokens.size(); ++i) {
    EXPECT_EQ(regions.was_revoked(tokens[i]), i % 2 == 0);
    EXPECT_FALSE(others.was_revoked(tokens[i]));
    for (unsigned bit = 0; bit < 64; ++bit)
      EXPECT_FALSE(regions.was_revoked(tokens[i] ^ uint64_t{1} << bit));
  }
  EXPECT_FALSE(regions.was_revoked(0));
  EXPECT_FALSE(regions.was_revoked(~uint64_t{0}));
}

TEST(RmaRegions, NoSumOfAddressAndLengthOverflows) {
  Regions regions;
  const uint64_t token = regions.add(1000, 100, rma::kRead);
  for (const uint64_t address : {uint64_t{0}, uint64_t{1000}, uint64_t{1050}, kTop - 10, kTop}) {
    for (const uint64_t length :
         {kTop, kTop - 999, kTop - 1000 + 1, kTop - 1050 + 2, uint64_t{1} << 63}) {
      EXPECT_FALSE(allowed(regions, token, address, length)) << address << " " << length;
    }
  }
  const uint64_t last = regions.add(kTop - 99, 100, rma::kRead);  // ends where the addresses do
  EXPECT_TRUE(allowed(regions, last, kTop - 99, 100));
  EXPECT_TRUE(allowed(regions, last, kTop, 1));
  EXPECT_FALSE(allowed(regions, last, kTop, 2));
  EXPECT_FALSE(allowed(regions, last, 0, 1));
}

TEST(RmaRegions, ZeroBytesAreInsideOrAtTheEdge) {
  Regions regions;
  const uint64_t token = regions.add(1000, 100, rma::kRead);
  EXPECT_TRUE(allowed(regions, token, 1000, 0));
  EXPECT_TRUE(allowed(regions, token, 1100, 0));
  EXPECT_FALSE(allowed(regions, token, 999, 0));
  EXPECT_FALSE(allowed(regions, token, 1101, 0));
  const uint64_t empty = regions.add(0, 0, rma::kRead);
  EXPECT_TRUE(allowed(regions, empty, 0, 0));
  EXPECT_FALSE(allowed(regions, empty, 0, 1));
}

TEST(RmaRegions, OnlyTheAccessThatWasGiven) {
  Regions regions;
  const uint64_t in = regions.add(1000, 100, rma::kWrite);
  const uint64_t out = regions.add(1000, 100, rma::kRead);
  const uint64_t none = regions.add(1000, 100, 0);
  EXPECT_TRUE(allowed(regions, in, 1000, 1, rma::kWrite));
  EXPECT_FALSE(allowed(regions, in, 1000, 1, rma::kRead));
  EXPECT_TRUE(allowed(regions, out, 1000, 1, rma::kRead));
  EXPECT_FALSE(allowed(regions, out, 1000, 1, rma::kWrite));
  EXPECT_FALSE(allowed(regions, none, 1000, 1, rma::kRead));
  EXPECT_FALSE(allowed(regions, none, 1000, 1, rma::kWrite));
}

TEST(RmaRegions, TokensAreDifferentAndEndOneByOne) {
  Regions regions;
  EXPECT_FALSE(allowed(regions, 0, 0, 0));
  std::set<uint64_t> tokens;
  for (unsigned i = 0; i < 1000; ++i) tokens.insert(regions.add(1000, 100, rma::kRead));
  EXPECT_EQ(tokens.size(), 1000u);
  EXPECT_EQ(tokens.count(0), 0u);
  const uint64_t token = *tokens.begin();
  EXPECT_FALSE(allowed(regions, token ^ 1, 1000, 1));
  regions.revoke(token ^ 1);
  regions.revoke(0);
  EXPECT_TRUE(allowed(regions, token, 1000, 1));
  regions.revoke(token);
  regions.revoke(token);
  EXPECT_FALSE(allowed(regions, token, 1000, 1));
  EXPECT_FALSE(allowed(regions, token, 1000, 0));
  EXPECT_TRUE(allowed(regions, *std::next(tokens.begin()), 1000, 1));
  // Two objects, as of two processes, give out different ones.
  EXPECT_NE(Regions().add(1000, 100, rma::kRead), Regions().add(1000, 100, rma::kRead));
}

TEST(RmaRegions, RevokeWaitsForThoseWhoUseTheMemory) {
  Regions regions;
  const uint64_t token = regions.add(1000, 100, rma::kRead);
  std::atomic<bool> inside{false};
  std::atomic<bool> leave{false};
  std::atomic<bool> left{false};
  std::thread user([&] {
    (void)Regions::User(regions).with(token, 1000, 1, rma::kRead, [&] {
      inside = true;
      while (!leave) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      left = true;
      return RmaStatus::kOk;
    });
  });
  while (!inside) std::this_thread::yield();
  std::atomic<bool> revoked{false};
  std::thread revoker([&] {
    regions.revoke(token);
    EXPECT_TRUE(left);
    revoked = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(revoked);
  leave = true;
  user.join();
  revoker.join();
  EXPECT_FALSE(allowed(regions, token, 1000, 1));
}

TEST(RmaRegions, UsersDoNotWaitForEachOther) {
  Regions regions;
  const uint64_t token = regions.add(1000, 100, rma::kRead);
  std::atomic<unsigned> inside{0};
  const auto use = [&] {
    (void)Regions::User(regions).with(token, 1000, 1, rma::kRead, [&] {
      ++inside;
      while (inside != 2) std::this_thread::yield();
      return RmaStatus::kOk;
    });
  };
  std::thread other(use);
  use();
  other.join();
}

TEST(RmaRegions, AUserKnowsWhatWasRevokedSinceItsLastUse) {
  Regions regions;
  Regions::User user(regions);
  const auto may_read = [&](uint64_t token, uint64_t address) {
    return user.with(token, address, 1, rma::kRead, [] { return RmaStatus::kOk; }) ==
           RmaStatus::kOk;
  };
  std::vector<uint64_t> tokens;  // more than a User keeps
  for (uint64_t i = 0; i < 100; ++i) tokens.push_back(regions.add(1000 * i, 100, rma::kRead));
  for (unsigned turn = 0; turn < 2; ++turn) {
    for (uint64_t i = 0; i < tokens.size(); ++i) {
      EXPECT_TRUE(may_read(tokens[i], 1000 * i));
      EXPECT_TRUE(may_read(tokens[i], 1000 * i + 99));
      EXPECT_FALSE(may_read(tokens[i], 1000 * i + 100));
    }
  }
  for (uint64_t i = 0; i < tokens.size(); ++i) {
    EXPECT_TRUE(may_read(tokens[i], 1000 * i));
    regions.revoke(tokens[i]);
    EXPECT_FALSE(may_read(tokens[i], 1000 * i));
    const uint64_t next = (i + 1) % tokens.size();
    EXPECT_EQ(may_read(tokens[next], 1000 * next), next != 0);
  }
  EXPECT_FALSE(may_read(0, 0));
}

// The memory may be freed once revoke() has returned: no reader has it any more.
TEST(RmaRegions, NoReaderHasMemoryThatWasRevoked) {
  constexpr unsigned kRounds = 2000;
  Regions regions;
  std::atomic<uint64_t> token{0};
  std::atomic<bool> mine{true};  // the memory is registered
  std::atomic<bool> over{false};
  std::atomic<unsigned> uses{0};
  std::vector<std::thread> users;
  for (unsigned i = 0; i < 3; ++i) {
    users.emplace_back([&] {
      Regions::User user(regions);
      while (!over) {
        const RmaStatus status = user.with(token, 1000, 1, rma::kRead, [&] {
          for (unsigned n = 0; n < 50; ++n) EXPECT_TRUE(mine);
          return RmaStatus::kOk;
        });
        if (status == RmaStatus::kOk) ++uses;
        std::this_thread::yield();
      }
    });
  }
  for (unsigned round = 0; round < kRounds; ++round) {
    mine = true;
    token = regions.add(1000, 100, rma::kRead);
    const unsigned before = uses;
    while (round % 16 == 0 && uses == before) std::this_thread::yield();
    regions.revoke(token);
    mine = false;
  }
  over = true;
  for (std::thread& user : users) user.join();
}

}  // namespace
}  // namespace verity::test
