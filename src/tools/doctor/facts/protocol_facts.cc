// SPDX-License-Identifier: BSD-3-Clause
#include "tools/doctor/facts/protocol_facts.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/doctor/facts/shell_facts.h"
#include "tools/env/install.h"
#include "tools/env/site.h"
#include "tools/env/transports.h"
#include "tools/subprocess.h"

namespace verity::tools {

namespace {

using Names = std::vector<std::string>;

constexpr int kSeconds = 60;

Names wrappers_in(const std::string* tls) {
  Names names;
  if (tls == nullptr) return names;
  for (const std::string& name : split_commas(*tls)) {
    if (name.starts_with('v')) names.push_back(name.substr(0, name.find(':')));
  }
  return names;
}

// Those that this shell's jobs use, or those of `env`.
Names wrappers_used(const Facts& facts) {
  Names opened;
  for (const Lane& lane : facts.shell.probe.context.lanes) {
    if (lane.transport.starts_with('v') &&
        std::find(opened.begin(), opened.end(), lane.transport) == opened.end())
      opened.push_back(lane.transport);
  }
  if (facts.shell.transparent && !opened.empty()) return opened;
  const Names own = wrappers_in(value_for_jobs(facts.shell, "UCX_TLS"));
  return own.empty() ? wrappers_in(find_value(facts.wanted, "UCX_TLS")) : own;
}

bool reaches_hosts(const Facts& facts, const std::string& wrapper) {
  return std::any_of(
      facts.probe.ucx.devices.begin(), facts.probe.ucx.devices.end(),
      [&](const Device& device) { return device.network && device.transport == wrapper; });
}

// No other host is reached by the loopback device.
std::string devices_between_hosts(const Facts& facts) {
  Names names;
  for (const Device& device : facts.probe.ucx.devices) {
    if (device.network && device.device != "lo" &&
        std::find(names.begin(), names.end(), device.device) == names.end())
      names.push_back(device.device);
  }
  return join(names, ",");
}

std::vector<ProtocolRange> choices(const std::vector<Variable>& set, const Names& unset,
                                   std::string* error_p) {
  const ProcessResult child = run_process({own_path(), "probe", "--exchange", "1"},
                                          probe_environment(set), unset, kSeconds);
  const auto json = nlohmann::json::parse(child.out, nullptr, false);
  if (child.status != 0 || json.is_discarded()) {
    *error_p = "the processes ended with status " + std::to_string(child.status);
    return {};
  }
  *error_p = json.value("error", std::string());
  const auto found = protocols_in(json.value("endpoint", std::string()));
  if (error_p->empty() && found.empty()) *error_p = "UCX does not describe its choice";
  return found;
}

ProtocolTable gather_table(const Facts& facts, const std::string& where, const Names& wrapped,
                           const std::vector<Variable>& further) {
  Names raw;
  for (const std::string& name : wrapped) raw.push_back(name.substr(1));
  std::vector<Variable> set = further;
  set.push_back({"UCX_TLS", join(raw, ",")});
  ProtocolTable table{where, "", {}, {}};
  table.raw = choices(set, {"LD_PRELOAD", "UCX_MODULE_DIR", "UCX_PLUGIN_PATH"}, &table.error);
  if (!table.error.empty()) return table;
  const bool active = is_active(facts);
  set = active ? std::vector<Variable>() : facts.wanted;
  set.insert(set.end(), further.begin(), further.end());
  const bool own_names = locks_own_names(facts.shell.settings);
  set.push_back({"UCX_TLS", join(own_names ? raw : wrapped, ",")});
  if (facts.shell.transparent && !own_names) set.push_back({"UCX_VERITY_TRANSPARENT", "n"});
  table.wrapped = choices(set, active ? Names() : ucx_variables(), &table.error);
  return table;
}

}  // namespace

std::vector<ProtocolTable> gather_protocols(const Facts& facts) {
  const Names wrapped = wrappers_used(facts);
  Names network;
  std::copy_if(wrapped.begin(), wrapped.end(), std::back_inserter(network),
               [&](const std::string& name) { return reaches_hosts(facts, name); });
  std::vector<ProtocolTable> tables;
  if (wrapped.empty()) return {{"within this host", "there is no wrapped transport", {}, {}}};
  tables.push_back(gather_table(facts, "within this host", wrapped, {}));
  if (network.empty()) return tables;
  std::vector<Variable> further;
  const std::string devices = devices_between_hosts(facts);
  if (value_for_jobs(facts.shell, "UCX_NET_DEVICES") == nullptr && !devices.empty())
    further.push_back({"UCX_NET_DEVICES", devices});
  tables.push_back(gather_table(facts, "between hosts", network, further));
  return tables;
}

}  // namespace verity::tools
