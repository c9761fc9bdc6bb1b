// SPDX-License-Identifier: BSD-3-Clause
//
// A verdict on this host from the files of several users, none of whom can have it drained.
//
// Counters in an ordinary user's file are that user's word. So the verdict is critical only
//   - by files of users whom the reader trusts: root, the reader, and those that the site names, or
//   - when files of two ordinary users say so, each by themselves, or
//   - when it stays critical without the files of any single ordinary user.
// Otherwise it is a warning that names the user whose word it is. A user without an account is no second user: with user namespaces
// one person may have thousands of user numbers.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "blame/verdict.h"

namespace verity::blame {

struct Witnesses {
  std::set<std::uint32_t> trusted{};
  bool all_trusted = false;
  // The account's name; empty: there is none.
  std::function<std::string(std::uint32_t)> account{};
};

// "user 1001 (alice)"
[[nodiscard]] std::string user_text(std::uint32_t user, const Witnesses& witnesses);

// As judge(), of paths with their users.
[[nodiscard]] Verdict judge_witnesses(const std::vector<PathTrouble>& paths, std::string_view own, const Thresholds& thresholds,
                                      const Witnesses& witnesses);

}  // namespace verity::blame
