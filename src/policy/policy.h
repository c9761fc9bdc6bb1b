// SPDX-License-Identifier: BSD-3-Clause
//
// A site's policy: defaults of the UCX_VERITY_ variables, and values that users may not change.
//
//   # comment
//   UCX_VERITY_ATTEST=always          a default; the environment, and UCX's ucx.conf, come before
//   it lock UCX_VERITY_MODE=verify       counts, whatever the environment says
//
// A value is what follows the '=' up to the end of the line, without blanks at its ends; it is not
// quoted. A variable has one line in a file at most.
#ifndef VERITY_POLICY_POLICY_H
#define VERITY_POLICY_POLICY_H

#include <string>
#include <string_view>
#include <vector>

namespace verity::policy {

inline constexpr std::string_view kFileName = "ucx-verity.conf";
inline constexpr std::size_t kMostBytes = 65536;  // of a file
inline constexpr std::size_t kMostValue = 4096;   // bytes of a value

struct Entry {
  std::string name{};   // UCX_VERITY_MODE
  std::string value{};  // may be empty
  bool locked = false;
  std::string file{};
  unsigned line = 0;

  // Line 0: the file as a whole.
  [[nodiscard]] std::string place() const {
    return line == 0 ? file : file + ":" + std::to_string(line);
  }
  bool operator==(const Entry&) const = default;
};

struct Policy {
  std::vector<Entry> entries;  // each name once
  // Files that are not used: what is wrong, where, and what is expected.
  std::vector<std::string> errors;

  [[nodiscard]] const Entry* find(std::string_view name) const noexcept;
};

// Reads the text of a file named `file`. An error makes the whole file unused: it is returned as
// the only error, without entries. Any bytes may come. Throws std::bad_alloc alone.
[[nodiscard]] Policy parse(std::string_view text, const std::string& file);

// The variables of the plugin that a policy may set; the others are read elsewhere, from the
// environment alone.
[[nodiscard]] bool may_set(std::string_view name) noexcept;

// What `over` has replaces what `policy` has; the errors of both.
void merge(Policy* policy, Policy over);

// The line for a user whose `value` of a locked variable is not used, without a newline.
[[nodiscard]] std::string refusal(const Entry& locked, std::string_view value);

// The value of UCX_VERITY_MODE in force where the files cannot be used: what they lock is unknown.
[[nodiscard]] Entry fail_safe(const Policy& policy);

}  // namespace verity::policy

#endif
