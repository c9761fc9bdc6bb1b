// SPDX-License-Identifier: BSD-3-Clause
//
// The site's policy as this command sees it, and what is in force in this shell because of it.
#ifndef VERITY_TOOLS_ENV_SITE_H
#define VERITY_TOOLS_ENV_SITE_H

#include <string>
#include <vector>

#include "policy/policy.h"
#include "tools/variable.h"

namespace verity::tools {

// A variable of the plugin that is not at its built-in default, or that the site limits.
struct Setting {
  std::string name;
  std::string value;           // empty, where there is a limit: the built-in default
  std::string source;          // "environment", or the file and line
  bool locked = false;         // by the site
  std::string ignored{};       // what the environment has instead; empty: nothing else
  std::string limit{};         // "16..512"
  std::string limit_source{};  // the file and line
};

// Of the policy and an environment; in the order of the names.
[[nodiscard]] std::vector<Setting> settings_in_force(const policy::Policy& policy,
                                                     const std::vector<Variable>& environment);

// Takes out the files that the plugin refuses for values that it alone knows, by its lines in
// `messages` of a process.
void drop_refused_files(std::string_view messages, policy::Policy* policy);

// The value in force; empty: the built-in default.
[[nodiscard]] std::string value_in_force(const std::vector<Setting>& settings,
                                         std::string_view name);

// Whether wrapped transports have the names of UCX's own, or why that cannot be (`error`).
struct Transparency {
  bool on = false;
  std::string error{};
};

// `requested` on the command line; `environment`: UCX_VERITY_TRANSPARENT there, empty where it is
// not set. A lock of the site counts, then the request, the environment and the site's default.
// The environment alone turns nothing on: a second evaluation without the option turns it off.
[[nodiscard]] Transparency transparency(const policy::Policy& policy, bool requested,
                                        const std::string& environment);

// Whether the site locks UCX's own names for wrapped transports: a test of this command, which has
// both names to choose from otherwise, uses those as well.
[[nodiscard]] bool locks_own_names(const policy::Policy& policy);
[[nodiscard]] bool locks_own_names(const std::vector<Setting>& settings);

// As UCX's parser reads a switch.
[[nodiscard]] bool is_yes(const std::string& value);

}  // namespace verity::tools

#endif
