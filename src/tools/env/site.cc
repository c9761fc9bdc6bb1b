// SPDX-License-Identifier: BSD-3-Clause
#include "tools/env/site.h"

#include <strings.h>

#include <algorithm>

namespace verity::tools {

namespace {

constexpr const char* kEnvironment = "environment";

// Whether the line is about this file: "FILE:3: ..." or "FILE: ...".
bool is_about(std::string_view line, const std::string& file) {
  return line.starts_with(file) && line.substr(file.size()).starts_with(':');
}

std::string file_of(std::string_view line, const policy::Policy& policy) {
  for (const policy::Entry& entry : policy.entries) {
    if (is_about(line, entry.file)) return entry.file;
  }
  for (const policy::Limit& limit : policy.limits) {
    if (is_about(line, limit.file)) return limit.file;
  }
  return {};
}

void add_limit(const policy::Limit& limit, std::vector<Setting>* settings) {
  auto at = std::find_if(settings->begin(), settings->end(),
                         [&](const Setting& setting) { return setting.name == limit.name; });
  if (at == settings->end())
    at = settings->insert(at, {.name = limit.name, .value = "", .source = "built-in default"});
  at->limit = limit.range();
  at->limit_source = limit.place();
  const std::string* bound = policy::bound_for(limit, at->value);
  if (bound == nullptr) return;
  if (at->source.starts_with(kEnvironment)) at->ignored = at->value;
  at->value = *bound;
  at->source = limit.place();
}

}  // namespace

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
      settings.push_back({variable.name, variable.value, kEnvironment});
    } else if (at->locked) {
      if (strcasecmp(at->value.c_str(), variable.value.c_str()) != 0) at->ignored = variable.value;
    } else {
      *at = {variable.name, variable.value, kEnvironment + (", in place of " + at->source)};
    }
  }
  for (const policy::Limit& limit : policy.limits) add_limit(limit, &settings);
  std::sort(settings.begin(), settings.end(),
            [](const Setting& a, const Setting& b) { return a.name < b.name; });
  return settings;
}

void drop_refused_files(std::string_view messages, policy::Policy* policy) {
  constexpr std::string_view kMark = "ucx-verity: ";
  while (!messages.empty()) {
    const std::size_t end = std::min(messages.find('\n'), messages.size());
    std::string_view line = messages.substr(0, end);
    messages.remove_prefix(std::min(end + 1, messages.size()));
    if (!line.starts_with(kMark) || !line.ends_with(policy::kNotUsed)) continue;
    line.remove_prefix(kMark.size());
    line.remove_suffix(policy::kNotUsed.size());
    const std::string file = file_of(line, *policy);
    if (!file.empty()) policy::drop_file(policy, file, std::string(line));
  }
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

bool locks_own_names(const policy::Policy& policy) {
  return locks_own_names(settings_in_force(policy, {}));
}

bool locks_own_names(const std::vector<Setting>& settings) {
  return std::any_of(settings.begin(), settings.end(), [](const Setting& setting) {
    return setting.name == "UCX_VERITY_TRANSPARENT" && setting.locked && is_yes(setting.value);
  });
}

bool is_yes(const std::string& value) {
  return strcasecmp(value.c_str(), "y") == 0 || strcasecmp(value.c_str(), "yes") == 0 ||
         value == "1";
}

}  // namespace verity::tools
