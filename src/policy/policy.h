// SPDX-License-Identifier: BSD-3-Clause
//
// A site's policy: defaults of the UCX_VERITY_ variables, limits within which users may change
// them, and values that they may not change.
//
//   # comment
//   UCX_VERITY_ATTEST=always          a default: the environment and UCX's ucx.conf come before it
//   limit UCX_VERITY_WINDOW=16..512   a value outside gives way to the nearest one that is allowed
//   lock UCX_VERITY_MODE=verify       counts, whatever the environment says
//
// One side of a limit may be missing (..512). It holds for values from wherever.
//
// A value is what follows the '=' up to the end of the line, without blanks at its ends; it is not
// quoted. In a file a variable has one line at most, or a default and a limit.
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

// What users may set a variable to.
struct Limit {
  std::string name{};
  std::string low{};  // empty: anything; not both
  std::string high{};
  std::string file{};
  unsigned line = 0;

  [[nodiscard]] std::string place() const { return file + ":" + std::to_string(line); }
  [[nodiscard]] std::string range() const { return low + ".." + high; }
  bool operator==(const Limit&) const = default;
};

struct Policy {
  std::vector<Entry> entries{};  // each name once
  std::vector<Limit> limits{};   // the same; none of a variable that is locked
  // Files that are not used: what is wrong, where, and what is expected.
  std::vector<std::string> errors{};

  [[nodiscard]] const Entry* find(std::string_view name) const noexcept;
  [[nodiscard]] const Limit* find_limit(std::string_view name) const noexcept;
};

// Reads the text of a file named `file`. An error makes the whole file unused: it is returned as
// the only error, without entries. Any bytes may come. Throws std::bad_alloc alone.
[[nodiscard]] Policy parse(std::string_view text, const std::string& file);

// The variables of the plugin that a policy may set; the others are read elsewhere, from the
// environment alone.
[[nodiscard]] bool may_set(std::string_view name) noexcept;

// What `over` has replaces what `policy` has, a default a default, a limit a limit, and a lock
// both; the errors of both.
void merge(Policy* policy, Policy over);

// The line for a user whose `value` of a locked variable is not used, without a newline.
[[nodiscard]] std::string refusal(const Entry& locked, std::string_view value);

// The same of a value outside the limits, in whose place there is `used`.
[[nodiscard]] std::string refusal(const Limit& limit, std::string_view value,
                                  std::string_view used);

// The value that counts in place of `value`: a bound of the limit, or nullptr where `value` is
// within it or is none.
[[nodiscard]] const std::string* bound_for(const Limit& limit, std::string_view value);

// What follows the error of a file in the plugin's line about it.
inline constexpr std::string_view kNotUsed =
    "; the file is not used, and UCX_VERITY_MODE=verify is locked";

// Takes all that is from `file` out, and fails safe: `error` says what is wrong with it.
void drop_file(Policy* policy, const std::string& file, const std::string& error);

// The value of UCX_VERITY_MODE in force where the files cannot be used: what they lock is unknown.
[[nodiscard]] Entry fail_safe(const Policy& policy);

}  // namespace verity::policy

#endif
