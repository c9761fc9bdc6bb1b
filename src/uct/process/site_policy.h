// SPDX-License-Identifier: BSD-3-Clause
//
// The site's policy (src/policy) and the table of options: its defaults become those of the table
// before UCX's parser reads it, its locks and limits replace what the parser has read.
#ifndef VERITY_UCT_PROCESS_SITE_POLICY_H
#define VERITY_UCT_PROCESS_SITE_POLICY_H

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/policy.h"
#include "uct/compat/component.h"

namespace verity::uct {

// A value that the parser takes and the plugin does not.
struct BadValue {
  const char* variable;  // without UCX_VERITY_
  const char* allowed;
};

struct OptionTable {
  std::span<ucs_config_field_t> fields;  // of the plugin: not the base structure's, not the end
  size_t size;                           // of the structure that they fill
  std::optional<BadValue> (*check)(const void* values);
};

class SitePolicy {
 public:
  // Reads the files, checks their values and makes them the table's defaults. What is wrong is
  // printed, one line each, by one process of a job (`prints`). Throws std::bad_alloc.
  SitePolicy(const OptionTable& table, bool prints);
  SitePolicy(const SitePolicy&) = delete;
  SitePolicy& operator=(const SitePolicy&) = delete;

  // `values`: a structure that the parser has filled. Replaces what is locked, and what is outside
  // a limit; for the first structure of the process `prints` decides whether lines say so. What
  // was put in lives as long as this.
  void apply(void* values) noexcept;
  // Where the parser refused a variable and so filled no structure: each field's value by itself,
  // the default in place of one that is refused. `values` is zero, and of the caller, who ends with
  // release().
  void read_each(uct_component_h component, void* values) const;
  void release(void* values) const noexcept;
  // A variable's value as a text, in the same case: what is locked, else the environment's, else
  // ucx.conf's, else the default.
  [[nodiscard]] std::string unparsed(uct_component_h component, const std::string& name) const;
  // The line that keeps a variable from values beyond that end, where its value is there, in words:
  // "FILE:1 limits UCX_VERITY_CHUNK to ..64k". Empty: none does.
  enum class End : uint8_t { kLowest, kHighest };
  [[nodiscard]] std::string binding(const std::string& name, End end, const void* values) const;
  // A variable's value as `ucx_info -c` prints it.
  [[nodiscard]] std::string text_of(const std::string& name, const void* values) const;

 private:
  [[nodiscard]] const ucs_config_field_t* field_of(std::string_view name) const noexcept;
  [[nodiscard]] std::string problem_of(const policy::Entry& entry, void* values) const;
  [[nodiscard]] std::string problem_of(const policy::Limit& limit, void* values) const;
  void set_default(std::string_view name, const std::string& value);
  template <typename Line>
  bool drop_wrong(const std::vector<Line>& lines);
  bool drop_conflicting();
  void check_values();
  void apply_lock(const policy::Entry& entry, bool reports, void* values) noexcept;
  void apply_limit(const policy::Limit& limit, bool reports, void* values) noexcept;

  OptionTable table_;
  bool prints_;
  policy::Policy policy_;
  std::unique_ptr<char[]> values_;      // the table's structure, with the locked values
  std::atomic<bool> reported_ = false;  // the first structure says it all
};

}  // namespace verity::uct

#endif
