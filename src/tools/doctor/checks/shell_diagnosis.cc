// SPDX-License-Identifier: BSD-3-Clause
//
// What is wrong with the shell that `doctor` was started in: the loader and the transports.
#include <algorithm>

#include "health/report/bypass.h"
#include "tools/doctor/checks/diagnosis.h"
#include "tools/doctor/checks/shell_settings.h"
#include "tools/env/shell.h"
#include "tools/env/transports.h"

namespace verity::tools {

namespace {

using Names = std::vector<std::string>;

constexpr const char* kTopic = "shell";
constexpr const char* kSetUp = "eval \"$(ucx-verity env)\"";

void add(Findings* findings, Finding finding) { findings->push_back(std::move(finding)); }

// "UCX_TLS=tcp,self", with its place where that is no variable.
std::string setting_text(const Facts& facts, const std::string& name) {
  const std::string* value = value_for_jobs(facts.shell, name);
  return name + "=" + (value == nullptr ? "" : *value) +
         (find_value(facts.shell.set_by_file, name) == nullptr ? "" : " in ucx.conf");
}

bool loads_by_preload(const Facts& facts) {
  return needs_preload(parse_version(facts.ucx.version));
}

Names raw_lanes_of(const Facts& facts) {
  if (facts.shell.transparent) return {};  // the plugin hides them, or is not there at all
  const std::string* tls = value_for_jobs(facts.shell, "UCX_TLS");
  return health::raw_lanes(tls == nullptr ? "" : *tls, lower_transports(facts.ucx.devices));
}

bool is_wrapper_entry(const std::string& entry) { return entry.starts_with('v'); }

// The wrappers that UCX_TLS names one by one, without what stands behind a colon.
Names named_wrappers(const Facts& facts) {
  Names names;
  const std::string* tls = value_for_jobs(facts.shell, "UCX_TLS");
  if (tls == nullptr || tls->starts_with('^')) return names;
  for (const std::string& entry : split_commas(*tls)) {
    if (is_wrapper_entry(entry)) names.push_back(entry.substr(0, entry.find(':')));
  }
  return names;
}

bool plugin_is_loaded(const Facts& facts) {
  return !wrappers(facts.shell.probe.ucx.devices).empty();
}

// A line of UCX's log starts with time, host and place: only its words are of use here.
std::string words_of(const std::string& line) {
  const std::size_t level = std::min(line.find(" ERROR "), line.find(" WARN "));
  if (level == std::string::npos) return line;
  return line.substr(line.find_first_not_of(' ', line.find(' ', level + 1)));
}

// The plugin's own refusal, or else UCX's first line; the dynamic linker's lines say nothing about
// UCX.
std::string first_message(const std::string& messages) {
  std::string first;
  for (std::size_t at = 0; at < messages.size();) {
    const std::size_t end = std::min(messages.find('\n', at), messages.size());
    const std::string line = messages.substr(at, end - at);
    if (line.starts_with("ucx-verity: ")) return line;
    if (first.empty() && line.find("UCX ") != std::string::npos) first = words_of(line);
    at = end + 1;
  }
  return first;
}

std::string no_plugin_text(const Facts& facts) {
  return std::string(": UCX does not load the plugin, so jobs ") +
         (effect_of_no_plugin(facts) == Effect::kAbort ? "abort" : "run unverified");
}

void add_no_plugin(const Facts& facts, const std::string& what, const std::string& remedy,
                   Findings* findings) {
  add(findings,
      {Grade::kBroken, kTopic, what + no_plugin_text(facts), remedy, effect_of_no_plugin(facts)});
}

// A path that is none here may be one outside of it.
std::string container_of(const Facts& facts) {
  return facts.host.container.empty() ? "" : " in this container (" + facts.host.container + ")";
}

// False: there is a reason here why the plugin is not loaded.
bool check_preload(const Facts& facts, Findings* findings) {
  if (!loads_by_preload(facts) || facts.shell.preload_exists) return true;
  const std::string* preload = value_for_jobs(facts.shell, "LD_PRELOAD");
  const std::string entry = preload == nullptr ? "" : preload_entry(*preload);
  std::string what = "LD_PRELOAD has no libverity_preload.so";
  std::string remedy = export_as_env(facts, "LD_PRELOAD");
  const std::string& launcher = facts.host.launcher;
  const std::string* wanted = find_value(facts.wanted, "LD_PRELOAD");
  if (preload == nullptr) what = "LD_PRELOAD is not set";
  if (entry.empty() && !launcher.empty() && wanted != nullptr) {
    what += " in this process of " + launcher +
            "'s job, which has other variables of 'env': "
            "its launcher, or a privileged program on the way, removes it";
    remedy = pass_variable(launcher, "LD_PRELOAD", *wanted);
  }
  if (!entry.empty()) {
    what = "LD_PRELOAD names " + entry + ", which does not exist" + container_of(facts);
  }
  add_no_plugin(facts, what, remedy, findings);
  return false;
}

bool check_module_dir(const Facts& facts, Findings* findings) {
  if (facts.shell.module_dir_fits) return true;
  const std::string name = plugin_variable(parse_version(facts.ucx.version));
  const std::string* value = value_for_jobs(facts.shell, name);
  const std::string what = value == nullptr ? name + " is not set"
                                            : name + "=" + *value + " has no libuct_verity" +
                                                  facts.ucx.suffix + container_of(facts);
  add_no_plugin(facts, what, export_as_env(facts, name), findings);
  return false;
}

// Whether UCX loads the plugin here, and works with it.
void check_loading(const Facts& facts, Findings* findings) {
  if (plugin_is_loaded(facts)) return;
  const bool preload = check_preload(facts, findings);
  const bool folder = check_module_dir(facts, findings);
  const auto refused = [](const BadValue& bad) { return bad.fatal; };
  if (!preload || !folder ||
      std::any_of(facts.shell.bad_values.begin(), facts.shell.bad_values.end(), refused))
    return;
  const std::string message = first_message(facts.shell.probe.messages);
  add_no_plugin(facts, message.empty() ? "UCX offers no wrapped transport" : message, kSetUp,
                findings);
}

// UCX_TLS as it would be with what it names raw left out.
std::string without(const std::string& tls, const Names& raw) {
  Names left;
  for (const std::string& entry : split_commas(tls)) {
    const Names members = health::expand_alias(entry);
    const bool is_raw = std::any_of(members.begin(), members.end(), [&](const std::string& name) {
      return std::find(raw.begin(), raw.end(), name) != raw.end();
    });
    if (!is_raw) left.push_back(entry);
  }
  return join(left, ",");
}

void check_raw_lanes(const Facts& facts, Findings* findings) {
  const Names raw = raw_lanes_of(facts);
  if (raw.empty()) return;
  const std::string* tls = value_for_jobs(facts.shell, "UCX_TLS");
  const std::string remedy = export_as_env(facts, "UCX_TLS");
  if (tls == nullptr) {
    add(findings, {Grade::kBroken, kTopic,
                   "UCX_TLS is not set: UCX takes raw transports (" + join(raw, ", ") +
                       "), so jobs run unverified",
                   remedy});
  } else if (named_wrappers(facts).empty()) {
    add(findings,
        {Grade::kBroken, kTopic,
         setting_text(facts, "UCX_TLS") + " names no wrapped transport, so jobs run unverified",
         remedy});
  } else {
    add(findings,
        {Grade::kWarning, kTopic,
         setting_text(facts, "UCX_TLS") + ": what " + join(raw, ", ") + " carries is not verified",
         "export UCX_TLS=" + quote(Shell::kSh, without(*tls, raw))});
  }
}

// Wrappers that UCX_TLS names and this machine does not have.
void check_named_wrappers(const Facts& facts, Findings* findings) {
  const Names there = wrappers(facts.probe.ucx.devices);
  const Names named = named_wrappers(facts);
  Names absent;
  std::copy_if(named.begin(), named.end(), std::back_inserter(absent),
               [&](const std::string& name) {
                 return std::find(there.begin(), there.end(), name) == there.end();
               });
  if (absent.empty()) return;
  const bool all = absent.size() == named.size() && raw_lanes_of(facts).empty();
  add(findings,
      {all ? Grade::kBroken : Grade::kWarning, kTopic,
       "UCX_TLS names " + join(absent, ", ") + ", which " + (absent.size() == 1 ? "does" : "do") +
           " not exist on this machine" + (all ? ", and nothing else, so jobs abort" : ""),
       export_as_env(facts, "UCX_TLS"), all ? Effect::kAbort : Effect::kIgnored});
}

// Devices that wrapped transports in UCX_TLS could reach other hosts by.
Names network_devices(const Facts& facts) {
  const std::string* tls = value_for_jobs(facts.shell, "UCX_TLS");
  Names names;
  for (const Device& device : facts.probe.ucx.devices) {
    if (!device.network || !is_wrapper_entry(device.transport)) continue;
    const std::string name =
        facts.shell.transparent ? device.transport.substr(1) : device.transport;
    if (!health::transport_enabled(tls == nullptr ? "" : *tls, name)) continue;
    if (std::find(names.begin(), names.end(), device.device) == names.end())
      names.push_back(device.device);
  }
  return names;
}

void check_net_devices(const Facts& facts, Findings* findings) {
  const std::string* value = value_for_jobs(facts.shell, "UCX_NET_DEVICES");
  const Names there = network_devices(facts);
  if (value == nullptr || there.empty() || !plugin_is_loaded(facts)) return;
  const auto& lanes = facts.shell.probe.context.lanes;
  const bool any = std::any_of(lanes.begin(), lanes.end(), [&](const Lane& lane) {
    return is_wrapper_entry(lane.transport) &&
           std::find(there.begin(), there.end(), lane.device) != there.end();
  });
  if (any) return;
  add(findings, {Grade::kBroken, kTopic,
                 setting_text(facts, "UCX_NET_DEVICES") +
                     ": no wrapped transport has such a device (there are: " + join(there, ", ") +
                     "), so jobs of several hosts abort",
                 find_value(facts.shell.set_by_file, "UCX_NET_DEVICES") == nullptr
                     ? "unset UCX_NET_DEVICES"
                     : "export UCX_NET_DEVICES=all",
                 Effect::kSomeAbort});
}

void check_transports(const Facts& facts, Findings* findings) {
  check_raw_lanes(facts, findings);
  check_named_wrappers(facts, findings);
  check_net_devices(facts, findings);
  if (worst(*findings) == Grade::kBroken || !plugin_is_loaded(facts) ||
      facts.shell.probe.context.error.empty())
    return;
  const std::string message = first_message(facts.shell.probe.messages);
  add(findings,
      {Grade::kBroken, kTopic,
       "UCX opens no transport: " + (message.empty() ? facts.shell.probe.context.error : message) +
           ", so jobs abort",
       kSetUp, Effect::kAbort});
}

std::string lanes_text(const std::vector<Lane>& lanes) {
  std::vector<std::string> names;
  for (const Lane& lane : lanes) names.push_back(lane.transport + " (" + lane.device + ")");
  return join(names, ", ");
}

}  // namespace

std::string export_as_env(const Facts& facts, const std::string& name) {
  const std::string* wanted = find_value(facts.wanted, name);
  return wanted == nullptr ? kSetUp : "export " + name + "=" + quote(Shell::kSh, *wanted);
}

bool is_active(const Facts& facts) {
  const std::string* preload = value_for_jobs(facts.shell, "LD_PRELOAD");
  return (preload != nullptr && !preload_entry(*preload).empty()) || facts.shell.module_dir_fits ||
         facts.shell.transparent || !named_wrappers(facts).empty();
}

Effect effect_of_no_plugin(const Facts& facts) {
  // Raw transports have the names that wrapped ones would have.
  if (facts.shell.transparent) return Effect::kUnverified;
  return raw_lanes_of(facts).empty() ? Effect::kAbort : Effect::kUnverified;
}

void diagnose_shell(const Facts& facts, Findings* findings) {
  if (!is_active(facts)) {
    add(findings, {Grade::kInactive, kTopic,
                   "not active: jobs started from this shell run unverified", kSetUp});
    return;
  }
  Findings found;
  check_loading(facts, &found);
  check_transports(facts, &found);
  check_settings(facts, &found);
  check_open_mpi_settings(facts, &found);
  if (worst(found) == Grade::kOk) {
    add(&found,
        {Grade::kOk, kTopic,
         "UCX opens " + lanes_text(facts.shell.probe.context.lanes) + " here and nothing else" +
             (facts.shell.transparent ? ", by the names without v (UCX_VERITY_TRANSPARENT)" : ""),
         ""});
  }
  findings->insert(findings->end(), found.begin(), found.end());
}

}  // namespace verity::tools
