// SPDX-License-Identifier: BSD-3-Clause
#include "tools/env/transports.h"

#include <algorithm>

#include "health/report/bypass.h"

namespace verity::tools {

namespace {

using Names = std::vector<std::string>;

// UCT_TL_NAME_MAX is 10 with the final NUL, and the wrapper's name has one letter more.
constexpr std::size_t kLongestLower = 8;

bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void add_once(Names* names, const std::string& name) {
  if (!contains(*names, name)) names->push_back(name);
}

// Reliable connections are set up over unreliable datagrams of the same driver.
std::string set_up_transport(std::string_view name) {
  if (name == "rc_verbs") return "ud_verbs";
  if (name == "rc_mlx5" || name == "dc_mlx5") return "ud_mlx5";
  return {};
}

Selection finish(Names lower, const Names& available) {
  Selection selection;
  if (!lower.empty() && std::all_of(lower.begin(), lower.end(), only_reads)) {
    selection.error =
        lower.front() +
        " has no active messages of its own: name another transport beside it, such as posix";
    return selection;
  }
  selection.lower = std::move(lower);
  Names entries;
  for (const std::string& name : selection.lower) add_once(&entries, wrapper_of(name));
  for (const std::string& name : selection.lower) {
    const std::string helper = set_up_transport(name);
    if (!helper.empty() && contains(available, helper) && !contains(selection.lower, helper)) {
      add_once(&entries, wrapper_of(helper) + ":aux");
    }
  }
  selection.ucx_tls = join(entries, ",");
  return selection;
}

Names wrappable_of(const Names& available) {
  Names names;
  for (const std::string& name : available) {
    if (not_wrappable_because(name).empty()) add_once(&names, name);
  }
  return names;
}

// The lower transports that one entry of the list stands for.
Names resolve(const std::string& entry, const Names& available) {
  const Names usable = wrappable_of(available);
  if (entry == "all") return usable;
  Names found;
  for (const std::string& name : health::expand_alias(lower_of(entry, available))) {
    if (contains(usable, name)) add_once(&found, name);
  }
  return found;
}

std::string unknown_entry(const std::string& entry, const Names& available) {
  std::string text = "transport '" + entry + "' ";
  const std::string lower = lower_of(entry, available);
  const std::string reason =
      contains(available, lower) ? not_wrappable_because(lower) : std::string();
  text += reason.empty() ? "does not exist on this machine" : "cannot be wrapped: " + reason;
  return text + "\nthis machine has: " + join(wrappable_of(available), ", ");
}

bool is_wrapper_name(std::string_view name, const Names& available) {
  return name.starts_with('v') && contains(available, name.substr(1));
}

}  // namespace

std::string not_wrappable_because(std::string_view name) {
  if (name.starts_with("v") || name.starts_with("f")) return "it is itself a wrapper";
  if (!health::is_lane(name) || name.starts_with("gdr")) return "it copies within one process";
  if (name.ends_with("_ipc") || name == "gga_mlx5") {
    return "it has no active messages of its own";
  }
  if (name.size() > kLongestLower) return "its name is too long";
  return {};
}

bool only_reads(std::string_view name) { return name == "cma" || name == "knem"; }

std::string wrapper_of(std::string_view name) { return "v" + std::string(name); }

std::string lower_of(std::string_view name, const Names& available) {
  if (contains(available, name) && !is_wrapper_name(name, available)) return std::string(name);
  // "vrc" too: a v before an alias is as clear as one before a name.
  const std::string_view rest = name.starts_with('v') ? name.substr(1) : name;
  const Names members = health::expand_alias(rest);
  const bool known = contains(available, rest) || members.size() != 1 || members.front() != rest;
  return std::string(known ? rest : name);
}

Selection select_default(const Names& available) {
  Names lower;
  const auto add = [&](std::initializer_list<const char*> names, std::size_t at_most) {
    std::size_t added = 0;
    for (const char* name : names) {
      if (added < at_most && contains(available, name)) {
        add_once(&lower, name);
        ++added;
      }
    }
  };
  add({"rc_mlx5", "rc_verbs"}, 1);
  add({"dc_mlx5"}, 1);
  add({"ud_mlx5", "ud_verbs"}, 1);
  add({"srd"}, 1);
  // xpmem would do too, but posix is where it is, and sysv where there is no /dev/shm. UCX takes
  // cma for large messages once it is named; verified, the frames of shared memory are faster on
  // many machines ('bench --tls posix,cma' shows it).
  add({"posix", "sysv"}, 1);
  add({"tcp"}, 1);
  add({"self"}, 1);
  Selection selection = finish(std::move(lower), available);
  if (selection.lower.empty()) selection.error = "UCX offers no transport that can be wrapped";
  return selection;
}

Selection select(std::string_view list, const Names& available) {
  Names lower;
  for (const std::string& entry : split_commas(list)) {
    const Names found = resolve(entry, available);
    if (found.empty()) {
      Selection none;
      none.error = unknown_entry(entry, available);
      return none;
    }
    for (const std::string& name : found) add_once(&lower, name);
  }
  Selection selection = finish(std::move(lower), available);
  if (selection.lower.empty() && selection.error.empty())
    selection.error = "the list of transports is empty";
  return selection;
}

std::string without_wrappers(std::string_view ucx_tls) {
  Names entries = split_commas(ucx_tls);
  for (std::string& entry : entries) {
    const std::size_t prefix = entry.find_first_not_of("^\\");
    if (prefix != std::string::npos && entry[prefix] == 'v') entry.erase(prefix, 1);
  }
  return join(entries, ",");
}

bool pass_open_mpi_filter(const std::vector<Device>& devices) {
  static const Names accepted = {"rc_verbs", "ud_verbs", "rc_mlx5", "ud_mlx5", "dc_mlx5"};
  return std::any_of(devices.begin(), devices.end(), [](const Device& device) {
    return contains(accepted, device.transport) && device.device.starts_with("mlx");
  });
}

std::string with_set_up_transport(const std::string& name) {
  const bool wrapped = name.starts_with('v');
  if (only_reads(wrapped ? name.substr(1) : name)) return name + (wrapped ? ",vposix" : ",posix");
  const std::string helper = set_up_transport(wrapped ? name.substr(1) : name);
  if (helper.empty()) return name;
  return name + "," + (wrapped ? wrapper_of(helper) : helper) + ":aux";
}

Names split_commas(std::string_view list) {
  Names entries;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) entries.emplace_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return entries;
}

std::string join(const Names& parts, std::string_view separator) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += separator;
    text += part;
  }
  return text;
}

}  // namespace verity::tools
