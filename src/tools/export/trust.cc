// SPDX-License-Identifier: BSD-3-Clause
#include "tools/export/trust.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "util/text.h"

namespace verity::tools {
namespace {

// Behind a comma there may be a blank.
std::optional<std::uint32_t> number_of(const std::string& text) {
  const std::string user(util::trimmed(text, " "));
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(user.data(), user.data() + user.size(), number);
  if (error == std::errc() && end == user.data() + user.size()) return number;
  const passwd* entry = getpwnam(user.c_str());
  return entry != nullptr ? std::optional(entry->pw_uid) : std::nullopt;
}

std::string account_of(std::uint32_t user) {
  const passwd* entry = getpwuid(user);
  std::string name = entry != nullptr && entry->pw_name != nullptr ? entry->pw_name : "";
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c <= ' ' || c > '~'; }, '?');
  return name;
}

}  // namespace

void add_trust_option(CLI::App& command, std::vector<std::string>* users) {
  command
      .add_option(
          "--trust", *users,
          "User whose files alone may make this host critical (repeatable; all: everyone's)")
      ->type_name("USER")
      ->delimiter(',')
      ->check([](const std::string& user) {
        return util::trimmed(user, " ") == "all" || number_of(user) ? std::string()
                                                                    : "no such user: " + user;
      });
}

blame::Trust trust_of(const std::vector<std::string>& users) {
  blame::Trust trust{.users = {0, geteuid()}, .account = account_of};
  for (const std::string& user : users) {
    if (util::trimmed(user, " ") == "all") {
      trust.everyone = true;
    } else if (const auto number = number_of(user)) {
      trust.users.insert(*number);
    }
  }
  return trust;
}

}  // namespace verity::tools
