// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/checks/shell_settings.h"

#include <strings.h>

#include <algorithm>
#include <vector>

#include "tools/doctor/checks/variable_names.h"
#include "tools/env/shell.h"

namespace verity::tools {

namespace {

constexpr const char* kTopic = "shell";

void check_values(const Facts& facts, Findings* findings) {
  for (const BadValue& bad : facts.shell.bad_values) {
    const std::string what =
        bad.name + "=" + bad.value + ": bad value, allowed: " + bad.allowed + "; ";
    const std::string remedy = "unset " + bad.name + ", or correct it";
    if (bad.fatal) {
      findings->push_back(
          {Grade::kBroken, kTopic,
           what + "the plugin refuses to work, so jobs " +
               (effect_of_no_plugin(facts) == Effect::kAbort ? "abort" : "run unverified"),
           remedy, effect_of_no_plugin(facts)});
    } else {
      findings->push_back(
          {Grade::kBroken, kTopic, what + "the default is used instead", remedy, Effect::kIgnored});
    }
  }
}

void check_names(const Facts& facts, Findings* findings) {
  for (const Variable& variable : facts.shell.set) {
    if (!is_misspelt(variable.name)) continue;
    const std::string nearest = nearest_variable(variable.name);
    const std::string what = variable.name + " is no variable of ucx-verity, so it has no effect";
    const std::string remedy = "unset " + variable.name;
    findings->push_back(
        {Grade::kBroken, kTopic, nearest.empty() ? what : what + "; did you mean " + nearest + "?",
         nearest.empty() ? remedy
                         : remedy + "; export " + nearest + "=" + quote(Shell::kSh, variable.value),
         Effect::kIgnored});
  }
}

// Of a setting that the environment tries to change beyond what the site allows.
Finding ignored_setting(const Setting& setting) {
  std::string why = setting.limit.empty()
                        ? setting.source + " locks it to " + setting.value
                        : setting.limit_source + " limits it to " + setting.limit + ", so " +
                              setting.value + " is used";
  std::string remedy = "unset " + setting.name;
  if (!setting.limit.empty()) remedy += ", or set it within " + setting.limit;
  return {Grade::kWarning, "setting", setting.name + "=" + setting.ignored + " is not used: " + why,
          remedy, Effect::kIgnored};
}

std::string setting_text(const Setting& setting) {
  const std::string limit =
      setting.limit.empty() ? "" : "limited to " + setting.limit + " by " + setting.limit_source;
  if (setting.value.empty() && !limit.empty()) return setting.name + ": " + limit;
  return setting.name + "=" + setting.value + (setting.locked ? ", locked by " : ", from ") +
         setting.source + (limit.empty() ? "" : "; " + limit);
}

// What the site's files come to.
void check_policy(const Facts& facts, Findings* findings) {
  for (const std::string& error : facts.shell.policy_errors)
    findings->push_back({Grade::kBroken, "site", error + std::string(policy::kNotUsed),
                         "correct the file", Effect::kIgnored});
  for (const Setting& setting : facts.shell.settings) {
    // The name of a host is its own: hosts are not alike in it.
    if (!is_variable_name(setting.name) || setting.name == "UCX_VERITY_HOST") continue;
    findings->push_back(setting.ignored.empty()
                            ? Finding{Grade::kOk, "setting", setting_text(setting), ""}
                            : ignored_setting(setting));
  }
}

const char* lost_without(const std::string& variable) {
  if (variable == "UCX_VERITY_HEALTH_DIR")
    return "jobs count where 'status', 'top', 'check' and 'export' cannot see it";
  if (variable == "UCX_VERITY_ATTEST_FILE") return "attestations are lost";
  if (variable == "UCX_VERITY_FAULT_LOG") return "records of faults are lost";
  return "reports of datatypes are lost";
}

void check_folders(const Facts& facts, Findings* findings) {
  for (const BadFolder& bad : facts.shell.bad_folders) {
    if (bad.name.empty()) {
      findings->push_back(
          {Grade::kWarning, kTopic,
           bad.value + ": " + bad.problem + ", so " + lost_without("UCX_VERITY_HEALTH_DIR"),
           "export UCX_VERITY_HEALTH_DIR=, a folder of yours on this host"});
      continue;
    }
    findings->push_back(
        {Grade::kBroken, kTopic,
         bad.name + "=" + bad.value + ": " + bad.problem + ", so " + lost_without(bad.name),
         bad.absent.empty() ? "unset " + bad.name : "mkdir -p " + quote(Shell::kSh, bad.absent),
         Effect::kIgnored});
  }
}

// As the plugin has it; where it is not loaded, as it would have it by the variables and the site.
void check_mode(const Facts& facts, Findings* findings) {
  const std::string* given = find_value(facts.shell.set, "UCX_VERITY_MODE");
  std::string known = value_in_force(facts.shell.settings, "UCX_VERITY_MODE");
  if (known.empty() && given != nullptr) known = *given;
  const std::string* plugin = find_value(facts.shell.probe.ucx.settings, "UCX_VERITY_MODE");
  const std::string mode = plugin == nullptr ? known : *plugin;
  const bool by_file = strcasecmp(mode.c_str(), known.c_str()) != 0;
  const std::string place = by_file ? " in ucx.conf" : "";
  const std::string remedy = by_file ? "export UCX_VERITY_MODE=verify" : "unset UCX_VERITY_MODE";
  if (strcasecmp(mode.c_str(), "off") == 0) {
    findings->push_back(
        {Grade::kBroken, kTopic,
         "UCX_VERITY_MODE=off" + place + ": nothing is checked, so jobs run unverified", remedy});
  } else if (strcasecmp(mode.c_str(), "observe") == 0) {
    findings->push_back(
        {Grade::kWarning, kTopic,
         "UCX_VERITY_MODE=observe" + place + ": damage is counted and delivered, not repaired",
         remedy});
  }
}

void check_typecheck(const Facts& facts, Findings* findings) {
  const std::string* wanted = find_value(facts.shell.set, "UCX_VERITY_TYPECHECK");
  if (wanted == nullptr ||
      (strcasecmp(wanted->c_str(), "warn") != 0 && strcasecmp(wanted->c_str(), "error") != 0))
    return;
  const std::string* preload = find_value(facts.shell.set, "LD_PRELOAD");
  if (preload != nullptr && preload->find("libverity_mpi_") != std::string::npos) return;
  const std::string what = "UCX_VERITY_TYPECHECK=" + *wanted +
                           ", but LD_PRELOAD has neither libverity_mpi_openmpi.so nor "
                           "libverity_mpi_mpich.so: no datatype is compared";
  const std::string remedy = facts.install.interposers.empty()
                                 ? "unset UCX_VERITY_TYPECHECK (the libraries are not installed)"
                                 : "eval \"$(ucx-verity env --typecheck " + *wanted + ")\"";
  findings->push_back({Grade::kBroken, kTopic, what, remedy, Effect::kIgnored});
}

}  // namespace

std::string preload_entry(std::string_view preload) {
  while (!preload.empty()) {
    const std::size_t end = std::min(preload.find_first_of(" :"), preload.size());
    const std::string_view entry = preload.substr(0, end);
    if (entry.substr(entry.rfind('/') + 1) == "libverity_preload.so") return std::string(entry);
    preload.remove_prefix(std::min(end + 1, preload.size()));
  }
  return {};
}

void check_settings(const Facts& facts, Findings* findings) {
  check_policy(facts, findings);
  check_values(facts, findings);
  check_names(facts, findings);
  check_folders(facts, findings);
  check_mode(facts, findings);
  check_typecheck(facts, findings);
}

}  // namespace verity::tools
