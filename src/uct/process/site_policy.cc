// SPDX-License-Identifier: BSD-3-Clause
#include "uct/process/site_policy.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "policy/policy_file.h"
#include "policy/quantity.h"
#include "util/complain.h"

namespace verity::uct {

namespace {

constexpr std::string_view kPrefix = "UCX_VERITY_";
constexpr size_t kMostHelp = 256;

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

// As `ucx_info -c` prints it: equal texts are equal values. One byte longer than a file's values,
// so that a longer one of the environment differs from them.
std::string text_of(const ucs_config_field_t& field, const void* values) {
  std::string text(policy::kMostValue + 2, '\0');
  (void)field.parser.write(text.data(), text.size(),
                           static_cast<const char*>(values) + field.offset, field.parser.arg);
  text.resize(std::strlen(text.c_str()));
  return text;
}

// Of the variables that have an order, as policy::quantity() reads their texts.
template <typename Value>
double number_at(const ucs_config_field_t& field, const void* values) noexcept {
  return static_cast<double>(
      *reinterpret_cast<const Value*>(static_cast<const char*>(values) + field.offset));
}
std::optional<double> number_of(const ucs_config_field_t& field, const void* values) noexcept {
  if (field.parser.read == ucs_config_sscanf_memunits) return number_at<size_t>(field, values);
  if (field.parser.read == ucs_config_sscanf_uint) return number_at<unsigned>(field, values);
  if (field.parser.read == ucs_config_sscanf_time) return number_at<double>(field, values);
  if (field.parser.read == ucs_config_sscanf_enum) return number_at<int>(field, values);
  return std::nullopt;
}

// The bound that counts in place of the field's value; nullptr: the value is within the limit.
const std::string* bound_for(const policy::Limit& limit, const ucs_config_field_t& field,
                             const void* values) {
  const auto kind = policy::kind_of(limit.name);
  const auto given = number_of(field, values);
  if (!kind || !given) return nullptr;
  if (!limit.low.empty() && *given < *policy::quantity(*kind, limit.low)) return &limit.low;
  if (!limit.high.empty() && *given > *policy::quantity(*kind, limit.high)) return &limit.high;
  return nullptr;
}

}  // namespace

SitePolicy::SitePolicy(const OptionTable& table, bool prints)
    : table_(table),
      prints_(prints),
      policy_(policy::read_site(module_folder())),
      values_(std::make_unique<char[]>(table.size)) {
  check_values();
  for (const std::string& error : policy_.errors) {
    if (prints_) util::complain("ucx-verity: %s%s\n", error.c_str(), policy::kNotUsed.data());
  }
  for (const policy::Entry& entry : policy_.entries) set_default(entry.name, entry.value);
  // A default of another file, or one that is built in, gives way as any other value does.
  for (const policy::Limit& limit : policy_.limits) {
    if (const std::string* bound = policy::bound_for(limit, field_of(limit.name)->dfl_value))
      set_default(limit.name, *bound);
  }
}

void SitePolicy::set_default(std::string_view name, const std::string& value) {
  // The parser keeps the pointer as long as the process lives.
  const_cast<ucs_config_field_t*>(field_of(name))->dfl_value = (new std::string(value))->c_str();
}

void SitePolicy::read_each(uct_component_h component, void* values) const {
  for (const ucs_config_field_t& field : table_.fields) {
    if (!set_value(field, text_of_variable(component, field).c_str(), values))
      (void)set_value(field, field.dfl_value, values);
  }
}

void SitePolicy::release(void* values) const noexcept {
  for (const ucs_config_field_t& field : table_.fields) {
    if (field.parser.release != nullptr)
      field.parser.release(static_cast<char*>(values) + field.offset, field.parser.arg);
  }
}

std::string SitePolicy::unparsed(uct_component_h component, const std::string& name) const {
  const policy::Entry* entry = policy_.find(name);
  if (entry != nullptr && entry->locked) return entry->value;
  return text_of_variable(component, *field_of(name));
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
    char allowed[kMostHelp] = "";
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

// A bound is a value that may be in force.
std::string SitePolicy::problem_of(const policy::Limit& limit, void* values) const {
  for (const std::string* bound : {&limit.low, &limit.high}) {
    if (bound->empty()) continue;
    const std::string problem = problem_of({.name = limit.name, .value = *bound}, values);
    if (!problem.empty()) return problem;
    const policy::Entry* entry = policy_.find(limit.name);
    const ucs_config_field_t& field = *field_of(limit.name);
    (void)set_value(field, entry != nullptr ? entry->value.c_str() : field.dfl_value, values);
  }
  return {};
}

// Drops the file of the first line that is wrong; false where there is none.
template <typename Line>
bool SitePolicy::drop_wrong(const std::vector<Line>& lines) {
  for (const Line& line : lines) {
    const std::string problem = problem_of(line, values_.get());
    if (problem.empty()) continue;
    const std::string file = line.file;  // the line goes with it
    policy::drop_file(&policy_, file, line.place() + ": " + problem);
    return true;
  }
  return false;
}

// The same of the first limit whose bound does not go with those before it: whoever sets nothing
// would have both.
bool SitePolicy::drop_conflicting() {
  for (const policy::Limit& limit : policy_.limits) {
    const ucs_config_field_t& field = *field_of(limit.name);
    const std::string* bound = bound_for(limit, field, values_.get());
    if (bound == nullptr) continue;
    (void)set_value(field, bound->c_str(), values_.get());
    const auto bad = table_.check(values_.get());
    if (!bad) continue;
    const std::string file = limit.file;
    policy::drop_file(&policy_, file,
                      limit.place() + ": " + limit.name + "=" + limit.range() +
                          ": no value goes with the other limits; allowed for UCX_VERITY_" +
                          bad->variable + ": " + bad->allowed);
    return true;
  }
  return false;
}

// One after the other: what some variables may be depends on others' values.
void SitePolicy::check_values() {
  do {
    for (const ucs_config_field_t& field : table_.fields)
      (void)set_value(field, field.dfl_value, values_.get());
  } while (drop_wrong(policy_.entries) || drop_wrong(policy_.limits) || drop_conflicting());
}

std::string SitePolicy::binding(const std::string& name, End end, const void* values) const {
  if (const policy::Entry* entry = policy_.find(name); entry != nullptr && entry->locked)
    return entry->place() + " locks " + name + " to " + entry->value;
  const policy::Limit* limit = policy_.find_limit(name);
  if (limit == nullptr) return {};
  const std::string& bound = end == End::kLowest ? limit->low : limit->high;
  const auto kind = policy::kind_of(name);
  if (bound.empty() || !kind) return {};
  if (number_of(*field_of(name), values) != policy::quantity(*kind, bound)) return {};
  return limit->place() + " limits " + name + " to " + limit->range();
}

std::string SitePolicy::text_of(const std::string& name, const void* values) const {
  return uct::text_of(*field_of(name), values);
}

void SitePolicy::apply(void* values) noexcept {
  const bool reports = !reported_.exchange(true) && prints_;
  for (const policy::Entry& entry : policy_.entries) {
    if (entry.locked) apply_lock(entry, reports, values);
  }
  for (const policy::Limit& limit : policy_.limits) apply_limit(limit, reports, values);
}

void SitePolicy::apply_lock(const policy::Entry& entry, bool reports, void* values) noexcept {
  const ucs_config_field_t& field = *field_of(entry.name);
  try {
    const std::string wanted = uct::text_of(field, values_.get());
    const std::string given = uct::text_of(field, values);
    if (wanted == given) return;
    if (reports) util::complain("%s\n", policy::refusal(entry, given).c_str());
  } catch (...) {}  // a line less
  char* const to = static_cast<char*>(values) + field.offset;
  if (field.parser.release != nullptr) field.parser.release(to, field.parser.arg);
  (void)field.parser.clone(values_.get() + field.offset, to, field.parser.arg);
}

void SitePolicy::apply_limit(const policy::Limit& limit, bool reports, void* values) noexcept {
  const ucs_config_field_t& field = *field_of(limit.name);
  try {
    const std::string* bound = bound_for(limit, field, values);
    if (bound == nullptr) return;
    const std::string given = uct::text_of(field, values);
    (void)set_value(field, bound->c_str(), values);
    // A time may differ by its rounding alone.
    if (reports && given != uct::text_of(field, values))
      util::complain("%s\n", policy::refusal(limit, given, *bound).c_str());
  } catch (...) {}  // as above
}

}  // namespace verity::uct
