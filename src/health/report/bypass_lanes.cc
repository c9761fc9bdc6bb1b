// SPDX-License-Identifier: BSD-3-Clause
//
// UCX_TLS as UCX reads it.
#include <algorithm>
#include <array>
#include <span>

#include "health/report/bypass.h"

namespace verity::health {

namespace {

struct Alias {
  std::string_view name;
  std::array<std::string_view, 8> members;  // ends with the first empty one
};

// As documented by `ucx_info -cf` for UCX_TLS (1.13 to 1.23), without connection set-up members.
constexpr Alias kAliases[] = {
    {"mm", {"posix", "sysv", "xpmem"}},
    {"sm", {"posix", "sysv", "xpmem", "knem", "cma"}},
    {"shm", {"posix", "sysv", "xpmem", "knem", "cma"}},
    {"ib", {"rc_verbs", "ud_verbs", "rc_mlx5", "ud_mlx5", "dc_mlx5", "gga_mlx5"}},
    {"ud_v", {"ud_verbs"}},
    {"ud_x", {"ud_mlx5"}},
    {"ud", {"ud_mlx5", "ud_verbs"}},
    {"rc_v", {"rc_verbs"}},
    {"rc_x", {"rc_mlx5", "gga_mlx5"}},
    {"rc", {"rc_mlx5", "rc_verbs", "gga_mlx5"}},
    {"dc", {"dc_mlx5"}},
    {"dc_x", {"dc_mlx5"}},
    {"ugni", {"ugni_smsg", "ugni_rdma"}},
    {"cuda", {"cuda_copy", "cuda_ipc", "gdr_copy"}},
    {"rocm", {"rocm_copy", "rocm_ipc", "rocm_gdr"}},
    {"ze", {"ze_copy", "ze_ipc", "ze_gdr"}},
};

std::span<const std::string_view> members_of(const Alias& alias) {
  const auto end = std::find(alias.members.begin(), alias.members.end(), std::string_view{});
  return {alias.members.data(), static_cast<std::size_t>(end - alias.members.begin())};
}

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<std::string_view> split_list(std::string_view list) {
  std::vector<std::string_view> entries;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (comma > 0) entries.push_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return entries;
}

// Named by itself, with or without the backslash, or through an alias.
bool entry_matches(std::string_view entry, std::string_view name) {
  if (entry == name) return true;
  if (entry.starts_with('\\')) return entry.substr(1) == name;
  for (const Alias& alias : kAliases) {
    if (alias.name == entry) return contains(members_of(alias), name);
  }
  return false;
}

bool is_wrapper(std::string_view name) { return name.starts_with('v'); }

}  // namespace

std::vector<std::string> expand_alias(std::string_view name) {
  for (const Alias& alias : kAliases) {
    if (alias.name == name) {
      const auto members = members_of(alias);
      return {members.begin(), members.end()};
    }
  }
  return {std::string(name)};
}

bool transport_enabled(std::string_view ucx_tls, std::string_view name) {
  const bool negated = ucx_tls.starts_with('^');
  const auto entries = split_list(negated ? ucx_tls.substr(1) : ucx_tls);
  if (entries.empty() || entries.front() == "all") return true;
  const bool named = std::any_of(entries.begin(), entries.end(), [&](std::string_view entry) {
    return entry_matches(entry, name);
  });
  return named != negated;
}

bool names_wrapper(std::string_view ucx_tls) {
  const auto entries = split_list(ucx_tls);
  if (ucx_tls.starts_with('^') || entries.empty() || entries.front() == "all") return true;
  return std::any_of(entries.begin(), entries.end(), [](std::string_view entry) {
    return is_wrapper(entry.starts_with('\\') ? entry.substr(1) : entry);
  });
}

bool is_lane(std::string_view name) {
  return !name.ends_with("_copy") && !name.ends_with("_gdr") && name != "rdmacm";
}

std::vector<std::string> raw_lanes(std::string_view ucx_tls,
                                   const std::vector<std::string>& available) {
  std::vector<std::string> raw;
  for (const std::string& name : available) {
    if (is_wrapper(name) || !is_lane(name) || !transport_enabled(ucx_tls, name)) continue;
    if (std::find(raw.begin(), raw.end(), name) == raw.end()) raw.push_back(name);
  }
  return raw;
}

std::string raw_lane_warning(const std::vector<std::string>& raw) {
  if (raw.empty()) return {};
  std::string names;
  for (const std::string& name : raw) names += (names.empty() ? "" : ",") + name;
  return "ucx-verity: UCX_TLS also enables " + names +
         (raw.size() == 1 ? ": what it carries" : ": what they carry") +
         " is NOT verified (see 'ucx-verity doctor')";
}

}  // namespace verity::health
