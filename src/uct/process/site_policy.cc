// SPDX-License-Identifier: BSD-3-Clause
#include "uct/process/site_policy.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>

#include "policy/policy_file.h"

namespace verity::uct {

namespace {

constexpr std::string_view kPrefix = "UCX_VERITY_";
constexpr size_t kMostText = 256;

// The folder of this plugin.
std::string module_folder() {
  Dl_info info;
  if (dladdr(reinterpret_cast<const void*>(&module_folder), &info) == 0 ||
      info.dli_fname == nullptr)
    return {};
  const std::string path = info.dli_fname;
  return path.substr(0, std::min(path.rfind('/'), path.size()));
}

bool set_value(const ucs_config_field_t& field, const char* value, void* values) noexcept {
  return field.parser.read(value, static_cast<char*>(values) + field.offset, field.parser.arg) == 1;
}

// As `ucx_info -c` prints it: equal texts are equal values.
std::string text_of(const ucs_config_field_t& field, const void* values) {
  char text[kMostText] = "";
  (void)field.parser.write(text, sizeof(text) - 1, static_cast<const char*>(values) + field.offset,
                           field.parser.arg);
  return text;
}

}  // namespace

SitePolicy::SitePolicy(const OptionTable& table, bool speaks)
    : table_(table),
      speaks_(speaks),
      policy_(policy::read_site(module_folder())),
      values_(std::make_unique<char[]>(table.size)) {
  if (!policy_.entries.empty()) check_values();
  for (const std::string& error : policy_.errors) {
    if (speaks_)
      std::fprintf(stderr,
                   "ucx-verity: %s; the file is not used, and UCX_VERITY_MODE=verify is locked\n",
                   error.c_str());
  }
  for (const policy::Entry& entry : policy_.entries) {
    // The parser keeps the pointer as long as the process lives.
    const_cast<ucs_config_field_t*>(field_of(entry.name))->dfl_value =
        (new std::string(entry.value))->c_str();
  }
}

const ucs_config_field_t* SitePolicy::field_of(std::string_view name) const noexcept {
  if (!name.starts_with(kPrefix)) return nullptr;
  name.remove_prefix(kPrefix.size());
  const auto at = std::find_if(table_.fields.begin(), table_.fields.end(),
                               [&](const ucs_config_field_t& field) { return name == field.name; });
  return at == table_.fields.end() ? nullptr : &*at;
}

std::string SitePolicy::problem_of(const policy::Entry& entry, void* values) const {
  const ucs_config_field_t* field = field_of(entry.name);
  if (field == nullptr) return entry.name + ": there is no such variable";
  if (!set_value(*field, entry.value.c_str(), values)) {
    // The parser may have left anything there.
    (void)set_value(*field, field->dfl_value, values);
    char allowed[kMostText] = "";
    if (field->parser.help != nullptr)
      field->parser.help(allowed, sizeof(allowed) - 1, field->parser.arg);
    return entry.name + "=" + entry.value + ": bad value; allowed: " + allowed;
  }
  const auto bad = table_.check(values);
  if (!bad) return {};
  (void)set_value(*field, field->dfl_value, values);
  return entry.name + "=" + entry.value + ": bad value; allowed for UCX_VERITY_" + bad->variable +
         ": " + bad->allowed;
}

void SitePolicy::drop_file(const std::string& file, const std::string& problem) {
  std::erase_if(policy_.entries, [&](const policy::Entry& entry) { return entry.file == file; });
  policy_.errors.push_back(problem);
  policy::merge(&policy_, {.entries = {policy::fail_safe(policy_)}, .errors = {}});
}

// One after the other: some limits depend on others' values.
void SitePolicy::check_values() {
  for (const ucs_config_field_t& field : table_.fields)
    (void)set_value(field, field.dfl_value, values_.get());
  for (size_t i = 0; i < policy_.entries.size();) {
    const policy::Entry entry = policy_.entries[i];
    const std::string problem = problem_of(entry, values_.get());
    if (problem.empty()) {
      ++i;
    } else {
      drop_file(entry.file, entry.place() + ": " + problem);
      i = 0;
    }
  }
}

void SitePolicy::apply_locks(void* values) noexcept {
  const bool reports = !reported_.exchange(true) && speaks_;
  for (const policy::Entry& entry : policy_.entries) {
    if (!entry.locked) continue;
    const ucs_config_field_t& field = *field_of(entry.name);
    try {
      const std::string wanted = text_of(field, values_.get());
      const std::string given = text_of(field, values);
      if (wanted == given) continue;
      if (reports) std::fprintf(stderr, "%s\n", policy::refusal(entry, given).c_str());
    } catch (...) {}  // a line less
    char* const to = static_cast<char*>(values) + field.offset;
    if (field.parser.release != nullptr) field.parser.release(to, field.parser.arg);
    (void)field.parser.clone(values_.get() + field.offset, to, field.parser.arg);
  }
}

}  // namespace verity::uct
