// SPDX-License-Identifier: BSD-3-Clause
#include "blame/trust.h"

#include <gtest/gtest.h>

#include "health/paths.h"

namespace verity::blame {
namespace {

using health::FaultsByPath;

constexpr std::uint32_t kAlice = 1001, kBob = 1002, kCarol = 1003, kSubordinate = 100000;

Trust site() {
  return {.users = {0}, .account = [](std::uint32_t user) {
            return user == kAlice   ? "alice"
                   : user == kBob   ? "bob"
                   : user == kCarol ? "carol"
                   : user == 0      ? "root"
                                    : "";
          }};
}

// What the files of `user` say: traffic with three hosts, and faults in what came from the first
// `troubled` of them.
FaultsByPath files_of(std::uint32_t user, unsigned troubled, std::uint64_t faults = 5,
                      std::uint64_t bytes = 1 << 20) {
  FaultsByPath paths;
  for (unsigned i = 0; i < 3; ++i) {
    const std::string host(1, static_cast<char>('b' + i));
    paths[{"vrc_verbs", "mlx5_0:1", host, false, user}] = {bytes, i < troubled ? faults : 0, 0, 0};
  }
  return paths;
}

Verdict verdict(const std::vector<FaultsByPath>& files, const Trust& who = site()) {
  FaultsByPath all;
  for (const auto& paths : files) all.insert(paths.begin(), paths.end());
  return verdict_of(all, {}, who);
}

TEST(Trust, OneUsersWordIsAWarningThatNamesTheUser) {
  const Verdict alone = verdict({files_of(kAlice, 3, 1000000), files_of(kBob, 0)});
  EXPECT_EQ(alone.level, Level::kWarning);
  EXPECT_EQ(alone.users, std::vector<std::uint32_t>{kAlice});
  EXPECT_NE(alone.text.find("only files of user 1001 (alice) show it"), std::string::npos)
      << alone.text;
}

TEST(Trust, RootsWordIsEnough) {
  EXPECT_EQ(verdict({files_of(0, 2), files_of(kAlice, 0)}).level, Level::kCritical);
  Trust who = site();
  who.users.insert(kAlice);
  EXPECT_EQ(verdict({files_of(kAlice, 2)}, who).level, Level::kCritical)
      << "a user that the site trusts";
  who = site();
  who.everyone = true;
  EXPECT_EQ(verdict({files_of(kAlice, 2)}, who).level, Level::kCritical);
}

TEST(Trust, TwoUsersAreEnough) {
  EXPECT_EQ(verdict({files_of(kAlice, 2), files_of(kBob, 3)}).level, Level::kCritical);
  // One of them adds a thousand hosts that are well, for the share of those with faults to fall.
  FaultsByPath diluted = files_of(kCarol, 0);
  for (int i = 0; i < 1000; ++i)
    diluted[{"vrc_verbs", "mlx5_0:1", "x" + std::to_string(i), false, kCarol}] = {1, 0, 0, 0};
  EXPECT_EQ(verdict({files_of(kAlice, 2), files_of(kBob, 3), diluted}).level, Level::kCritical);
  EXPECT_EQ(verdict({files_of(0, 2), diluted}).level, Level::kCritical);
}

TEST(Trust, SomeFaultsOfManyUsersAddUp) {
  // Each saw one host's faults alone.
  std::vector<FaultsByPath> files;
  for (const std::uint32_t user : {kAlice, kBob, kCarol}) {
    auto paths = files_of(user, 0);
    std::next(paths.begin(), user - kAlice)->second.in = 4;
    files.push_back(paths);
  }
  EXPECT_EQ(verdict(files).level, Level::kCritical);
  files.pop_back();
  EXPECT_EQ(verdict(files).level, Level::kWarning) << "without either of the two it is one host's";
}

TEST(Trust, AnothersSmallTroubleIsNoSecondWord) {
  // A bad peer of bob's, and alice, who makes up the rest.
  EXPECT_EQ(verdict({files_of(kBob, 1), files_of(kAlice, 3, 1000)}).level, Level::kWarning);
}

TEST(Trust, NumbersWithoutAccountAreNobody) {
  EXPECT_EQ(verdict({files_of(kAlice, 3), files_of(kSubordinate, 3), files_of(kSubordinate + 1, 3)})
                .level,
            Level::kWarning);
  const Verdict nobody = verdict({files_of(kSubordinate, 3), files_of(kSubordinate + 1, 3)});
  EXPECT_EQ(nobody.level, Level::kWarning);
  EXPECT_NE(nobody.text.find("user 100000 (no account)"), std::string::npos) << nobody.text;
}

TEST(Trust, WarningsStayAsTheyAre) {
  EXPECT_EQ(verdict({files_of(kAlice, 1)}).text,
            "5 faults (5 in, 0 out): host b, or the link to it");
  EXPECT_TRUE(verdict({files_of(kAlice, 1)}).users.empty());
  EXPECT_EQ(verdict({files_of(kAlice, 0)}).level, Level::kOk);
}

}  // namespace
}  // namespace verity::blame
