// SPDX-License-Identifier: BSD-3-Clause
//
// A verdict on this host from the files of several users, none of whom can have it drained.
//
// Counters in an ordinary user's file are what that user says. So the verdict is critical only
//   - by files of users whom the reader trusts: root, the reader, and those that the site names, or
//   - when files of two ordinary users show it, each by themselves, or
//   - when it stays critical without the files of any single ordinary user.
// Otherwise it is a warning that names the user whose files show it. A user without an account is
// no second user: with user namespaces one person may have thousands of user numbers.
#ifndef VERITY_BLAME_TRUST_H
#define VERITY_BLAME_TRUST_H

#include <cstdint>
#include <functional>
#include <set>
#include <string>

#include "blame/verdict.h"

namespace verity::blame {

struct Trust {
  std::set<std::uint32_t> users{};
  bool everyone = false;
  // The account's name; empty: there is none.
  std::function<std::string(std::uint32_t)> account{};

  // "user 1001 (alice)"
  [[nodiscard]] std::string text(std::uint32_t user) const;
};

// The verdict from the counters in users' files.
[[nodiscard]] Verdict verdict_of(const health::FaultsByPath& paths, const Thresholds& thresholds,
                                 const Trust& trust);

}  // namespace verity::blame

#endif
