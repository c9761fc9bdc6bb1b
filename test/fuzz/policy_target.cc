// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "fuzz/targets.h"
#include "policy/policy.h"

namespace verity::fuzz {

void policy_target(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  policy::Policy policy = policy::parse(text, "f");
  require(policy.errors.empty() || (policy.entries.empty() && policy.limits.empty()),
          "a file with an error is not used");
  require(policy.errors.size() <= 1, "the first error is the only one");
  const auto plain = [](const std::string& words) {
    return std::all_of(words.begin(), words.end(), [](char c) { return c >= 0x20 || c < 0; });
  };
  for (const std::string& error : policy.errors)
    require(error.starts_with("f:") && plain(error), "an error has its place, in plain words");
  for (const policy::Entry& entry : policy.entries) {
    require(policy.find(entry.name) == &entry, "a variable has one line");
    require(policy::may_set(entry.name) && entry.line != 0, "it may be set, by a line");
    require(plain(entry.value) && entry.value.size() <= policy::kMostValue, "values are bounded");
    require(plain(policy::refusal(entry, text)), "what a user set is quoted in plain words");
  }
  for (const policy::Limit& limit : policy.limits) {
    require(policy.find_limit(limit.name) == &limit, "a variable has one limit");
    require(limit.line != 0 && plain(limit.range()), "by a line, in plain words");
    require(!limit.low.empty() || !limit.high.empty(), "on one side at least");
    for (const std::string* bound : {&limit.low, &limit.high})
      require(bound->empty() || policy::bound_for(limit, *bound) == nullptr, "bounds are within");
    const std::string* bound = policy::bound_for(limit, text);
    require(bound == nullptr || policy::bound_for(limit, *bound) == nullptr, "a bound is allowed");
    const policy::Entry* value = policy.find(limit.name);
    require(value == nullptr || !value->locked, "what is locked has none");
    require(value == nullptr || policy::bound_for(limit, value->value) == nullptr,
            "a default is within its limit");
    require(plain(policy::refusal(limit, text, limit.low)), "what a user set, in plain words");
  }
  const size_t count = policy.entries.size() + policy.limits.size();
  policy::merge(&policy, policy::parse(text, "g"));
  require(policy.entries.size() + policy.limits.size() == count, "a file over itself adds nothing");
}

}  // namespace verity::fuzz
