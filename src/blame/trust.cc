// SPDX-License-Identifier: BSD-3-Clause
#include "blame/trust.h"

#include <map>

#include "health/text.h"

namespace verity::blame {
namespace {

using Paths = std::vector<PathTrouble>;

struct Court {
  const Paths& paths;
  std::string_view own;
  const Thresholds& thresholds;
  const Witnesses& witnesses;
  std::set<std::uint32_t> ordinary{};  // users with faults and an account
  std::set<std::uint32_t> unknown{};   // with faults and without one

  [[nodiscard]] bool trusts(std::uint32_t user) const { return witnesses.all_trusted || witnesses.trusted.contains(user); }

  // What those paths say that `wanted` picks by their user.
  template <typename Wanted>
  [[nodiscard]] Verdict verdict(const Wanted& wanted) const {
    Paths some;
    for (const PathTrouble& path : paths) {
      if (wanted(path.user)) some.push_back(path);
    }
    return judge(some, own, thresholds);
  }
  template <typename Wanted>
  [[nodiscard]] bool critical(const Wanted& wanted) const {
    return verdict(wanted).level == Level::kCritical;
  }
};

void find_users(Court& court) {
  for (const PathTrouble& path : court.paths) {
    if (court.trusts(path.user) || path.faults_in + path.faults_out + path.faults_memory == 0) continue;
    if (court.ordinary.contains(path.user) || court.unknown.contains(path.user)) continue;
    (court.witnesses.account(path.user).empty() ? court.unknown : court.ordinary).insert(path.user);
  }
}

// Those whose files are enough by themselves: the trusted ones together, or two ordinary users or more. Else empty.
std::set<std::uint32_t> sure_users(const Court& court) {
  std::set<std::uint32_t> sure;
  if (court.critical([&](std::uint32_t user) { return court.trusts(user); })) {
    for (const PathTrouble& path : court.paths) {
      if (court.trusts(path.user)) sure.insert(path.user);
    }
    return sure;
  }
  for (const std::uint32_t user : court.ordinary) {
    if (court.critical([&](std::uint32_t other) { return other == user; })) sure.insert(user);
  }
  return sure.size() >= 2 ? sure : std::set<std::uint32_t>();
}

// Those without whose files the verdict would not be critical. Empty: it would be.
std::set<std::uint32_t> deciding_users(const Court& court) {
  if (court.ordinary.empty()) return court.unknown;
  std::set<std::uint32_t> deciding;
  for (const std::uint32_t user : court.ordinary) {
    const auto others = [&](std::uint32_t other) { return other != user && !court.unknown.contains(other); };
    if (!court.critical(others)) deciding.insert(user);
  }
  return deciding;
}

}  // namespace

std::string user_text(std::uint32_t user, const Witnesses& witnesses) {
  const std::string name = witnesses.account ? witnesses.account(user) : std::string();
  return "user " + std::to_string(user) + (name.empty() ? " (no account)" : " (" + name + ")");
}

Verdict judge_witnesses(const std::vector<PathTrouble>& paths, std::string_view own, const Thresholds& thresholds,
                        const Witnesses& witnesses) {
  Verdict verdict = judge(paths, own, thresholds);
  if (verdict.sums.faults() == 0 || witnesses.all_trusted) return verdict;
  Court court{paths, own, thresholds, witnesses};
  find_users(court);
  if (const std::set<std::uint32_t> sure = sure_users(court); !sure.empty()) {
    // Another user's files may make it look less: a thousand hosts without faults.
    return verdict.level == Level::kCritical ? verdict : court.verdict([&](std::uint32_t user) { return sure.contains(user); });
  }
  if (verdict.level != Level::kCritical) return verdict;
  const std::set<std::uint32_t> deciding = deciding_users(court);
  if (deciding.empty()) return verdict;
  std::vector<std::string> names;
  for (const std::uint32_t user : deciding) {
    names.push_back(user_text(user, witnesses));
    verdict.users.push_back(user);
  }
  verdict.level = Level::kWarning;
  verdict.text += "; only files of " + health::name_list(names, 40) + " show it, so it is no more than a warning (check --trust)";
  return verdict;
}

}  // namespace verity::blame
