// SPDX-License-Identifier: BSD-3-Clause
#include "policy/policy.h"

#include <algorithm>
#include <utility>

#include "policy/quantity.h"
#include "util/text.h"

namespace verity::policy {

namespace {

constexpr std::string_view kPrefix = "UCX_VERITY_";
constexpr std::size_t kMostShown = 40;  // bytes of a line in an error

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

// `keyword`, and blanks behind it, are removed from the line where it starts with them.
bool take_keyword(std::string_view keyword, std::string_view* line) noexcept {
  const std::size_t blank = line->find_first_of(" \t");
  if (blank == std::string_view::npos || line->substr(0, blank) != keyword) return false;
  *line = util::trimmed(line->substr(blank));
  return true;
}

// One bound; empty: none. What is wrong with it, or nothing.
std::string read_bound(Kind kind, std::string_view text, std::string* bound) {
  *bound = util::trimmed(text);
  if (bound->empty() || quantity(kind, *bound)) return {};
  return "'" + shown(*bound) + "': expected " + example_of(kind);
}

std::string read_limit(const Entry& line, Limit* limit) {
  const auto kind = kind_of(line.name);
  if (!kind)
    return line.name + ": its values have no order: lock it, or limit one of " + names_with_order();
  const std::string_view range = line.value;
  const std::size_t dots = range.find("..");
  if (dots == std::string_view::npos || range == "..")
    return line.name + "=" + shown(range) + ": expected LOWEST..HIGHEST, LOWEST.. or ..HIGHEST";
  for (const auto& [text, bound] : {std::pair{range.substr(0, dots), &limit->low},
                                    std::pair{range.substr(dots + 2), &limit->high}}) {
    if (const std::string error = read_bound(*kind, text, bound); !error.empty())
      return line.name + "=" + shown(range) + ": " + error;
  }
  if (!limit->low.empty() && !limit->high.empty() &&
      *quantity(*kind, limit->low) > *quantity(*kind, limit->high))
    return line.name + "=" + shown(range) + ": the lowest value is above the highest";
  limit->name = line.name;
  limit->file = line.file;
  limit->line = line.line;
  return {};
}

// NAME=VALUE. What is wrong with the line, and what is expected; empty: it is `entry`.
std::string read_setting(std::string_view line, std::string_view whole, Entry* entry) {
  const std::size_t equals = line.find('=');
  const std::string_view name = util::trimmed(line.substr(0, equals));
  if (equals == std::string_view::npos || !is_name(name))
    return "'" + shown(whole) +
           "': expected UCX_VERITY_NAME=VALUE, lock UCX_VERITY_NAME=VALUE, limit "
           "UCX_VERITY_NAME=LOWEST..HIGHEST, or a comment (#)";
  if (!may_set(name))
    return shown(name) + ": is read from the environment only: set it in a module";
  const std::string_view value = util::trimmed(line.substr(equals + 1));
  if (value.size() > kMostValue)
    return shown(name) + ": the value has " + std::to_string(value.size()) +
           " bytes: expected at most " + std::to_string(kMostValue);
  if (!is_printable(value)) return shown(name) + ": the value has control characters";
  entry->name = name;
  entry->value = value;
  return {};
}

// What the file says already of the variable that does not go with this; empty: nothing.
std::string clash(const Policy& policy, const Entry& entry, bool limits) {
  const Entry* value = policy.find(entry.name);
  const Limit* limit = policy.find_limit(entry.name);
  const unsigned line = value != nullptr && (!limits || value->locked) ? value->line
                        : limit != nullptr && (limits || entry.locked) ? limit->line
                                                                       : 0;
  if (line == 0) return {};
  return entry.name + ": line " + std::to_string(line) +
         " is about it already: expected one line for each variable, or a default and a limit";
}

// A default and a limit in one file that contradict each other, in whichever order.
std::string contradiction(const Policy& policy, const std::string& name) {
  const Entry* value = policy.find(name);
  const Limit* limit = policy.find_limit(name);
  if (value == nullptr || limit == nullptr || bound_for(*limit, value->value) == nullptr) return {};
  return name + ": the default of line " + std::to_string(value->line) + ", " +
         shown(value->value) + ", is outside the limit of line " + std::to_string(limit->line) +
         ", " + shown(limit->range());
}

// Adds the line to the policy, or returns what is wrong with it.
std::string add_line(std::string_view line, Entry entry, Policy* policy) {
  const std::string_view whole = line;
  const bool limits = take_keyword("limit", &line);
  entry.locked = !limits && take_keyword("lock", &line);
  std::string error = read_setting(line, whole, &entry);
  if (error.empty()) error = clash(*policy, entry, limits);
  if (!error.empty()) return error;
  const std::string name = entry.name;
  if (limits) {
    Limit limit;
    error = read_limit(entry, &limit);
    if (!error.empty()) return error;
    policy->limits.push_back(std::move(limit));
  } else {
    policy->entries.push_back(std::move(entry));
  }
  return contradiction(*policy, name);
}

template <typename Line>
void replace(std::vector<Line>* lines, Line over) {
  const auto at = std::find_if(lines->begin(), lines->end(),
                               [&](const Line& old) { return old.name == over.name; });
  if (at != lines->end())
    *at = std::move(over);
  else
    lines->push_back(std::move(over));
}

}  // namespace

const Entry* Policy::find(std::string_view name) const noexcept {
  const auto at = std::find_if(entries.begin(), entries.end(),
                               [&](const Entry& entry) { return entry.name == name; });
  return at == entries.end() ? nullptr : &*at;
}

const Limit* Policy::find_limit(std::string_view name) const noexcept {
  const auto at = std::find_if(limits.begin(), limits.end(),
                               [&](const Limit& limit) { return limit.name == name; });
  return at == limits.end() ? nullptr : &*at;
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
    const std::string_view line = util::trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    if (const std::string error = add_line(line, {.file = file, .line = number}, &policy);
        !error.empty())
      return broken(number, error);
  }
  return policy;
}

