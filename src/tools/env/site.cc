// SPDX-License-Identifier: BSD-3-Clause
#include "tools/env/site.h"

#include <strings.h>

#include <algorithm>

namespace verity::tools {

std::vector<Setting> settings_in_force(const policy::Policy& policy,
                                       const std::vector<Variable>& environment) {
  std::vector<Setting> settings;
  for (const policy::Entry& entry : policy.entries)
    settings.push_back({entry.name, entry.value, entry.place(), entry.locked});
  for (const Variable& variable : environment) {
    if (!variable.name.starts_with("UCX_VERITY_")) continue;
    const auto at = std::find_if(settings.begin(), settings.end(), [&](const Setting& setting) {
      return setting.name == variable.name;
    });
    if (at == settings.end()) {
      settings.push_back({variable.name, variable.value, "environment"});
    } else if (at->locked) {
      if (strcasecmp(at->value.c_str(), variable.value.c_str()) != 0) at->ignored = variable.value;
    } else {
      *at = {variable.name, variable.value, "environment, in place of " + at->source};
    }
  }
  std::sort(settings.begin(), settings.end(),
            [](const Setting& a, const Setting& b) { return a.name < b.name; });
  return settings;
}

std::string value_in_force(const std::vector<Setting>& settings, std::string_view name) {
  const auto at = std::find_if(settings.begin(), settings.end(),
                               [&](const Setting& setting) { return setting.name == name; });
  return at == settings.end() ? "" : at->value;
}

Transparency transparency(const policy::Policy& policy, bool requested,
                          const std::string& environment) {
  const policy::Entry* site = policy.find("UCX_VERITY_TRANSPARENT");
  if (site == nullptr) return {.on = requested};
  const bool wanted = is_yes(site->value);
  if (site->locked && requested && !wanted)
    return {.error = "--transparent: " + site->place() + " locks " + site->name + " to " +
                     site->value + ": evaluate without it"};
  if (site->locked) return {.on = wanted};
  return {.on = requested || (wanted && (environment.empty() || is_yes(environment)))};
}

bool is_yes(const std::string& value) {
  return strcasecmp(value.c_str(), "y") == 0 || strcasecmp(value.c_str(), "yes") == 0 ||
         value == "1";
}

}  // namespace verity::tools
