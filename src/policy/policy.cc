// SPDX-License-Identifier: BSD-3-Clause
#include "policy/policy.h"

#include <algorithm>

namespace verity::policy {

namespace {

constexpr std::string_view kPrefix = "UCX_VERITY_";
constexpr std::string_view kBlanks = " \t\r";
constexpr std::size_t kMostShown = 40;  // bytes of a line in an error

std::string_view trim(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
}

// Only what can be printed: errors go to terminals and logs.
std::string shown(std::string_view text) {
  std::string out(text.substr(0, kMostShown));
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return text.size() > kMostShown ? out + "..." : out;
}

bool is_name(std::string_view name) noexcept {
  return name.size() > kPrefix.size() && name.starts_with(kPrefix) &&
         std::all_of(name.begin(), name.end(),
                     [](char c) { return c == '_' || (c >= 'A' && c <= 'Z'); });
}

bool is_printable(std::string_view value) noexcept {
  return std::none_of(value.begin(), value.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
}

// What is wrong with the line, and what is expected; empty: it is `entry`.
std::string read_line(std::string_view line, Entry* entry) {
  const std::size_t blank = line.find_first_of(" \t");
  if (line.substr(0, blank) == "lock" && blank != std::string_view::npos) {
    entry->locked = true;
    line = trim(line.substr(blank));
  }
  const std::size_t equals = line.find('=');
  const std::string_view name = trim(line.substr(0, equals));
  if (equals == std::string_view::npos || !is_name(name))
    return "'" + shown(line) +
           "': expected UCX_VERITY_NAME=VALUE, lock UCX_VERITY_NAME=VALUE, or a comment (#)";
  if (!may_set(name))
    return shown(name) + ": is read from the environment only: set it in a module";
  const std::string_view value = trim(line.substr(equals + 1));
  if (value.size() > kMostValue)
    return shown(name) + ": the value has " + std::to_string(value.size()) +
           " bytes: expected at most " + std::to_string(kMostValue);
  if (!is_printable(value)) return shown(name) + ": the value has control characters";
  entry->name = name;
  entry->value = value;
  return {};
}

}  // namespace

const Entry* Policy::find(std::string_view name) const noexcept {
  const auto at = std::find_if(entries.begin(), entries.end(),
                               [&](const Entry& entry) { return entry.name == name; });
  return at == entries.end() ? nullptr : &*at;
}

bool may_set(std::string_view name) noexcept {
  // Of the MPI interposer and the preload, which come before the plugin.
  return name != "UCX_VERITY_EXTRA_MODULES" && !name.starts_with("UCX_VERITY_TYPECHECK");
}

Policy parse(std::string_view text, const std::string& file) {
  const auto broken = [&](unsigned line, const std::string& what) {
    Policy none;
    none.errors.push_back(file + ":" + std::to_string(line) + ": " + what);
    return none;
  };
  Policy policy;
  if (text.size() > kMostBytes)
    return broken(1, "more than " + std::to_string(kMostBytes) + " bytes");
  for (unsigned number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    Entry entry{.file = file, .line = number};
    if (const std::string error = read_line(line, &entry); !error.empty())
      return broken(number, error);
    if (const Entry* before = policy.find(entry.name); before != nullptr)
      return broken(number, entry.name + ": line " + std::to_string(before->line) +
                                " sets it already: expected one line for each variable");
    policy.entries.push_back(std::move(entry));
  }
  return policy;
}

void merge(Policy* policy, Policy over) {
  for (Entry& entry : over.entries) {
    const auto at = std::find_if(policy->entries.begin(), policy->entries.end(),
                                 [&](const Entry& old) { return old.name == entry.name; });
    if (at != policy->entries.end())
      *at = std::move(entry);
    else
      policy->entries.push_back(std::move(entry));
  }
  for (std::string& error : over.errors) policy->errors.push_back(std::move(error));
}

std::string refusal(const Entry& locked, std::string_view value) {
  return "ucx-verity: " + locked.name + "=" + shown(value) + " is not used: " + locked.place() +
         " locks it to " + (locked.value.empty() ? "nothing" : locked.value);
}

Entry fail_safe(const Policy& policy) {
  const std::string& error = policy.errors.front();
  return {.name = "UCX_VERITY_MODE",
          .value = "verify",
          .locked = true,
          .file = error.substr(0, error.find(": ")) + ", which is not usable,"};
}

}  // namespace verity::policy