void merge(Policy* policy, Policy over) {
  for (Entry& entry : over.entries) replace(&policy->entries, std::move(entry));
  for (Limit& limit : over.limits) replace(&policy->limits, std::move(limit));
  std::erase_if(policy->limits, [&](const Limit& limit) {
    const Entry* entry = policy->find(limit.name);
    return entry != nullptr && entry->locked;
  });
  for (std::string& error : over.errors) policy->errors.push_back(std::move(error));
}

std::string refusal(const Entry& locked, std::string_view value) {
  return "ucx-verity: " + locked.name + "=" + shown(value) + " is not used: " + locked.place() +
         " locks it to " + (locked.value.empty() ? "nothing" : locked.value);
}

std::string refusal(const Limit& limit, std::string_view value, std::string_view used) {
  return "ucx-verity: " + limit.name + "=" + shown(value) + " is not used: " + limit.place() +
         " limits it to " + limit.range() + "; " + std::string(used) + " is used";
}

const std::string* bound_for(const Limit& limit, std::string_view value) {
  const auto kind = kind_of(limit.name);
  const auto given = kind ? quantity(*kind, value) : std::nullopt;
  if (!given) return nullptr;
  if (!limit.low.empty() && *given < *quantity(*kind, limit.low)) return &limit.low;
  if (!limit.high.empty() && *given > *quantity(*kind, limit.high)) return &limit.high;
  return nullptr;
}

void drop_file(Policy* policy, const std::string& file, const std::string& error) {
  std::erase_if(policy->entries, [&](const Entry& entry) { return entry.file == file; });
  std::erase_if(policy->limits, [&](const Limit& limit) { return limit.file == file; });
  policy->errors.push_back(error);
  merge(policy, {.entries = {fail_safe(*policy)}});
}

Entry fail_safe(const Policy& policy) {
  const std::string& error = policy.errors.front();
  return {.name = "UCX_VERITY_MODE",
          .value = "verify",
          .locked = true,
          .file = error.substr(0, error.find(": ")) + ", which is not usable,"};
}

}  // namespace verity::policy
