// SPDX-License-Identifier: BSD-3-Clause
#include "blame/trust.h"

#include <vector>

#include "health/text.h"

namespace verity::blame {
namespace {

using Users = std::set<std::uint32_t>;

// The files of all users, and verdicts from those of some.
struct Files {
  const health::FaultsByPath& paths;
  const Thresholds& thresholds;
  const Trust& trust;
  Users ordinary{};  // users with faults and an account, who are not trusted
  Users unknown{};   // with faults and without an account

  [[nodiscard]] bool trusts(std::uint32_t user) const {
    return trust.everyone || trust.users.contains(user);
  }

  void find_users() {
    for (const auto& [path, faults] : paths) {
      if (trusts(path.user) || faults.faults() == 0) continue;
      if (ordinary.contains(path.user) || unknown.contains(path.user)) continue;
      (trust.account(path.user).empty() ? unknown : ordinary).insert(path.user);
    }
  }
  [[nodiscard]] Verdict verdict(const UserFilter& wanted) const {
    return verdict_of(evidence_of(paths, wanted), thresholds);
  }
  [[nodiscard]] bool critical(const UserFilter& wanted) const {
    return verdict(wanted).level == Level::kCritical;
  }
};

// Those whose files are enough by themselves: the trusted ones together, or two ordinary users or
// more. Else empty.
Users sufficient_users(const Files& files) {
  Users users;
  if (files.critical([&](std::uint32_t user) { return files.trusts(user); })) {
    for (const auto& [path, faults] : files.paths) {
      if (files.trusts(path.user)) users.insert(path.user);
    }
    return users;
  }
  for (const std::uint32_t user : files.ordinary) {
    if (files.critical([&](std::uint32_t other) { return other == user; })) users.insert(user);
  }
  return users.size() >= 2 ? users : Users();
}

// Those without whose files the verdict would not be critical. Empty: it would be.
Users necessary_users(const Files& files) {
  if (files.ordinary.empty()) return files.unknown;
  Users users;
  for (const std::uint32_t user : files.ordinary) {
    const auto others = [&](std::uint32_t other) {
      return other != user && !files.unknown.contains(other);
    };
    if (!files.critical(others)) users.insert(user);
  }
  return users;
}

}  // namespace

std::string Trust::text(std::uint32_t user) const {
  const std::string name = account ? account(user) : std::string();
  return "user " + std::to_string(user) + (name.empty() ? " (no account)" : " (" + name + ")");
}

Verdict verdict_of(const health::FaultsByPath& paths, const Thresholds& thresholds,
                   const Trust& trust) {
  Verdict verdict = verdict_of(evidence_of(paths), thresholds);
  if (verdict.sums.faults() == 0 || trust.everyone) return verdict;
  Files files{paths, thresholds, trust};
  files.find_users();
  if (const Users users = sufficient_users(files); !users.empty()) {
    // Another user's files may make it look less: a thousand hosts without faults.
    return verdict.level == Level::kCritical
               ? verdict
               : files.verdict([&](std::uint32_t user) { return users.contains(user); });
  }
  if (verdict.level != Level::kCritical) return verdict;
  const Users users = necessary_users(files);
  if (users.empty()) return verdict;
  std::vector<std::string> names;
  for (const std::uint32_t user : users) names.push_back(trust.text(user));
  verdict.users.assign(users.begin(), users.end());
  verdict.level = Level::kWarning;
  verdict.text += "; only files of " + health::name_list(names, 40) +
                  " show it, so it is no more than a warning (check --trust)";
  return verdict;
}

}  // namespace verity::blame
